// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Random programs are run on the real pool, under simulation, and on the model of what it promises;
// after each step the two agree on every counter, and in the end on every outcome.

#include "pool_model.hpp"

#include <weir/test/boost_test.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace weir_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::errc;
using weir::error_code;
using weir::test::simulation;

BOOST_AUTO_TEST_SUITE(pool_model_suite)

namespace {

asio::awaitable<void> act(conduct how, weir::duration length) {
  if (how == conduct::returns) co_return;
  if (how == conduct::throws) throw std::runtime_error("as told");
  if (how == conduct::deaf)
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  weir::steady_timer timer(co_await asio::this_coro::executor, length);
  if (how != conduct::stubborn) {
    co_await timer.async_wait(asio::deferred);
    co_return;
  }
  try {
    co_await timer.async_wait(asio::deferred);
  } catch (const boost::system::system_error&) {
    co_return;  // it was asked to stop, and takes that for a good end
  }
}

/// What one hears who handed a task over.
struct told {
  int times = 0;
  bool threw = false;
  error_code code;
};

/// A program, run on both sides.
class duel {
 public:
  /// \param lanes how many there are; 0: no task has one
  explicit duel(simulation& sim, std::uint64_t lanes)
      : sim_(sim),
        lanes_(lanes),
        limits_(draw_limits()),
        model_(limits_),
        pool_(std::in_place, sim.get_executor(),
              weir::pool_options{.workers = static_cast<int>(limits_.workers),
                                 .queue_size = static_cast<int>(limits_.queue),
                                 .max_per_user = static_cast<int>(limits_.cap),
                                 .max_queued_per_user = static_cast<int>(limits_.share),
                                 .max_per_tenant = static_cast<int>(limits_.tenant),
                                 .max_per_lane = static_cast<int>(limits_.lane),
                                 .task_timeout = 0s,
                                 .max_queue_wait = limits_.max_wait == weir::duration::max()
                                                       ? 0ns
                                                       : limits_.max_wait,
                                 .grace = limits_.grace,
                                 .stuck_replacements = static_cast<int>(limits_.stand_ins),
                                 .answer_after = limits_.answer_after}) {}

  void play(int steps) {
    for (int i = 0; i < steps; ++i) {
      switch (sim_.draw().below(9)) {
        case 0:
          advance(span(40ms));
          break;
        case 1:
          if (!heard_.empty()) give_up(sim_.draw().below(heard_.size()));
          break;
        case 2:
          if (sim_.draw().chance(0.2)) shut_down();
          break;
        case 3:
          resize(1 + sim_.draw().below(4));
          break;
        default:
          hand_over();
      }
      compare();
    }
    shut_down();
    compare();
    advance(10s);
    compare();
    compare_outcomes();
    pool_.reset();
    sim_.run();
  }

 private:
  pool_model::limits draw_limits() {
    auto& draw = sim_.draw();
    return {.workers = 1 + draw.below(3),
            .queue = 1 + draw.below(4),
            .cap = draw.below(4),
            .share = draw.below(3),
            .tenant = draw.below(6),
            .lane = draw.below(4),
            .max_wait = draw.chance(0.5) ? span(40ms) : weir::duration::max(),
            .grace = span(30ms),
            .stand_ins = draw.below(3),
            .answer_after = span(20ms)};
  }

  /// Up to `most`, to the nanosecond, so that no two events fall together.
  weir::duration span(weir::duration most) {
    return weir::duration(1 + static_cast<weir::duration::rep>(
                                  sim_.draw().below(static_cast<std::uint64_t>(most.count()))));
  }

  void hand_over() {
    auto& draw = sim_.draw();
    pool_model::job j;
    j.user = std::array{"x/a", "x/b", "y"}[draw.below(3)];
    if (lanes_ != 0 && draw.chance(0.7))
      j.lane = std::string(1, static_cast<char>('A' + draw.below(lanes_)));
    // Of a lane none ends at once: which of two that are done in one instant makes room for the
    // next of its lane first is up to the workers.
    j.how = static_cast<conduct>(j.lane.empty() ? draw.below(5) : 2 + draw.below(3));
    j.length = span(50ms);
    j.timeout = draw.chance(0.5) ? span(50ms) : 0ns;
    j.by = static_cast<pool_model::door>(draw.below(3));
    heard_.emplace_back();
    signals_.emplace_back();
    told& t = heard_.back();
    const std::string id = std::to_string(heard_.size() - 1);
    const auto body = [how = j.how, length = j.length](weir::task_context&) {
      return act(how, length);
    };
    const auto hear = [&t](error_code ec) {
      ++t.times;
      t.code = ec;
    };
    const auto with_slot = [&](auto handler) {
      return asio::bind_cancellation_slot(signals_.back().slot(), std::move(handler));
    };
    weir::task task{.id = id, .user = j.user, .fn = body, .timeout = j.timeout, .lane = j.lane};
    switch (j.by) {
      case pool_model::door::submit:
        hear(pool_->submit(std::move(task)));
        break;
      case pool_model::door::async_submit:
        pool_->async_submit(std::move(task), with_slot(hear));
        break;
      case pool_model::door::co_spawn:
        weir::co_spawn(*pool_, {.id = id, .user = j.user, .timeout = j.timeout, .lane = j.lane},
                       body, with_slot([&t, hear](const std::exception_ptr& e) {
                         error_code ec;
                         try {
                           if (e) std::rethrow_exception(e);
                         } catch (const boost::system::system_error& error) {
                           ec = error.code();
                         } catch (const std::runtime_error&) {
                           t.threw = true;
                         }
                         hear(ec);
                       }));
    }
    model_.hand_over(std::move(j), sim_.now());
  }

  void give_up(std::size_t number) {
    signals_[number].emit(asio::cancellation_type::total);
    model_.give_up(number, sim_.now());
  }

  void resize(std::size_t workers) {
    pool_->resize(static_cast<int>(workers));
    model_.resize(workers, sim_.now());
  }

  /// Once: a second shutdown may hasten the first, of which the model knows nothing.
  void shut_down() {
    if (std::exchange(shut_down_, true)) return;
    const weir::duration deadline = sim_.draw().chance(0.3) ? 0ns : span(60ms);
    const bool abandon = sim_.draw().chance(0.3);
    pool_->async_shutdown({.deadline = deadline, .abandon = abandon},
                          [this](error_code ec, weir::shutdown_report report) {
                            BOOST_TEST_REQUIRE(!ec);
                            report_ = std::move(report);
                          });
    model_.shut_down(deadline, abandon, sim_.now());
  }

  void advance(weir::duration d) {
    sim_.run_for(d);
    model_.advance_to(sim_.now());
  }

  void compare() {
    sim_.settle();
    const weir::pool_metrics m = pool_->metrics();
    BOOST_TEST_REQUIRE(static_cast<std::size_t>(m.workers) == model_.workers());
    BOOST_TEST_REQUIRE(m.active == model_.active());
    BOOST_TEST_REQUIRE(m.stuck == model_.stuck());
    BOOST_TEST_REQUIRE(m.stand_ins == model_.stand_ins());
    BOOST_TEST_REQUIRE(m.queued == model_.queued());
    BOOST_TEST_REQUIRE(m.waiting == model_.waiting());
    BOOST_TEST_REQUIRE(m.users == model_.users());
    BOOST_TEST_REQUIRE(m.tenants == model_.tenants());
    BOOST_TEST_REQUIRE(m.submitted == model_.submitted());
    BOOST_TEST_REQUIRE(m.completed == model_.count(fate::completed));
    BOOST_TEST_REQUIRE(m.failed == model_.count(fate::failed));
    BOOST_TEST_REQUIRE(m.timed_out == model_.count(fate::timed_out));
    BOOST_TEST_REQUIRE(m.shed == model_.count(fate::shed));
    BOOST_TEST_REQUIRE(m.cancelled == model_.count(fate::cancelled) + model_.count(fate::shed));
    BOOST_TEST_REQUIRE(m.rejected.closed == model_.count(fate::closed));
    BOOST_TEST_REQUIRE(m.rejected.user_limit == model_.count(fate::user_limit));
    BOOST_TEST_REQUIRE(m.rejected.user_queue == model_.count(fate::user_queue));
    BOOST_TEST_REQUIRE(m.rejected.tenant_limit == model_.count(fate::tenant_limit));
    BOOST_TEST_REQUIRE(m.rejected.lane_limit == model_.count(fate::lane_limit));
    BOOST_TEST_REQUIRE(m.rejected.queue_full == model_.count(fate::full));
    BOOST_TEST_REQUIRE(m.rejected.cancelled == model_.count(fate::given_up));
    BOOST_TEST_REQUIRE(report_.has_value() == model_.ended().has_value());
    if (lanes_ != 0) compare_places(m.in_lane);
  }

  /// Which of them run, which stand in the queue, and which follow in their lanes.
  void compare_places(std::size_t in_lane) {
    using place = pool_model::job::place;
    std::size_t follow = 0;
    const weir::task_dump dump = pool_->dump();
    BOOST_TEST_REQUIRE(dump.tasks.size() == model_.active() + model_.queued());
    for (const weir::task_info& t : dump.tasks) {
      const auto number = static_cast<std::size_t>(std::stoul(t.id));
      const pool_model::job& j = model_.jobs()[number];
      const bool queued = t.state == weir::task_state::queued;
      const bool follows = t.state == weir::task_state::in_lane;
      BOOST_TEST_REQUIRE(t.lane == j.lane);
      BOOST_TEST_REQUIRE(follows == model_.follows(number));
      BOOST_TEST_REQUIRE((queued || follows) == (j.where == place::queued));
      if (follows) ++follow;
    }
    BOOST_TEST_REQUIRE(in_lane == follow);
  }

  /// What whoever handed the task over is to hear.
  static told expected(const pool_model::job& j) {
    told t;
    t.times = 1;
    switch (j.end) {
      case fate::closed:
        t.code = errc::pool_closed;
        return t;
      case fate::user_limit:
        t.code = errc::user_limit_reached;
        return t;
      case fate::user_queue:
        t.code = errc::user_queue_full;
        return t;
      case fate::tenant_limit:
        t.code = errc::tenant_limit_reached;
        return t;
      case fate::full:
        t.code = errc::queue_full;
        return t;
      case fate::lane_limit:
        t.code = errc::lane_limit_reached;
        return t;
      case fate::given_up:
        t.code = asio::error::operation_aborted;
        return t;
      default:
        break;
    }
    if (j.by != pool_model::door::co_spawn) return t;
    if (j.end == fate::failed) t.threw = true;
    if (j.end == fate::shed) t.code = errc::queue_wait_expired;
    if (j.answered || j.end == fate::timed_out || j.end == fate::cancelled)
      t.code = j.cause == weir::cancel_cause::timeout    ? error_code(errc::task_timed_out)
               : j.cause == weir::cancel_cause::shutdown ? error_code(errc::shutdown_cancelled)
                                                         : asio::error::operation_aborted;
    return t;
  }

  void compare_outcomes() {
    for (std::size_t n = 0; n < heard_.size(); ++n) {
      const told want = expected(model_.jobs()[n]);
      BOOST_TEST_REQUIRE(heard_[n].times == want.times);
      BOOST_TEST_REQUIRE(heard_[n].code == want.code);
      BOOST_TEST_REQUIRE(heard_[n].threw == want.threw);
    }
    const pool_model::ending& want = *model_.ended();
    BOOST_TEST_REQUIRE(report_->drained == want.drained);
    BOOST_TEST_REQUIRE(report_->completed == want.completed);
    BOOST_TEST_REQUIRE(report_->abandoned == ids(want.abandoned), boost::test_tools::per_element());
    std::sort(report_->stuck.begin(), report_->stuck.end());
    std::vector<std::string> stuck = ids(want.stuck);
    std::sort(stuck.begin(), stuck.end());
    BOOST_TEST_REQUIRE(report_->stuck == stuck, boost::test_tools::per_element());
  }

  static std::vector<std::string> ids(const std::vector<std::size_t>& numbers) {
    std::vector<std::string> texts;
    for (const std::size_t n : numbers) texts.push_back(std::to_string(n));
    return texts;
  }

  simulation& sim_;
  const std::uint64_t lanes_;
  pool_model::limits limits_;
  pool_model model_;
  std::deque<told> heard_;
  std::deque<asio::cancellation_signal> signals_;
  std::optional<weir::shutdown_report> report_;
  bool shut_down_ = false;
  std::optional<weir::worker_pool> pool_;
};

}  // namespace

WEIR_SIMULATION_TEST_CASE(pool_and_model_agree_after_each_step_of_a_random_program, 2000) {
  duel(sim, 0).play(30);
}

WEIR_SIMULATION_TEST_CASE(pool_and_model_agree_where_tasks_have_lanes, 2000) {
  duel(sim, 1 + sim.draw().below(3)).play(30);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weir_test
