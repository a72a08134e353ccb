// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/lane_table.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::detail {

namespace {
// The buckets are made once, for to make more later would hold up the whole pool. So many keep the
// chains short for a million lanes, and are made within microseconds.
constexpr std::size_t least_buckets = 64;
constexpr std::size_t most_buckets = 1U << 16U;
}  // namespace

lane_table::lane_table(std::size_t limit, std::size_t lanes)
    : limit_(limit), bucket_count_(std::bit_ceil(std::clamp(lanes, least_buckets, most_buckets))) {}

lane_table::place* lane_table::enter(std::string&& name, std::size_t hash) {
  if (buckets_.empty()) {
    fault_point();
    buckets_.resize(bucket_count_);
  }
  const std::size_t bucket = hash & (bucket_count_ - 1);
  lane* found = buckets_[bucket];
  while (found && found->name != name) found = found->chain;
  if (found && limit_ != 0 && found->members == limit_) return nullptr;

  if (free_places_.empty()) {
    fault_point();
    places_.emplace_front();
    free_places_.push(places_.front());
  }
  if (!found) {
    if (free_lanes_.empty()) {
      fault_point();
      lanes_.emplace_front();
      free_lanes_.push(lanes_.front());
    }
    found = free_lanes_.pop();
    found->name = std::move(name);
    found->bucket = bucket;
    found->chain = std::exchange(buckets_[bucket], found);
    ++size_;
  }
  auto& made = static_cast<place&>(*free_places_.pop());
  made.lane_ = found;
  made.stage_ = place::stage::entered;
  ++found->members;
  return &made;
}

bool lane_table::accept(place& p) noexcept {
  lane& l = *p.lane_;
  not_started_.push(p);
  const bool first = !std::exchange(l.held, true);
  p.stage_ = first ? place::stage::has_turn : place::stage::follows;
  if (!first) {
    l.followers.push(p);
    ++following_;
  }
  return first;
}

void lane_table::start(place& p) noexcept {
  leave_age(p);
  p.stage_ = place::stage::started;
}

lane_table::place* lane_table::leave(place& p) noexcept {
  using stage = place::stage;
  lane& l = *p.lane_;
  place* next = nullptr;
  if (p.stage_ == stage::follows || p.stage_ == stage::has_turn) leave_age(p);
  if (p.stage_ == stage::follows) {
    l.followers.erase(p);
    --following_;
  } else if (p.stage_ != stage::entered) {
    next = static_cast<place*>(l.followers.pop());
    l.held = next != nullptr;
    if (next) {
      next->stage_ = stage::has_turn;
      --following_;
    }
  }
  p.task = nullptr;
  free_places_.push(p);
  if (--l.members == 0) forget(l);
  return next;
}

lane_table::place* lane_table::oldest() noexcept {
  return not_started_.empty() ? nullptr : &static_cast<place&>(not_started_.front());
}

void lane_table::leave_age(place& p) noexcept {
  walk_.leaves(p);
  not_started_.erase(p);
}

void lane_table::forget(lane& l) noexcept {
  lane** link = &buckets_[l.bucket];
  while (*link != &l) link = &(*link)->chain;
  *link = l.chain;
  free_lanes_.push(l);
  --size_;
}

}  // namespace weir::detail
