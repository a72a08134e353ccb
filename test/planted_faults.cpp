// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Small programs, each with a fault of a kind that pools and semaphores have had, and the same
// without it: the kit finds the one within 2,000 seeds and passes the other.

#include "sleep_for.hpp"

#include <weir/error.hpp>
#include <weir/test/for_each_seed.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(planted_faults)

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// Something to park on.
struct parking {
  explicit parking(simulation& sim) : timer(sim.get_executor(), weir::time_point::max()) {}
  asio::awaitable<void> wait() { co_await timer.async_wait(asio::as_tuple(asio::deferred)); }
  weir::steady_timer timer;
  bool granted = false;
};

/// A semaphore of one. Faulty: a waiter that is cancelled does not look whether it was granted the
/// permit before.
class lossy_semaphore {
 public:
  lossy_semaphore(simulation& sim, bool faulty) : sim_(sim), faulty_(faulty) {}

  asio::awaitable<void> acquire() {
    if (free) {
      free = false;
      co_return;
    }
    const auto place = std::make_shared<parking>(sim_);
    waiting_.push_back(place);
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await place->wait();
    co_await asio::this_coro::throw_if_cancelled(true);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() == asio::cancellation_type::none) co_return;
    std::erase(waiting_, place);
    if (place->granted && !faulty_) release();
    throw boost::system::system_error(asio::error::operation_aborted);
  }

  void release() {
    if (waiting_.empty()) {
      free = true;
      return;
    }
    waiting_.front()->granted = true;
    waiting_.front()->timer.cancel();
    waiting_.pop_front();
  }

  bool free = true;

 private:
  simulation& sim_;
  bool faulty_;
  std::deque<std::shared_ptr<parking>> waiting_;
};

void permit_lost_when_cancelled_after_grant(simulation& sim, bool faulty) {
  lossy_semaphore s(sim, faulty);
  for (int i = 0; i < 3; ++i)
    sim.spawn([&]() -> asio::awaitable<void> {
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      co_await s.acquire();
      struct holder {
        lossy_semaphore& s;
        ~holder() { s.release(); }
      } const held{s};
      co_await sleep_for(1ms);
    });
  sim.run();
  require(s.free, "a permit was lost");
}

/// A consumer that parks when there is nothing to do. Faulty: it looks, and only then says that it
/// parks, with an await between.
void lost_wakeup_on_park(simulation& sim, bool faulty) {
  int items = 0;
  int done = 0;
  bool parked = false;
  parking place(sim);
  sim.spawn("consumer", [&]() -> asio::awaitable<void> {
    while (done < 3) {
      if (!faulty) parked = true;
      if (items > 0) {
        parked = false;
        --items;
        ++done;
        continue;
      }
      if (faulty) {
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        parked = true;
      }
      co_await place.wait();
      parked = false;
    }
  });
  sim.spawn("producer", [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      ++items;
      if (parked) place.timer.cancel();
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
  });
  sim.run();
  require(done == 3, "an item was left");
}

/// A task whose timeout falls on its completion. Faulty: each of the two gives the slot back.
void double_release_on_timeout_at_completion(simulation& sim, bool faulty) {
  int slots = 1;
  bool ended = false;
  weir::steady_timer work(sim.get_executor());
  weir::steady_timer deadline(sim.get_executor());
  --slots;
  const auto end = [&](weir::steady_timer& other) {
    if (!faulty && std::exchange(ended, true)) return;
    ++slots;
    other.cancel();
  };
  work.expires_after(10ms);
  work.async_wait([&](weir::error_code ec) {
    if (!ec) asio::post(sim.get_executor(), [&] { end(deadline); });
  });
  deadline.expires_after(10ms);
  deadline.async_wait([&](weir::error_code ec) {
    if (!ec) end(work);
  });
  sim.run();
  require(slots == 1, "the slot was given back more than once, or never");
}

/// Takes a slot and copies the callable. Faulty: in that order, with nothing that gives it back.
void slot_leak_on_throw_in_the_copy(simulation& sim, bool faulty) {
  struct callable {
    explicit callable(simulation& s) : sim(s) {}
    callable(const callable& other) : sim(other.sim) {
      if (sim.draw().chance(0.05)) throw std::runtime_error("in the copy");
    }
    simulation& sim;
  };
  int slots = 0;
  const callable f(sim);
  try {
    if (faulty) ++slots;
    const callable copy(f);
    if (!faulty) ++slots;
    asio::post(sim.get_executor(), [&slots] { --slots; });
  } catch (const std::runtime_error&) {
    sim.run();
    require(slots == 0, "a slot was lost");
  }
  sim.run();
}

/// A queue that ends when it is empty. Faulty: it says so first and closes in a later step.
void shutdown_misses_a_task_of_the_same_tick(simulation& sim, bool faulty) {
  std::deque<int> queue;
  bool closed = false;
  bool ended = false;
  int accepted = 0;
  int ran = 0;
  const std::function<void()> work = [&] {
    if (ended) return;
    if (queue.empty()) return;
    queue.pop_front();
    ++ran;
  };
  asio::post(sim.get_executor(), [&] {
    const auto shut = [&] {
      closed = true;
      while (!queue.empty()) work();
      ended = true;
    };
    if (!faulty) return shut();
    while (!queue.empty()) work();
    asio::post(sim.get_executor(), [&] { closed = ended = true; });
  });
  asio::post(sim.get_executor(), [&] {
    if (closed) return;
    ++accepted;
    queue.push_back(1);
    asio::post(sim.get_executor(), work);
  });
  sim.run();
  require(ran == accepted, "an accepted task was never run");
}

/// A pool that is made smaller. Faulty: whoever wakes a worker has looked at the limit, so the
/// worker does not look again when it starts.
void start_beyond_a_limit_that_was_lowered(simulation& sim, bool faulty) {
  std::size_t limit = 2;
  std::size_t active = 0;
  std::deque<int> queue;
  const std::function<void()> work = [&] {
    if (queue.empty() || (!faulty && active >= limit)) return;
    queue.pop_front();
    ++active;
    require(active <= limit, "a task was started beyond the limit");
    asio::post(sim.get_executor(), [&] {
      --active;
      work();
    });
  };
  for (int i = 0; i < 4; ++i)
    asio::post(sim.get_executor(), [&] {
      queue.push_back(1);
      if (active < limit) asio::post(sim.get_executor(), work);
    });
  asio::post(sim.get_executor(), [&] { limit = 1; });
  sim.run();
  require(queue.empty(), "a task was left");
}

/// The faulty program fails within 2,000 seeds, with `message`; the other passes all of them.
void check(void (*program)(simulation&, bool), const std::string& message,
           const weir::test::simulation_options& treatment = {}) {
  const weir::test::seed_options options{.simulation = treatment};
  BOOST_CHECK_EXCEPTION(weir::test::for_each_seed(
                            2000, [&](simulation& sim) { program(sim, true); }, options),
                        weir::test::seed_failure, [&](const auto& e) {
                          BOOST_TEST_MESSAGE("found at seed " << e.seed());
                          BOOST_TEST(std::string(e.what()).find(message) != std::string::npos,
                                     e.what());
                          return true;
                        });
  BOOST_CHECK_NO_THROW(weir::test::for_each_seed(
      2000, [&](simulation& sim) { program(sim, false); }, options));
}

}  // namespace

BOOST_AUTO_TEST_CASE(permit_lost_when_cancelled_after_grant_is_found) {
  check(permit_lost_when_cancelled_after_grant, "a permit was lost", {.cancel = 0.1});
}

BOOST_AUTO_TEST_CASE(lost_wakeup_on_park_is_found) {
  check(lost_wakeup_on_park, "#1 consumer (planted_faults.cpp:");
}

BOOST_AUTO_TEST_CASE(double_release_on_timeout_at_completion_is_found) {
  check(double_release_on_timeout_at_completion, "more than once");
}

BOOST_AUTO_TEST_CASE(slot_leak_on_throw_in_the_copy_is_found) {
  check(slot_leak_on_throw_in_the_copy, "a slot was lost");
}

BOOST_AUTO_TEST_CASE(start_beyond_a_limit_that_was_lowered_is_found) {
  check(start_beyond_a_limit_that_was_lowered, "beyond the limit");
}

BOOST_AUTO_TEST_CASE(shutdown_that_misses_a_task_of_the_same_tick_is_found) {
  check(shutdown_misses_a_task_of_the_same_tick, "never run");
}

BOOST_AUTO_TEST_SUITE_END()
