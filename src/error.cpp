// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/error.hpp>

#include <boost/asio/error.hpp>

#include <string>

namespace weir {

namespace {

class category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir"; }

  std::string message(int value) const override { return message(value, nullptr, 0); }

  const char* message(int value, char*, std::size_t) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::pool_closed:
        return "the pool is closed";
      case errc::user_limit_reached:
        return "the user holds as many slots as one user may";
      case errc::queue_full:
        return "the queue is full";
      case errc::queue_wait_expired:
        return "the task waited too long in the queue";
      case errc::task_timed_out:
        return "the task outlived its run deadline";
      case errc::shutdown_cancelled:
        return "the task was ended by a shutdown";
      case errc::group_limit:
        return "the group runs as many members as it may";
      case errc::rate_limited:
        return "the rate is used up";
      case errc::breaker_open:
        return "the circuit breaker is open";
      case errc::retry_exhausted:
        return "every attempt failed";
      case errc::lease_lost:
        return "the lease has gone to somebody else";
      case errc::invalid_argument:
        return "invalid argument";
      case errc::semaphore_closed:
        return "the semaphore is closed";
      case errc::rate_limiter_closed:
        return "the rate limiter is closed";
      case errc::queue_closed:
        return "the queue is closed";
      case errc::group_closed:
        return "the group takes no more members";
      case errc::deadline_exceeded:
        return "the deadline has passed";
      case errc::lane_limit_reached:
        return "the lane has as many tasks as one lane may have";
      case errc::user_queue_full:
        return "the user has as many tasks in the queue as one user may";
      case errc::tenant_limit_reached:
        return "the tenant holds as many slots as one tenant may";
    }
    return "unknown weir error";
  }
};

}  // namespace

const boost::system::error_category& weir_category() noexcept {
  static const category instance;
  return instance;
}

error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), weir_category()}; }

int http_status(const error_code& ec) noexcept {
  if (!ec) return 200;
  if (ec == boost::asio::error::operation_aborted) return 499;
  if (ec.category() != weir_category()) return 500;
  switch (static_cast<errc>(ec.value())) {
    case errc::pool_closed:
    case errc::queue_full:
    case errc::queue_wait_expired:
    case errc::shutdown_cancelled:
    case errc::group_limit:
    case errc::breaker_open:
    case errc::semaphore_closed:
    case errc::rate_limiter_closed:
    case errc::queue_closed:
    case errc::group_closed:
      return 503;
    case errc::user_limit_reached:
    case errc::rate_limited:
    case errc::lane_limit_reached:
    case errc::user_queue_full:
    case errc::tenant_limit_reached:
      return 429;
    case errc::task_timed_out:
    case errc::deadline_exceeded:
      return 504;
    case errc::retry_exhausted:
      return 502;
    case errc::lease_lost:
      return 409;
    case errc::invalid_argument:
      return 400;
  }
  return 500;
}

std::optional<std::chrono::seconds> retry_after(const error_code& ec) noexcept {
  if (ec.category() != weir_category()) return std::nullopt;
  switch (static_cast<errc>(ec.value())) {
    // A slot or a place comes back as soon as one task ends.
    case errc::user_limit_reached:
    case errc::queue_full:
    case errc::queue_wait_expired:
    case errc::group_limit:
    case errc::rate_limited:
    case errc::lane_limit_reached:
    case errc::user_queue_full:
    case errc::tenant_limit_reached:
      return std::chrono::seconds(1);
    // Somebody has to recover, restart, or be routed around first.
    case errc::pool_closed:
    case errc::shutdown_cancelled:
    case errc::breaker_open:
    case errc::semaphore_closed:
    case errc::rate_limiter_closed:
    case errc::queue_closed:
    case errc::group_closed:
      return std::chrono::seconds(5);
    case errc::task_timed_out:
    case errc::deadline_exceeded:
    case errc::retry_exhausted:
    case errc::lease_lost:
    case errc::invalid_argument:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace weir
