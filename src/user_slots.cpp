// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/user_slots.hpp>

#include <cassert>
#include <utility>

namespace weir::detail {

namespace {
// Enough to serve users that come and go from stock; few enough to forget a crowd that has left.
constexpr std::size_t spare_lines = 16;
}  // namespace

user_slots::shard::shard(boost::asio::execution_context& context) : strand(context) {
  spare.reserve(spare_lines);
}

user_slots::entry* user_slots::shard::insert(std::string_view user, std::size_t hash) {
  assert(strand.running_in_this_thread());
  table::iterator line;
  fault_point();
  if (spare.empty()) {
    line = users.emplace(key{std::string(user), hash}, holding{}).first;
  } else {
    spare.back().key().name.assign(user);
    spare.back().key().hash = hash;
    spare.back().mapped() = {};
    // Room first: a line that is being put back is lost if the table then cannot grow.
    if (static_cast<float>(users.size() + 1) >
        users.max_load_factor() * static_cast<float>(users.bucket_count()))
      users.reserve(2 * users.size() + 1);
    line = users.insert(std::move(spare.back())).position;
    spare.pop_back();
  }
  size.store(users.size(), std::memory_order_relaxed);
  return &*line;
}

void user_slots::shard::give_back(entry* held) noexcept {
  assert(strand.running_in_this_thread());
  if (--held->second.slots > 0) return;
  assert(held->second.queued == 0);
  auto node = users.extract(users.find(sought{held->first.name, held->first.hash}));
  if (spare.size() < spare_lines) spare.push_back(std::move(node));
  size.store(users.size(), std::memory_order_relaxed);
}

user_slots::user_slots(boost::asio::execution_context& context, int cap, errc reached)
    : cap_(cap), reached_(reached) {
  for (std::size_t i = 0; i < shard_count; ++i) shards_.emplace_back(context);
}

void user_slots::release(entry* held) noexcept {
  shard& home = shards_[held->first.hash % shard_count];
  home.strand.run([&]() noexcept { home.give_back(held); });
}

std::size_t user_slots::size() const noexcept {
  std::size_t total = 0;
  for (const shard& s : shards_) total += s.size.load(std::memory_order_relaxed);
  return total;
}

}  // namespace weir::detail
