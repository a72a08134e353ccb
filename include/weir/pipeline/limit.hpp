// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_LIMIT_HPP
#define WEIR_PIPELINE_LIMIT_HPP

#include <weir/detail/flow_map.hpp>
#include <weir/detail/require.hpp>
#include <weir/pipeline/options.hpp>
#include <weir/rate_limiter.hpp>
#include <weir/retry.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {

template <flow Up, typename Key>
class lane_flow final : public fused_flow<Up> {
 public:
  using value_type = typename Up::value_type;

  lane_flow(Up up, Key key, std::size_t lanes)
      : fused_flow<Up>(std::move(up)), key_(std::move(key)), lanes_(lanes) {}

  step<value_type> poll() {
    auto in = this->up_.poll();
    if (in) {
      const auto& key = std::invoke(key_, std::as_const(*in));
      lane_ = std::hash<std::decay_t<decltype(key)>>()(key) % lanes_;
    }
    return in;
  }

  std::size_t lane() const noexcept { return lane_; }  ///< of the item that was given last
  std::size_t lanes() const noexcept { return lanes_; }

 private:
  Key key_;
  std::size_t lanes_;
  std::size_t lane_ = 0;
};

/// One attempt at an item. It is no lambda, for the coroutine that it is handed to would have a
/// type that each file which is compiled has for itself, and g++ warns of that.
template <typename R>
struct item_attempt {
  boost::asio::awaitable<R> operator()() const { return call(f, item); }

  void* f;
  const void* item;
  boost::asio::awaitable<R> (*call)(void* f, const void* item);
};

template <typename F>
class retried {
 public:
  retried(F f, const retry_options& options) : f_(std::move(f)), options_(options) {}

  template <typename T>
  requires takes_item<F, const T&>
  auto operator()(T item) -> boost::asio::awaitable<result_of_item<F, const T&>> {
    const item_attempt<result_of_item<F, const T&>> attempt{
        &f_, &item, [](void* f, const void* i) {
          return std::invoke(*static_cast<F*>(f), *static_cast<const T*>(i));
        }};
    co_return co_await retry(attempt, options_);
  }

 private:
  F f_;
  retry_options options_;
};

}  // namespace detail

/// Lets items through no faster than `limiter` does, in their order. A token is taken when an item
/// is asked for and goes on with it, so that none are hoarded while the next stage is busy.
///
/// Lifetime: `limiter` outlives the pipeline. One that is closed ends it, with
/// `rate_limiter_closed`.
inline auto throttle(rate_limiter& limiter) {
  return detail::stage_of([&limiter]<detail::flow Up>(Up up) {
    using T = typename Up::value_type;
    auto pay = [&limiter](T item) -> boost::asio::awaitable<T> {
      if (!limiter.try_acquire()) {
        auto turn = limiter.async_acquire(boost::asio::deferred);
        co_await std::move(turn);
      }
      co_return item;
    };
    return detail::map_flow<Up, decltype(pay)>(std::move(up), std::move(pay), map_options{}, 1,
                                               std::nullopt);
  });
}

/// Gives each item a lane, by the hash of its key, for a `map` right below whose order is
/// `per_key`: items of one key are then worked on one at a time, in their order.
///
/// \param key a function of `const T&`, or a pointer to a member
/// \param lanes keys that share a lane wait for each other; more lanes, fewer do
/// \throws system_error with `invalid_argument` if `lanes` is below 1.
template <typename Key>
auto keyed(Key key, std::ptrdiff_t lanes) {
  detail::require(lanes >= 1, "weir::keyed");
  return detail::stage_of([key = std::move(key), lanes]<detail::flow Up>(Up up) mutable {
    static_assert(takes_item<Key, const typename Up::value_type&>,
                  "weir::keyed: the key is not one of the items");
    return detail::lane_flow<Up, Key>(std::move(up), std::move(key),
                                      static_cast<std::size_t>(lanes));
  });
}

/// A function for `map` or `for_each` that runs `f` again where it fails, as `weir::retry` does:
/// `map(retrying(fetch, {.max_attempts = 5}), {.concurrency = 8, .timeout = 10s})`. The stage's
/// timeout is for all attempts together; each keeps the item's place among those under way.
///
/// \param f takes a `const T&`, for it may be called more than once
template <typename F>
auto retrying(F f, retry_options options = {}) {
  return detail::retried<F>(std::move(f), options);
}

}  // namespace weir

#endif  // WEIR_PIPELINE_LIMIT_HPP
