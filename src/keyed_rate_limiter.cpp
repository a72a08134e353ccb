// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/keyed_rate_limiter.hpp>

#include <algorithm>

namespace weir::detail {

bool keyed_bucket::try_take(std::int64_t n, time_point now) {
  return room_ ? room_->try_acquire(n) : bucket_.try_take(n, now);
}

time_point keyed_bucket::when(std::int64_t n, time_point now) {
  return room_ ? room_->when(n) : bucket_.when(n, now);
}

void keyed_bucket::reconfigure(const rate_options& options, time_point now,
                               rate_limiter_state::queue& served,
                               rate_limiter_state::queue& refused) {
  if (room_)
    room_->reconfigure(options, true, served, refused);
  else
    bucket_.reconfigure(options, now);
}

void keyed_bucket::close(rate_limiter_state::queue& refused) {
  if (room_) room_->close(refused);
}

std::shared_ptr<rate_limiter_state> keyed_bucket::waiting_room(
    const boost::asio::any_io_executor& ex, const std::string& name) {
  if (!room_) {
    fault_point();
    room_ = std::make_shared<rate_limiter_state>(ex, bucket_, name);
  }
  return room_;
}

std::shared_ptr<rate_limiter_state> keyed_bucket::close_empty_room() {
  if (!room_ || in_use()) return nullptr;
  bucket_ = room_->bucket();
  return std::move(room_);
}

time_point keyed_bucket::new_at(time_point now) {
  // First: whoever leaves after this look is seen by the next one.
  const bool used = in_use();
  token_bucket bucket = room_ ? room_->bucket() : bucket_;
  const rate_options& o = bucket.options();
  const time_point full = bucket.when(o.burst, now);
  if (!used) return full;
  return std::max(full, saturating_add(now, o.per / o.rate + duration(1)));
}

}  // namespace weir::detail
