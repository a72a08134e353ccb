// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/require.hpp>
#include <weir/detail/run_until.hpp>
#include <weir/detail/split_mix.hpp>
#include <weir/retry.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>

namespace weir {

namespace {

bool valid(const retry_options& o) noexcept {
  return o.max_attempts >= 1 && o.total >= duration::zero() &&
         o.attempt_timeout >= duration::zero() && o.backoff.valid();
}

retry_advice advice_for(const error_code& ec) noexcept {
  namespace generic = boost::system::errc;
  namespace error = boost::asio::error;
  if (ec.category() == weir_category()) {
    switch (static_cast<errc>(ec.value())) {
      case errc::user_limit_reached:
      case errc::queue_full:
      case errc::queue_wait_expired:
      case errc::group_limit:
      case errc::rate_limited:
      case errc::lane_limit_reached:
      case errc::user_queue_full:
      case errc::tenant_limit_reached:
      case errc::task_timed_out:
      case errc::deadline_exceeded:
        return {.retry = true, .at_least = retry_after(ec).value_or(std::chrono::seconds(0))};
      default:
        return {};
    }
  }
  for (const generic::errc_t passing :
       {generic::connection_refused, generic::connection_reset, generic::connection_aborted,
        generic::not_connected, generic::broken_pipe, generic::timed_out,
        generic::resource_unavailable_try_again, generic::host_unreachable,
        generic::network_unreachable, generic::network_down, generic::network_reset})
    if (ec == passing) return {.retry = true};
  return {.retry = ec == error::eof || ec == error::host_not_found_try_again};
}

}  // namespace

retry_advice default_retry_advice(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const retry_after_error& e) {
    return {.retry = true, .at_least = e.wait()};
  } catch (const boost::system::system_error& e) {
    return advice_for(e.code());
  } catch (...) {
    return {};
  }
}

retry_error::retry_error(int attempts, give_up reason)
    : system_error(errc::retry_exhausted, "weir::retry"), attempts_(attempts), reason_(reason) {}

namespace detail {

retry_course::retry_course(const retry_options& options, time_point now)
    : options_((require(valid(options), "weir::retry"), options)),
      deadline_(std::min(options.deadline, options.total == duration::zero()
                                               ? time_point::max()
                                               : saturating_add(now, options.total))),
      backoff_(options.backoff),
      random_(options.seed != 0 ? options.seed : detail::own_seed()) {
  if (deadline_ <= now) throw_deadline_exceeded(nullptr);
  if (options_.budget) options_.budget->deposit(now);
}

attempt retry_course::next(time_point now) noexcept {
  const time_point own = options_.attempt_timeout == duration::zero()
                             ? time_point::max()
                             : saturating_add(now, options_.attempt_timeout);
  return {.number = ++attempts_, .deadline = std::min(own, deadline_)};
}

duration retry_course::delay(const std::exception_ptr& error, duration at_least, time_point now) {
  detail::split_mix generator(random_);
  const duration wait =
      saturating_add(time_point() + at_least, backoff_.next(generator)) - time_point();
  give_up reason{};
  if (attempts_ >= options_.max_attempts)
    reason = give_up::attempts;
  else if (saturating_add(now, wait) >= deadline_)
    reason = give_up::time;
  else if (options_.budget && !options_.budget->try_withdraw(now))
    reason = give_up::budget;
  else
    return wait;
  try {
    std::rethrow_exception(error);
  } catch (...) {
    throw retry_error(attempts_, reason);
  }
}

}  // namespace detail
}  // namespace weir
