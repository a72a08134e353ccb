// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_RETRY_HPP
#define WEIR_IMPL_RETRY_HPP

#include <weir/detail/run_until.hpp>
#include <weir/detail/work_result.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// The course of a retry: what of it needs neither a type nor a coroutine.
class retry_course {
 public:
  /// \throws system_error with `invalid_argument`, or `deadline_exceeded` if it has passed
  retry_course(const retry_options& options, time_point now);

  /// For the attempt that begins now.
  attempt next(time_point now) noexcept;

  /// The delay before another attempt after one that failed.
  ///
  /// \throws retry_error if there is to be none
  duration delay(const std::exception_ptr& error, duration at_least, time_point now);

 private:
  retry_options options_;
  time_point deadline_;
  backoff backoff_;
  std::uint64_t random_;
  int attempts_ = 0;
};

template <typename T>
boost::asio::awaitable<T> bounded(boost::asio::awaitable<T> work, time_point deadline) {
  if (deadline == time_point::max()) return work;
  return run_until(std::move(work), deadline, duration(), answer_at_end());
}

template <typename Advise>
retry_advice advice_of(Advise& advise, const std::exception_ptr& error) {
  if constexpr (std::is_same_v<Advise, default_advice>)
    return default_retry_advice(error);
  else if constexpr (std::is_same_v<std::invoke_result_t<Advise&, const std::exception_ptr&>, bool>)
    return {.retry = advise(error)};
  else
    return advise(error);
}

}  // namespace detail

template <typename F, typename Advise, typename OnRetry>
boost::asio::awaitable<detail::attempt_result_t<F>> retry(F f, retry_options options, Advise advise,
                                                          OnRetry on_retry) {
  namespace this_coro = boost::asio::this_coro;
  using T = detail::attempt_result_t<F>;

  detail::retry_course course(options, steady_clock::now());
  const auto executor = co_await this_coro::executor;
  const boost::asio::cancellation_state state = co_await this_coro::cancellation_state;
  // What a caller that does not throw has been through before is no concern of this.
  const auto before = state.cancelled();
  for (;;) {
    const attempt a = course.next(steady_clock::now());
    detail::work_result<T> result;
    try {
      auto work = detail::bounded(detail::make_attempt(f, a), a.deadline);
      if constexpr (std::is_void_v<T>) {
        co_await std::move(work);
        result.succeed();
      } else {
        result.succeed(co_await std::move(work));
      }
    } catch (...) {
      result.fail(std::current_exception());
    }
    if (!result.failed()) co_return std::move(result).get();
    const std::exception_ptr error = result.error();
    if (state.cancelled() != before) detail::throw_aborted(error);

    const retry_advice advice = detail::advice_of(advise, error);
    if (!advice.retry) std::rethrow_exception(error);
    const duration delay = course.delay(error, advice.at_least, steady_clock::now());
    if constexpr (!std::is_same_v<OnRetry, detail::ignore_event>)
      on_retry(retry_event{a.number, error, delay});

    steady_timer timer(executor, saturating_add(steady_clock::now(), delay));
    const auto ec =
        std::get<0>(co_await timer.async_wait(boost::asio::as_tuple(boost::asio::deferred)));
    // The timer may have been due before the cancellation: it then knows nothing of it.
    if (ec || state.cancelled() != before) detail::throw_aborted(error);
  }
}

}  // namespace weir

#endif  // WEIR_IMPL_RETRY_HPP
