// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/worker.hpp>
#include <weir/stop_token.hpp>

namespace weir {

stop_token::stop_token() noexcept = default;
stop_token::stop_token(const stop_token&) noexcept = default;
stop_token::stop_token(stop_token&&) noexcept = default;
stop_token& stop_token::operator=(const stop_token&) noexcept = default;
stop_token& stop_token::operator=(stop_token&&) noexcept = default;
stop_token::~stop_token() = default;

stop_token::stop_token(detail::worker& w, std::uint64_t epoch) noexcept
    : worker_(&w), epoch_(epoch) {}

bool stop_token::stop_requested() const noexcept {
  return worker_ && worker_->stop_requested(epoch_);
}

bool stop_token::stop_possible() const noexcept { return worker_ != nullptr; }

stop_token::operator std::stop_token() const {
  return worker_ ? worker_->standard_token(epoch_) : std::stop_token();
}

}  // namespace weir
