// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/run_queue.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace weir {

namespace {

constexpr int lowest = -8;
constexpr int highest = 7;

}  // namespace

run_queue::run_queue(const run_queue_options& options)
    : by_priority_(options.discipline == discipline::priority ||
                   options.discipline == discipline::fair_priority),
      by_user_(options.discipline == discipline::fair ||
               options.discipline == discipline::fair_priority),
      aging_(std::clamp(options.aging, duration::zero(), duration(std::chrono::hours(24 * 365)))),
      weights_(options.weights) {
  if (!by_user_) return;
  flows_ = std::vector<flow>(options.capacity);
  for (flow& f : flows_) f.chain = std::exchange(free_, &f);
  buckets_.resize(std::bit_ceil(std::max<std::size_t>(options.capacity, 1)));
}

void run_queue::push(node& item, time_point now) noexcept {
  const int priority = by_priority_ ? std::clamp(item.priority, lowest, highest) : 0;
  item.band_ = static_cast<std::uint8_t>(priority - lowest);
  item.since_ = now;
  bands_[item.band_].arrivals.push(item);
  waiting_ |= 1U << item.band_;
  ++size_;
  if (by_user_) join_flow(item);
}

run_queue::node* run_queue::pop(bool newest) noexcept {
  if (empty()) return nullptr;
  band& from = next_band();
  if (!by_user_) {
    auto& next = static_cast<node&>(newest ? from.arrivals.back() : from.arrivals.front());
    erase(next);
    return &next;
  }
  flow& turn = from.turns.front();
  if (turn.credit == 0) turn.credit = turn.weight;
  --turn.credit;
  auto& next = static_cast<node&>(newest ? turn.tasks.back() : turn.tasks.front());
  if (turn.credit == 0 && turn.tasks.size() > 1) {
    from.turns.erase(turn);
    from.turns.push(turn);
  }
  erase(next);
  return &next;
}

const run_queue::node* run_queue::oldest() const noexcept {
  const node* found = nullptr;
  for (std::uint32_t rest = waiting_; rest != 0; rest &= rest - 1) {
    const auto& first = static_cast<const node&>(
        bands_[static_cast<std::size_t>(std::countr_zero(rest))].arrivals.front());
    if (!found || first.since_ < found->since_) found = &first;
  }
  return found;
}

void run_queue::erase(node& item) noexcept {
  band& b = bands_[item.band_];
  walk_.leaves(item);
  b.arrivals.erase(item);
  if (b.arrivals.empty()) waiting_ &= ~(1U << item.band_);
  --size_;
  if (by_user_) leave_flow(item);
}

void run_queue::begin_walk() const noexcept {
  walked_band_ = bands - 1;
  walk_.start(bands_[walked_band_].arrivals);
}

const run_queue::node* run_queue::next_of_walk() const noexcept {
  for (;;) {
    if (const in_band* const item = walk_.next()) return static_cast<const node*>(item);
    if (walked_band_ == 0) return nullptr;
    walk_.start(bands_[--walked_band_].arrivals);
  }
}

run_queue::band& run_queue::next_band() noexcept {
  std::size_t best = static_cast<std::size_t>(std::bit_width(waiting_)) - 1;
  if (aging_ == duration::zero()) return bands_[best];
  // All age alike, so of two who wait it is always the same one that is ahead, and only the first
  // of each band can be the first of all.
  const auto key = [this](std::size_t b) {
    const node& oldest = static_cast<const node&>(bands_[b].arrivals.front());
    return oldest.since_.time_since_epoch() - aging_ * static_cast<std::int64_t>(b);
  };
  for (std::uint32_t rest = waiting_ & ~(1U << best); rest != 0;) {
    const std::size_t b = static_cast<std::size_t>(std::bit_width(rest)) - 1;
    rest &= ~(1U << b);
    if (key(b) < key(best)) best = b;
  }
  return bands_[best];
}

void run_queue::join_flow(node& item) noexcept {
  const std::size_t bucket =
      (std::hash<std::string_view>()(item.user) + item.band_) & (buckets_.size() - 1);
  flow* found = buckets_[bucket];
  const auto is_its = [&](flow& f) {
    // Who waits longest stands for all of them: its name is there for as long as it waits.
    const auto& first = static_cast<const node&>(f.tasks.front());
    return first.band_ == item.band_ && first.user == item.user;
  };
  while (found && !is_its(*found)) found = found->chain;
  if (!found) {
    found = std::exchange(free_, free_->chain);
    const auto weight = weights_.find(item.user);
    found->weight = weight == weights_.end() ? 1 : std::max(weight->second, 1);
    found->credit = 0;
    found->bucket = bucket;
    found->chain = std::exchange(buckets_[bucket], found);
    bands_[item.band_].turns.push(*found);
    ++turns_;
  }
  found->tasks.push(item);
  item.flow_ = found;
}

void run_queue::leave_flow(node& item) noexcept {
  flow& f = *std::exchange(item.flow_, nullptr);
  f.tasks.erase(item);
  if (!f.tasks.empty()) return;
  bands_[item.band_].turns.erase(f);
  --turns_;
  flow** link = &buckets_[f.bucket];
  while (*link != &f) link = &(*link)->chain;
  *link = f.chain;
  f.chain = std::exchange(free_, &f);
}

}  // namespace weir
