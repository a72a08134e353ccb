// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_HEDGE_HPP
#define WEIR_IMPL_HEDGE_HPP

#include <weir/detail/child.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/require.hpp>
#include <weir/detail/run_until.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace weir {
namespace detail {

/// The attempts of a hedge and how they stand. Touched by the caller's coroutine alone.
template <typename T, typename F>
class hedge_race {
  /// An attempt owns what its coroutine may refer to: what it is told of itself, and the callable,
  /// where a lambda's captures are. With their context, frames are destroyed in any order.
  class one final : public child<T> {
   public:
    one(std::shared_ptr<child_watch> watch, std::shared_ptr<F> f, int number)
        : child<T>(std::move(watch)), f_(std::move(f)), self_{.number = number} {}

    void start() { child<T>::start(make_attempt(*f_, self_), launch::posted); }

   private:
    std::shared_ptr<F> f_;
    attempt self_;
  };

 public:
  hedge_race(F f, const hedge_options& options, std::shared_ptr<child_watch> watch)
      : f_(std::make_shared<F>(std::move(f))), options_(options), watch_(std::move(watch)) {}

  /// Books what has ended and starts what is due.
  void advance(time_point now) {
    for (auto& c : running_)
      if (c->ended()) book(std::exchange(c, nullptr), now);
    std::erase(running_, nullptr);
    while (may_start() && (running_.empty() || due_ <= now)) start(now);
  }

  bool over() const noexcept { return running_.empty(); }

  /// When there is something to do although nothing has ended.
  time_point due() const noexcept { return may_start() ? due_ : time_point::max(); }

  /// Cancels what runs; nothing starts any more.
  void cancel(boost::asio::cancellation_type type) {
    stopped_ = true;
    for (const auto& c : running_)
      if (c) c->cancel(type);
  }

  /// How it ended; null where nothing succeeded.
  const std::shared_ptr<child<T>>& winner() const noexcept { return winner_; }
  const std::exception_ptr& first_error() const noexcept { return first_error_; }

 private:
  bool may_start() const noexcept { return !stopped_ && started_ < options_.max; }

  void start(time_point now) {
    if (options_.budget) {
      if (started_ == 0) {
        options_.budget->deposit(now);
      } else if (!options_.budget->try_withdraw(now)) {
        stopped_ = true;
        return;
      }
    }
    due_ = saturating_add(now, options_.after);
    ++started_;
    try {
      fault_point();
      const auto made = std::make_shared<one>(watch_, f_, started_);
      running_.reserve(running_.size() + 1);  // one that has started must find its place
      made->start();
      running_.push_back(made);
    } catch (...) {
      fail(std::current_exception(), now);
    }
  }

  void book(std::shared_ptr<child<T>> ended, time_point now) {
    if (ended->result().failed()) {
      fail(ended->result().error(), now);
    } else if (!winner_) {
      winner_ = std::move(ended);
      cancel(boost::asio::cancellation_type::terminal);
    }
  }

  void fail(std::exception_ptr error, time_point now) {
    if (!first_error_) first_error_ = std::move(error);
    due_ = now;
  }

  const std::shared_ptr<F> f_;
  const hedge_options options_;
  const std::shared_ptr<child_watch> watch_;
  std::vector<std::shared_ptr<child<T>>> running_;
  std::shared_ptr<child<T>> winner_;
  std::exception_ptr first_error_;
  time_point due_{};
  int started_ = 0;
  bool stopped_ = false;
};

}  // namespace detail

template <typename F>
boost::asio::awaitable<detail::attempt_result_t<F>> hedge(F f, hedge_options options) {
  namespace this_coro = boost::asio::this_coro;
  using T = detail::attempt_result_t<F>;

  detail::require(options.max >= 1 && options.after >= duration::zero(), "weir::hedge");
  const auto executor = co_await this_coro::executor;
  const auto watch = std::make_shared<detail::child_watch>(executor, "hedge");
  detail::hedge_race<T, F> race(std::move(f), options, watch);

  // From here on the caller's cancellation is passed on, and the end waited for in spite of it.
  const bool throws = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  const boost::asio::cancellation_state state = co_await this_coro::cancellation_state;
  auto seen = state.cancelled();
  bool aborted = false;
  error_code ec;
  for (;;) {
    if (ec == boost::asio::error::operation_aborted || state.cancelled() != seen) {
      aborted = true;
      seen = state.cancelled();
      race.cancel(seen);
    }
    race.advance(steady_clock::now());
    if (race.over()) break;
    auto wait = watch->async_wait(race.due(), boost::asio::as_tuple(boost::asio::deferred));
    ec = std::get<0>(co_await std::move(wait));
  }
  co_await this_coro::throw_if_cancelled(throws);
  if (race.winner()) co_return std::move(race.winner()->result()).get();
  if (aborted) detail::throw_aborted(race.first_error());
  std::rethrow_exception(race.first_error());
}

}  // namespace weir

#endif  // WEIR_IMPL_HEDGE_HPP
