// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "queue_program.hpp"

#include "queue_client.hpp"
#include "sleep_for.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::job_id;
using weir::lease;
using weir::lease_key;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
constexpr int max_attempts = 3;

/// What is known of the jobs.
class model {
 public:
  explicit model(const weir::test::driver& time) : time_(time) {}

  void accepted(job_id id) { jobs_[id].accepted = true; }

  void leased(const lease& l) {
    known& j = jobs_[l.key.id];
    BOOST_TEST_REQUIRE((!j.ended || j.cancelling));
    BOOST_TEST_REQUIRE(l.key.token > j.token);
    // Whoever had it before has lost it by now, or is about to say something.
    BOOST_TEST_REQUIRE((!j.held || j.until <= time_.now()));
    BOOST_TEST_REQUIRE(l.job.attempt <= max_attempts);
    BOOST_TEST_REQUIRE(l.job.attempt <= j.attempts + 1);
    j.attempts = l.job.attempt;
    j.token = l.key.token;
    j.until = l.until;
    j.held = true;
  }

  /// The holder of `key` is going to report. It may be heard, and the next lease told of, before
  /// the answer to this is.
  void reports(lease_key key) {
    known& j = jobs_[key.id];
    if (j.token == key.token) j.held = false;
  }

  void acked(lease_key key, const error_code& ec) {
    if (heard(key, ec)) {
      known& j = jobs_[key.id];
      BOOST_TEST_REQUIRE(j.token == key.token);
      BOOST_TEST_REQUIRE(!j.ended);
      j.ended = true;
    }
  }

  void nacked(lease_key key, const error_code& ec) {
    known& j = jobs_[key.id];
    if (heard(key, ec) && j.token == key.token && j.attempts == max_attempts) j.ended = true;
  }

  void released(lease_key key, const error_code& ec) {
    known& j = jobs_[key.id];
    if (heard(key, ec) && j.token == key.token) --j.attempts;
  }

  void cancels(job_id id) { jobs_[id].cancelling = true; }

  void cancelled(job_id id, const error_code& ec, bool was_there) {
    known& j = jobs_[id];
    if (ec) j.unsure = true;
    if (ec || !was_there) return;
    BOOST_TEST_REQUIRE(!j.ended);
    j.ended = true;
    j.held = false;
  }

  job_id any(weir::test::random& draw) const {
    if (jobs_.empty()) return 0;
    auto at = jobs_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(draw.below(jobs_.size())));
    return at->first;
  }

  /// Everything that is not known to have ended has been seen at the end, or is a dead letter.
  void settle(const std::vector<job_id>& drained, const std::vector<job_id>& dead) {
    for (const auto& [id, j] : jobs_) {
      const auto seen = std::count(drained.begin(), drained.end(), id);
      const bool is_dead = std::find(dead.begin(), dead.end(), id) != dead.end();
      BOOST_TEST_REQUIRE(seen + (is_dead ? 1 : 0) <= 1);
      if (j.accepted && !j.ended && !j.unsure) BOOST_TEST_REQUIRE((seen == 1 || is_dead));
    }
  }

 private:
  bool heard(lease_key key, const error_code& ec) {
    known& j = jobs_[key.id];
    if (ec == asio::error::operation_aborted) {
      j.unsure = true;
    } else if (ec) {
      // Only because somebody else has it, may have it by now, or has taken it back.
      BOOST_TEST_REQUIRE((ec == errc::lease_lost));
      BOOST_TEST_REQUIRE(
          (j.token != key.token || j.until <= time_.now() || j.cancelling || j.unsure));
    }
    return !ec;
  }

  struct known {
    bool accepted = false;
    bool held = false;
    bool ended = false;
    bool cancelling = false;  ///< somebody takes it back, or has
    bool unsure = false;      ///< a report was cancelled: it may have been carried out
    std::int64_t token = 0;
    int attempts = 0;
    weir::time_point until{};
  };
  const weir::test::driver& time_;
  std::map<job_id, known> jobs_;
};

constexpr std::array<std::string_view, 3> kinds{"a", "b", "c"};

asio::awaitable<void> produce(weir::test::random& draw, weir::task_queue& queue, model& m) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  for (int i = 0; i < 4; ++i) {
    co_await sleep_for(std::chrono::milliseconds(draw.below(3)));
    const std::string key = draw.below(3) == 0 ? "key" : "";
    const weir::job_request r{.kind = kinds[draw.below(3)],
                              .priority = static_cast<int>(draw.below(2)),
                              .delay = std::chrono::milliseconds(draw.below(3)),
                              .max_attempts = max_attempts,
                              .unique_key = key,
                              .keep = std::chrono::milliseconds(draw.below(2))};
    const weir::enqueued e = co_await queue.async_enqueue(r, asio::use_awaitable);
    m.accepted(e.id);
  }
}

asio::awaitable<void> consume(weir::test::random& draw, weir::task_queue& queue, model& m) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  // A report that is cancelled may have been heard, so its end is looked at, and then it is over.
  co_await asio::this_coro::throw_if_cancelled(false);
  const std::size_t of = draw.below(4);
  for (int i = 0; i < 5; ++i) {
    weir::lease_options o{.max = 1 + static_cast<int>(draw.below(2)),
                          .wait = std::chrono::milliseconds(draw.below(4)),
                          .lease_for = std::chrono::milliseconds(1 + draw.below(2))};
    if (of < kinds.size()) o.kinds = {&kinds[of], 1};
    auto [ec, leases] = co_await queue.async_lease(o, tuple);
    for (const lease& l : leases) m.leased(l);
    for (const lease& l : leases) {
      if (draw.below(2) == 0) {
        weir::steady_timer work(co_await asio::this_coro::executor,
                                std::chrono::milliseconds(draw.below(4)));
        co_await work.async_wait(tuple);
      }
      const auto choice = draw.below(5);
      if (choice < 4) m.reports(l.key);
      switch (choice) {
        case 0:
        case 1: {
          const auto [told] = co_await queue.async_ack(l.key, tuple);
          m.acked(l.key, told);
          break;
        }
        case 2: {
          const weir::nack_options how{.delay = std::chrono::milliseconds(draw.below(3)),
                                       .reason = "r"};
          const auto [told] = co_await queue.async_nack(l.key, how, tuple);
          m.nacked(l.key, told);
          break;
        }
        case 3: {
          const auto [told] =
              co_await queue.async_release(l.key, std::chrono::milliseconds(draw.below(2)), tuple);
          m.released(l.key, told);
          break;
        }
        default:
          break;  // dies with it
      }
    }
    if (ec) co_return;
  }
}

asio::awaitable<void> meddle(weir::test::random& draw, weir::task_queue& queue, model& m) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  for (int i = 0; i < 2; ++i) {
    weir::steady_timer later(co_await asio::this_coro::executor,
                             std::chrono::milliseconds(draw.below(4)));
    co_await later.async_wait(tuple);
    const job_id id = m.any(draw);
    if (id != 0) m.cancels(id);
    const auto [ec, was_there] = co_await queue.async_cancel(id, tuple);
    if (id != 0) m.cancelled(id, ec, was_there);
  }
}

}  // namespace

void run_queue_program(weir::test::driver& time, weir::test::random& draw,
                       weir::task_queue& queue) {
  model m(time);
  for (int i = 0; i < 2; ++i) time.spawn("producer", produce(draw, queue, m));
  for (int i = 0; i < 3; ++i) time.spawn("worker", consume(draw, queue, m));
  time.spawn("meddler", meddle(draw, queue, m));
  time.run();

  queue_client client(time, queue);
  std::vector<job_id> drained;
  time.run_for(10ms);  // all leases have run out, and all is due
  for (;;) {
    const auto leases = client.take({.max = 3, .lease_for = 1h});
    if (leases.empty()) break;
    for (const lease& l : leases) {
      m.leased(l);
      drained.push_back(l.key.id);
      BOOST_TEST_REQUIRE(!client.ack(l.key));
    }
  }
  std::vector<job_id> dead;
  for (const weir::job_status& s : client.dead()) {
    BOOST_TEST_REQUIRE(s.job.attempt == max_attempts);
    dead.push_back(s.job.id);
  }
  m.settle(drained, dead);
  const weir::queue_stats stats = client.stats();
  BOOST_TEST_REQUIRE(stats.dead == dead.size());
  BOOST_TEST_REQUIRE(stats.ready + stats.scheduled + stats.leased == 0U);
}

}  // namespace weir_test
