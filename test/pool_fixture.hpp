// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_POOL_FIXTURE_HPP
#define WEIR_TEST_POOL_FIXTURE_HPP

#include "sleep_for.hpp"

#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace weir_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::task_context;

/// Lives in frames and captures; what is not destroyed is seen by number.
struct counted {
  static inline std::atomic<int> alive{0};
  counted() { ++alive; }
  counted(const counted&) { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) noexcept = default;
  ~counted() { --alive; }
};

/// The books balance, and nothing is under way.
inline void check_at_rest(const weir::pool_metrics& m) {
  BOOST_TEST(m.active == 0U);
  BOOST_TEST(m.queued == 0U);
  BOOST_TEST(m.waiting == 0U);
  BOOST_TEST(m.users == 0U);
  BOOST_TEST(m.tenants == 0U);
  BOOST_TEST(m.submitted == m.completed + m.failed + m.timed_out + m.cancelled);
}

inline void check_balanced(const weir::pool_metrics& m) {
  BOOST_TEST(m.submitted ==
             m.queued + m.active + m.completed + m.failed + m.timed_out + m.cancelled);
}

/// A pool on virtual time. When the case ends: no work, no slot, no timer and no frame is left.
class virtual_pool {
 public:
  weir::test::virtual_time time;
  std::optional<weir::worker_pool> pool;

  weir::worker_pool& make(weir::pool_options options = {}) {
    pool.emplace(time.get_executor(), std::move(options));
    return *pool;
  }

  ~virtual_pool() {
    try {
      time.run();
      if (pool) check_at_rest(pool->metrics());
      pool.reset();
      const weir::time_point before = time.now();
      time.run();
      BOOST_TEST((time.now() == before), "a timer was left behind");
    } catch (const std::exception& e) {
      BOOST_ERROR(e.what());
    }
    BOOST_TEST(counted::alive == 0);
  }
};

/// Holds tasks back until it is opened for so many.
class gate {
 public:
  explicit gate(const asio::any_io_executor& ex) : channel_(ex, 1'000'000) {}
  void open(int n = 1) {
    for (int i = 0; i < n; ++i) BOOST_REQUIRE(channel_.try_send(error_code{}));
  }
  asio::awaitable<void> pass() { return channel_.async_receive(asio::use_awaitable); }

 private:
  asio::experimental::concurrent_channel<void(error_code)> channel_;
};

/// A task that sleeps.
inline auto sleeper(weir::duration d) {
  return [d](task_context&) -> asio::awaitable<void> { return sleep_for(d); };
}

inline auto nothing() {
  return [](task_context&) -> asio::awaitable<void> { co_return; };
}

template <typename F>
weir::task task_of(std::string user, F&& f, std::optional<weir::duration> timeout = {}) {
  return {.id = {}, .user = std::move(user), .fn = std::forward<F>(f), .timeout = timeout};
}

inline error_code code_of(const std::exception_ptr& e) {
  if (!e) return {};
  try {
    std::rethrow_exception(e);
  } catch (const boost::system::system_error& error) {
    return error.code();
  }
}

/// How an operation ended, for a handler that only notes it.
struct noted {
  std::optional<error_code> code;
  int calls = 0;

  auto handler() {
    return [this](auto result, auto&&...) {
      ++calls;
      if constexpr (std::is_same_v<decltype(result), std::exception_ptr>)
        code = code_of(result);
      else
        code = result;
    };
  }
  bool ended() const { return code.has_value(); }
};

}  // namespace weir_test

#endif  // WEIR_TEST_POOL_FIXTURE_HPP
