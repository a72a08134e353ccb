// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/memory_queue.hpp>
#include <weir/periodic_jobs.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::error_code;
using weir::periodic_firing;
using weir::periodic_jobs;

BOOST_AUTO_TEST_SUITE(periodic_jobs_stress)

namespace {

constexpr std::array<const char*, 3> entries{"a", "b", "c"};

void add_entries(periodic_jobs& jobs) {
  for (const char* name : entries) jobs.add(name, 1s, {.kind = "job"});
}

struct signs {
  std::promise<void> fired;
  std::promise<void> over;
  std::atomic<bool> any{false};
};

}  // namespace

// Each run begins with what was due in the second before, so all of them fire at once.
BOOST_AUTO_TEST_CASE(runs_that_end_while_they_fire_enqueue_each_time_once) {
  constexpr int rounds = 300;
  asio::thread_pool threads(4);
  weir::memory_queue queue(threads.get_executor());
  std::atomic<int> ended{0};
  std::atomic<int> errors{0};
  for (int round = 0; round < rounds; ++round) {
    // Shared, as it may be told of a firing once more when the run has ended.
    const auto told = std::make_shared<signs>();
    const auto on_firing = [told, &errors](const periodic_firing& f) {
      if (f.error) ++errors;
      if (!told->any.exchange(true)) told->fired.set_value();
    };
    // Who is destroyed, and who is cancelled, at any moment.
    periodic_jobs destroyed(queue);
    periodic_jobs cancelled(queue, {.on_firing = on_firing});
    add_entries(destroyed);
    add_entries(cancelled);
    destroyed.async_run([&](const error_code&) { ++ended; });
    const auto strand = asio::make_strand(threads);
    asio::cancellation_signal stop;
    asio::post(strand, [&, told] {
      cancelled.async_run(asio::bind_cancellation_slot(
          stop.slot(), asio::bind_executor(strand, [&, told](const error_code& ec) {
            if (ec != asio::error::operation_aborted) ++errors;
            ++ended;
            told->over.set_value();
          })));
    });
    if (round % 2 == 0) told->fired.get_future().wait();
    asio::post(strand, [&] { stop.emit(asio::cancellation_type::terminal); });
    told->over.get_future().wait();
  }
  std::set<std::string> keys;
  const auto leases = queue.async_lease({.max = 1'000'000}, asio::use_future).get();
  for (const weir::lease& l : leases) BOOST_TEST_REQUIRE(keys.insert(l.job.unique_key).second);
  BOOST_TEST(keys.size() >= entries.size());
  queue.close();
  threads.join();
  BOOST_TEST(ended == 2 * rounds);
  BOOST_TEST(errors == 0);
}

BOOST_AUTO_TEST_SUITE_END()
