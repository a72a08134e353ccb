// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "queue_client.hpp"
#include "sleep_for.hpp"

#include <weir/detail/firing_plan.hpp>
#include <weir/memory_queue.hpp>
#include <weir/periodic_jobs.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/wall_clock_step.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::system_error;
using weir::cron_schedule;
using weir::duration;
using weir::errc;
using weir::error_code;
using weir::memory_queue;
using weir::periodic_firing;
using weir::periodic_jobs;
using weir::wall_clock;
using weir::wall_time;
using weir::detail::firing_plan;
using weir::test::simulation;
using weir_test::queue_client;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(firing_plan_suite)

namespace {

wall_time minute(int n) { return wall_time(24h * 365 * 50 + n * 1min); }

firing_plan::schedule every(duration d) {
  return [d](wall_time t) {
    const auto step = std::chrono::duration_cast<wall_clock::duration>(d);
    return std::optional(wall_time((t.time_since_epoch() / step + 1) * step));
  };
}

/// Asks `plan` at each of `times`, does what is due, and tells the minutes of it; -1: nothing.
std::vector<int> minutes_done(firing_plan& plan, std::initializer_list<int> times) {
  std::vector<int> done;
  for (const int t : times) {
    const auto due = plan.due(minute(t));
    done.push_back(due ? static_cast<int>((due->at - minute(0)) / 1min) : -1);
    if (due) plan.done(due->at);
  }
  return done;
}

using ints = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_CASE(each_time_is_done_once) {
  firing_plan plan(every(10min), 1min, minute(5));
  BOOST_TEST(
      minutes_done(plan, {5, 9, 10, 10, 11, 19, 20, 30}) == (ints{-1, -1, 10, -1, -1, -1, 20, 30}),
      boost::test_tools::per_element());
  BOOST_TEST((plan.next(minute(30)) == minute(40)));
}

BOOST_AUTO_TEST_CASE(what_was_missed_is_made_up_for_once_or_left_out) {
  firing_plan patient(every(10min), 60min, minute(5));
  BOOST_TEST(minutes_done(patient, {48, 48, 50}) == (ints{40, -1, 50}),
             boost::test_tools::per_element());
  firing_plan strict(every(10min), 1min, minute(5));
  BOOST_TEST(minutes_done(strict, {48, 50}) == (ints{-1, 50}), boost::test_tools::per_element());
  // Also from before it was made.
  firing_plan late(every(60min), 30min, minute(125));
  BOOST_TEST(minutes_done(late, {125, 126}) == (ints{120, -1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_fails_stays_due_until_it_is_too_late_or_the_next_one_is) {
  firing_plan plan(every(10min), 15min, minute(5));
  BOOST_TEST((plan.due(minute(10))->at == minute(10)));
  BOOST_TEST((plan.due(minute(19))->at == minute(10)));
  BOOST_TEST((plan.due(minute(21))->at == minute(20)));
  BOOST_TEST((plan.due(minute(30))->at == minute(30)));
}

BOOST_AUTO_TEST_CASE(clock_set_ahead_makes_no_flood) {
  firing_plan plan(every(1min), 60min, minute(0));
  BOOST_TEST(minutes_done(plan, {1, 2, 62, 62, 63}) == (ints{1, 2, 62, -1, 63}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(clock_set_back_stops_nothing_that_is_done_more_often) {
  firing_plan plan(every(1min), 1min, minute(59));
  minutes_done(plan, {60, 61, 62});
  const auto again = plan.due(minute(3));
  BOOST_TEST(!again.has_value());
  const auto next = plan.due(minute(4));
  BOOST_REQUIRE(next.has_value());
  BOOST_TEST((next->at == minute(4)));
  BOOST_TEST((next->set_back_from == minute(62)));
  plan.done(next->at);
  BOOST_TEST((plan.due(minute(62))->set_back_from == minute(62)));
  // What has not been before is as ever.
  BOOST_TEST(!plan.due(minute(63))->set_back_from.has_value());
}

BOOST_AUTO_TEST_CASE(clock_set_back_twice_tells_the_times_apart) {
  firing_plan plan(every(1min), 1min, minute(59));
  minutes_done(plan, {60, 3, 4, 5});
  plan.due(minute(2));
  const auto third = plan.due(minute(4));
  BOOST_REQUIRE(third.has_value());
  BOOST_TEST((third->set_back_from == minute(5)));
}

BOOST_AUTO_TEST_CASE(clock_set_back_repeats_nothing_that_is_done_less_often) {
  firing_plan plan(every(24h), 24h, minute(-60));
  const int day = 24 * 60;
  const int first = static_cast<int>((*every(24h)(minute(-60)) - minute(0)) / 1min);
  BOOST_TEST(minutes_done(plan, {first, first - 60, first - 1, first, first + 1, first + day}) ==
                 (ints{first, -1, -1, -1, -1, first + day}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whatever_the_clock_does_nothing_is_done_twice_and_nothing_rests_for_long) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    weir::test::random r(seed);
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    const int gap = r.between(1, 3);
    const duration catch_up = r.between(1, 5) * 1min;
    wall_time now = minute(1'000) + r.between(0, 59) * 1s;
    firing_plan plan(every(gap * 1min), catch_up, now);
    std::set<std::pair<wall_time, std::optional<wall_time>>> done;
    int idle = 0;
    bool may_go_back = true;  // from one and the same time twice: not told apart
    for (int look = 0; look < 200; ++look) {
      const int step = r.chance(0.9) ? 1 : r.between(may_go_back ? -90 : 0, 90);
      may_go_back = may_go_back && step >= 0;
      now += step * 1min;
      if (step != 1) idle = 0;
      const auto due = plan.due(now);
      ++idle;
      if (!due) {
        BOOST_TEST_REQUIRE((plan.next(now) > now));
        // Until the next one after a step back, which may be just short of a gap.
        BOOST_TEST_REQUIRE(idle <= 2 * gap);
        continue;
      }
      BOOST_TEST_REQUIRE((due->at <= now && due->at > now - catch_up));
      BOOST_TEST_REQUIRE((*every(gap * 1min)(due->at - 1ns) == due->at));
      BOOST_TEST_REQUIRE((done.emplace(due->at, due->set_back_from).second));
      plan.done(due->at);
      idle = 0;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(periodic_jobs_suite)

namespace {

constexpr std::array cancellation_types{asio::cancellation_type::terminal,
                                        asio::cancellation_type::partial,
                                        asio::cancellation_type::total};

/// A queue with an object that feeds it, on virtual time.
struct feeding {
  // Not on the minute: what was due then would be made up for.
  feeding() { time.run_for(150s); }

  void start() {
    jobs.async_run(
        asio::bind_cancellation_slot(stop.slot(), [this](const error_code& ec) { ended = ec; }));
  }
  void end() {
    stop.emit(asio::cancellation_type::terminal);
    time.settle();
  }
  /// When the jobs were due that have been enqueued since the last call, in order of that time.
  /// They are done, too: their keys have to outlive them.
  std::vector<std::string> take() {
    std::vector<std::string> due;
    for (const weir::lease& l : client.take({.max = 100'000})) {
      due.push_back(l.job.headers.back().value);
      client.ack(l.key);
    }
    std::sort(due.begin(), due.end());
    return due;
  }
  std::size_t count() { return take().size(); }

  weir::test::virtual_time time;
  memory_queue queue{time.get_executor()};
  queue_client client{time, queue};
  std::vector<periodic_firing> heard;
  periodic_jobs jobs{
      queue, {.on_firing = [this](const periodic_firing& f) { heard.push_back(f); }, .seed = 1}};
  asio::cancellation_signal stop;
  std::optional<error_code> ended;
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_firing_is_one_job_that_says_when_it_was_due) {
  feeding f;
  const std::array<weir::job_header, 1> headers{{{"trace", "1"}}};
  f.jobs.add("report", cron_schedule::parse("*/5 * * * *"),
             {.kind = "a", .payload = "p", .user = "u", .priority = 3, .headers = headers});
  f.start();
  f.time.run_for(24h);
  BOOST_TEST(f.heard.size() == 288U);
  std::optional<wall_time> last;
  for (const periodic_firing& h : f.heard) {
    BOOST_TEST(h.name == "report");
    BOOST_TEST(!h.error);
    BOOST_TEST(!h.job.duplicate);
    BOOST_TEST((h.at.time_since_epoch() % 5min == 0s));
    if (last) BOOST_TEST((h.at - *last == 5min));
    last = h.at;
  }
  const auto leases = f.client.take({.max = 1'000});
  BOOST_TEST_REQUIRE(leases.size() == 288U);
  const weir::job& j = leases.back().job;
  BOOST_TEST(j.kind == "a");
  BOOST_TEST(j.payload == "p");
  BOOST_TEST(j.user == "u");
  BOOST_TEST(j.priority == 3);
  BOOST_TEST_REQUIRE(j.headers.size() == 2U);
  BOOST_TEST((j.headers[0] == headers[0]));
  BOOST_TEST(j.headers[1].name == "due");
  BOOST_TEST(j.headers[1].value.size() == std::string_view("2026-01-31T06:00:00Z").size());
  BOOST_TEST(j.unique_key == "report@" + j.headers[1].value);
  f.end();
  BOOST_TEST((f.ended == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(job_is_enqueued_when_it_is_due) {
  feeding f;
  f.jobs.add("beat", 10s, {.kind = "a"});
  f.start();
  f.time.run_for(10s);  // whatever the time of day
  f.take();
  for (int i = 0; i < 10; ++i) {
    const auto since = wall_clock::now().time_since_epoch();
    const auto left = (since / 10s + 1) * 10s - since;
    f.time.run_for(left - 1ns);
    BOOST_TEST(f.count() == 0U);
    f.time.run_for(1ns);
    BOOST_TEST(f.count() == 1U);
  }
  f.end();
}

BOOST_AUTO_TEST_CASE(processes_that_share_a_queue_fire_once) {
  feeding f;
  std::vector<std::unique_ptr<periodic_jobs>> others;
  f.jobs.add("beat", 1min, {.kind = "a"});
  f.start();
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<periodic_jobs>(f.queue));
    others.back()->add("beat", 1min, {.kind = "a"});
    others.back()->async_run([](const error_code&) {});
  }
  f.time.run_for(1h);
  // Whoever of them goes, the rest are enough; and who comes late does not begin anew.
  f.end();
  others[0].reset();
  f.time.run_for(1h);
  auto due = f.take();
  others[1].reset();
  f.start();
  f.time.run_for(1h);
  const auto rest = f.take();
  due.insert(due.end(), rest.begin(), rest.end());
  // One more if the last minute before the start was made up for.
  BOOST_TEST((due.size() == 180U || due.size() == 181U), due.size());
  BOOST_TEST((std::set(due.begin(), due.end()).size() == due.size()));
  others.clear();
  f.end();
}

BOOST_AUTO_TEST_CASE(missed_firings_are_left_out_or_made_up_for_once) {
  feeding f;
  f.jobs.add("left out", 1h, {.kind = "a"});
  f.jobs.add("made up for", 1h, {.kind = "b"}, 3h);
  f.start();
  f.time.run_for(2h);
  f.end();
  f.time.run_for(5h + 30min);
  f.heard.clear();
  const auto before = wall_clock::now().time_since_epoch() / 1h;
  f.start();
  f.time.run_for(1s);
  // The clock stands anywhere within an hour; no firing is less than a minute old but by chance.
  const auto for_b = std::count_if(f.heard.begin(), f.heard.end(),
                                   [](const periodic_firing& h) { return h.name != "left out"; });
  BOOST_TEST(for_b == 1);
  BOOST_TEST((f.heard.back().at.time_since_epoch() / 1h == before));
  f.end();
  // And who starts again finds that it has been done.
  f.take();
  f.heard.clear();
  f.start();
  f.time.run_for(1s);
  BOOST_TEST_REQUIRE(!f.heard.empty());
  for (const periodic_firing& h : f.heard) BOOST_TEST(h.job.duplicate);
  f.end();
}

BOOST_AUTO_TEST_CASE(clock_set_ahead_by_an_hour_makes_no_flood) {
  feeding f;
  f.jobs.add("beat", 1min, {.kind = "a"}, 12h);
  f.start();
  f.time.run_for(10min);
  f.take();
  const weir::test::wall_clock_step ahead(1h);
  f.time.run_for(10s);
  BOOST_TEST(f.count() == 1U);
  f.time.run_for(10min);
  BOOST_TEST(f.count() == 10U);
  f.end();
}

BOOST_AUTO_TEST_CASE(clock_set_back_by_an_hour_stops_nothing) {
  feeding f;
  periodic_jobs other(f.queue);
  for (periodic_jobs* p : {&f.jobs, &other}) {
    p->add("beat", 1min, {.kind = "a"});
    p->add("daily", cron_schedule::parse("0 0 * * *"), {.kind = "b"}, 24h);
  }
  other.async_run([](const error_code&) {});
  f.start();
  f.time.run_for(2h);
  f.take();
  {
    const weir::test::wall_clock_step back(-1h);
    f.time.run_for(10min);
    // At most once for all processes, though their unique keys are held for longer now.
    const std::size_t fired = f.count();
    BOOST_TEST((fired >= 9U && fired <= 11U), fired);
    f.time.run_for(2h);
    BOOST_TEST(f.count() == 120U);
  }
  f.end();
}

BOOST_AUTO_TEST_CASE(clock_set_back_fires_no_hour_twice) {
  feeding f;
  f.jobs.add("hourly", cron_schedule::parse("0 * * * *"), {.kind = "a"}, 24h);
  f.start();
  // To just behind the hour, and across it again.
  const auto past = wall_clock::now().time_since_epoch() % 1h;
  f.time.run_for(1h - past + 5min);
  f.take();
  const weir::test::wall_clock_step back(-10min);
  f.time.run_for(40min);
  BOOST_TEST(f.count() == 0U);
  f.time.run_for(30min);
  BOOST_TEST(f.count() == 1U);
  f.end();
}

BOOST_AUTO_TEST_CASE(error_of_the_queue_is_told_and_waited_for) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor(), {.capacity = 1});
  queue_client client(time, queue);
  std::vector<periodic_firing> heard;
  periodic_jobs jobs(
      queue, {.on_firing = [&](const periodic_firing& h) { heard.push_back(h); }, .seed = 7});
  jobs.add("beat", 1h, {.kind = "a"}, 30min);
  client.add({.kind = "in the way"});
  const auto since = wall_clock::now().time_since_epoch() % 1h;
  time.run_for(1h - since - 1s);
  asio::cancellation_signal stop;
  std::optional<error_code> ended;
  jobs.async_run(
      asio::bind_cancellation_slot(stop.slot(), [&](const error_code& ec) { ended = ec; }));
  time.run_for(10min);
  // From 0.1 s to 30 s apart, all for the same firing.
  BOOST_TEST(heard.size() > 10U);
  BOOST_TEST(heard.size() < 100U);
  for (const periodic_firing& h : heard) {
    BOOST_TEST(h.error == errc::queue_full);
    BOOST_TEST((h.at == heard[0].at));
  }
  heard.clear();
  client.ack(client.take().at(0).key);
  time.run_for(30s);
  BOOST_TEST_REQUIRE(heard.size() == 1U);
  BOOST_TEST(!heard[0].error);
  // An hour later there is no room again, until it is too late.
  time.run_for(1h);
  BOOST_TEST(heard.back().error == errc::queue_full);
  time.run_for(25min);
  heard.clear();
  client.ack(client.take().at(0).key);
  time.run_for(10min);
  BOOST_TEST(heard.empty());
  BOOST_TEST(!ended);
  stop.emit(asio::cancellation_type::total);
  time.run();
}

BOOST_AUTO_TEST_CASE(run_ends_when_the_queue_is_closed) {
  feeding f;
  f.jobs.add("beat", 1min, {.kind = "a"});
  f.start();
  f.time.run_for(10min);
  BOOST_TEST(!f.ended);
  f.queue.close();
  f.time.run();
  BOOST_TEST((f.ended == errc::queue_closed));
  BOOST_TEST(f.heard.back().error == errc::queue_closed);
}

BOOST_AUTO_TEST_CASE(all_types_of_cancellation_end_it_at_once_and_it_can_run_again) {
  feeding f;
  f.jobs.add("beat", 1min, {.kind = "a"});
  for (const auto type : cancellation_types) {
    f.ended.reset();
    f.start();
    f.time.run_for(90s);
    f.stop.emit(type);
    f.time.run();  // nothing is left to wait for
    BOOST_TEST((f.ended == asio::error::operation_aborted));
    f.ended.reset();
    f.start();
    f.stop.emit(type);  // before it has looked for the first time
    f.time.run();
    BOOST_TEST((f.ended == asio::error::operation_aborted));
  }
}

BOOST_AUTO_TEST_CASE(second_run_at_once_and_entries_that_make_no_sense_are_turned_down) {
  feeding f;
  const auto refused = [](const system_error& e) { return e.code() == errc::invalid_argument; };
  const auto add = [&](std::string_view name, duration every, const weir::job_request& request,
                       duration catch_up = {}) {
    BOOST_CHECK_EXCEPTION(f.jobs.add(name, every, request, catch_up), system_error, refused);
  };
  add("", 1min, {.kind = "a"});
  add("a", 0s, {.kind = "a"});
  add("a", -1s, {.kind = "a"});
  add("a", 1500ms, {.kind = "a"});
  add("a", 1min, {});
  add("a", 1min, {.kind = "a", .run_at = wall_time()});
  add("a", 1min, {.kind = "a", .delay = -1s});
  add("a", 1min, {.kind = "a", .max_attempts = 0});
  add("a", 1min, {.kind = "a", .unique_key = "k"});
  add("a", 1min, {.kind = "a", .unique_for = 1s});
  add("a", 1min, {.kind = "a", .keep = -1s});
  add("a", 1min, {.kind = "a"}, -1s);
  add("a", 1min, {.kind = "a"}, 24h * 367);
  f.jobs.add("a", 1min, {.kind = "a"});
  add("a", 1h, {.kind = "a"});
  BOOST_CHECK_EXCEPTION(periodic_jobs(f.queue, {.clock_difference = -1s}), system_error, refused);
  BOOST_CHECK_EXCEPTION(periodic_jobs(f.queue, {.backoff = {.base = 0s}}), system_error, refused);

  f.start();
  add("b", 1min, {.kind = "a"});
  std::optional<error_code> second;
  f.jobs.async_run([&](const error_code& ec) { second = ec; });
  BOOST_TEST(!second);
  f.time.settle();
  BOOST_TEST((second == errc::invalid_argument));
  BOOST_TEST(!f.ended);
  f.end();
}

BOOST_AUTO_TEST_CASE(destroying_it_ends_the_run) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor());
  std::optional<error_code> ended;
  {
    periodic_jobs jobs(queue);
    jobs.add("beat", 1s, {.kind = "a"});
    jobs.async_run([&](const error_code& ec) { ended = ec; });
    time.run_for(5s);
    BOOST_TEST(!ended);
  }
  time.run();
  BOOST_TEST((ended == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(queue_and_object_may_go_while_a_job_is_being_enqueued) {
  weir::test::virtual_time time;
  std::optional<memory_queue> queue(std::in_place, time.get_executor());
  std::optional<error_code> ended;
  std::optional<periodic_jobs> jobs(std::in_place, *queue);
  jobs->add("beat", 1s, {.kind = "a"}, 1h);
  jobs->async_run([&](const error_code& ec) { ended = ec; });
  const auto since = wall_clock::now().time_since_epoch() % 1s;
  time.run_for(1s - since - 1ns);
  // From within the tick in which it fires: its request has been made and not answered.
  weir::steady_timer at_the_same_time(time.get_executor(), 1ns);
  at_the_same_time.async_wait([&](const error_code&) {
    jobs.reset();
    queue.reset();
  });
  time.run();
  BOOST_TEST((ended == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(report_of_a_deadlock_names_the_run) {
  weir::test::virtual_time time;
  memory_queue queue(time.get_executor());
  periodic_jobs jobs(queue, {.name = "crontab"});
  jobs.add("never", cron_schedule::parse("0 0 31 2 *"), {.kind = "a"});
  time.spawn("runner", jobs.async_run(asio::use_awaitable));
  time.run_for(1h);
  const weir::test::leak_check leaks(time);
  bool named = false;
  struct look : weir::detail::inspector {
    explicit look(bool& found) : named(found) {}
    void on_wait(const void*, std::string_view name, std::string_view what, weir::time_point,
                 const asio::any_io_executor&) override {
      named = named || (name == "crontab" && what == "periodic jobs run");
    }
    void on_hold(const void*, std::string_view, std::string_view, std::size_t) override {}
    bool& named;
  } to(named);
  weir::detail::inspectable::ask_all(to);
  BOOST_TEST(named);
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  memory_queue queue(threads.get_executor());
  std::promise<void> fired;
  bool first = true;
  periodic_jobs jobs(queue, {.on_firing = [&](const periodic_firing&) {
                       if (std::exchange(first, false)) fired.set_value();
                     }});
  jobs.add("beat", 1s, {.kind = "a"});
  auto run = jobs.async_run(asio::deferred);
  std::future<void> ended = std::move(run)(asio::use_future);
  fired.get_future().wait();  // at once: that of the second that has begun is made up for
  queue.close();
  const auto closed = [](const system_error& e) { return e.code() == errc::queue_closed; };
  BOOST_CHECK_EXCEPTION(ended.get(), system_error, closed);
  const auto body = [&]() -> asio::awaitable<void> {
    co_await jobs.async_run(asio::use_awaitable);
  };
  BOOST_CHECK_EXCEPTION(asio::co_spawn(threads, body, asio::use_future).get(), system_error,
                        closed);
  threads.join();
}

namespace {

/// Processes that come and go, and what they did.
struct world {
  simulation& sim;
  memory_queue queue{sim.get_executor()};
  duration beat = sim.draw().between(1, 3) * 20s;
  duration to_recover = {};
  std::set<wall_time> owed = {};
  std::map<wall_time, weir::job_id> fired = {};
};

/// One of them, which may die at any point.
asio::awaitable<void> process(world& w) {
  for (int life = 0; life < 2; ++life) {
    co_await sleep_for(w.sim.draw().between(0, 3) * 30s);
    const auto note = [&w](const periodic_firing& f) {
      if (!f.error) BOOST_TEST((w.fired.emplace(f.at, f.job.id).first->second == f.job.id));
    };
    periodic_jobs jobs(w.queue, {.on_firing = note, .seed = w.sim.seed()});
    jobs.add("beat", w.beat, {.kind = "a"});
    try {
      jobs.async_run([](const error_code&) {});
    } catch (const std::bad_alloc&) {
      continue;
    }
    const wall_time from = wall_clock::now();
    const int steps = w.sim.draw().between(0, 4);
    for (int i = 0; i < steps; ++i) {
      co_await sleep_for(30s);
      // Each time in which it was up. That of this very moment may be fired.
      const auto step = std::chrono::duration_cast<wall_clock::duration>(w.beat);
      const wall_time to = wall_clock::now() - w.to_recover;
      for (wall_time t((from.time_since_epoch() / step + 1) * step); t < to; t += step)
        w.owed.insert(t);
    }
  }
}

void each_time_is_fired_once(world w) {
  for (int i = 0; i < 3; ++i) w.sim.spawn(process(w));
  w.sim.run();
  for (const wall_time t : w.owed) BOOST_TEST_REQUIRE(w.fired.contains(t));
}

}  // namespace

WEIR_SIMULATION_TEST_CASE(each_time_in_which_a_process_is_up_is_fired_once, 500) {
  each_time_is_fired_once({.sim = sim});
}

BOOST_AUTO_TEST_CASE(so_it_is_where_processes_die_at_any_await) {
  weir::test::for_each_seed(500,
                            [](simulation& sim) {
                              BOOST_TEST_INFO_SCOPE("seed " << sim.seed());
                              const weir::test::leak_check leaks(sim);
                              each_time_is_fired_once({.sim = sim});
                            },
                            {.simulation = {.cancel = 0.05}});
}

BOOST_AUTO_TEST_CASE(so_it_is_where_memory_runs_out_now_and_then) {
  weir::test::for_each_seed(500,
                            [](simulation& sim) {
                              BOOST_TEST_INFO_SCOPE("seed " << sim.seed());
                              each_time_is_fired_once({.sim = sim, .to_recover = 5s});
                            },
                            {.simulation = {.fail_allocation = 0.02}});
}

BOOST_AUTO_TEST_SUITE_END()
