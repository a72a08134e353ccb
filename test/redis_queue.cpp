// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "queue_program.hpp"
#include "redis/address.hpp"
#include "redis/codec.hpp"
#include "redis_case.hpp"

#include <weir/redis_queue.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/queue_conformance.hpp>
#include <weir/test/wall_clock_step.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::use_awaitable;
using weir::enqueued;
using weir::errc;
using weir::error_code;
using weir::job_id;
using weir::lease;
using weir::redis_errc;
using weir_test::answer;
using weir_test::queue_client;
using weir_test::redis_case;
using weir_test::served_time;
using weir_test::shared_server;

BOOST_AUTO_TEST_SUITE(redis_queue)

namespace {

constexpr auto tuple = asio::as_tuple(use_awaitable);

}  // namespace

BOOST_AUTO_TEST_CASE(keeps_every_promise_of_a_queue) {
  for (const weir::test::queue_case& c : weir::test::queue_cases()) BOOST_TEST_CONTEXT(c.name) {
      served_time time;
      {
        weir::redis_queue queue(time.get_executor(), shared_server().url(), {.name = c.name});
        time.spawn(std::string(c.name), c.run(queue, 1s));
        BOOST_CHECK_NO_THROW(time.run());
      }
      time.settle();
    }
}

BOOST_AUTO_TEST_CASE(random_program_loses_no_job_and_runs_none_twice) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) BOOST_TEST_CONTEXT("seed " << seed) {
      redis_case f;
      weir::test::random draw(seed);
      weir_test::run_queue_program(f.time, draw, f.open());
    }
}

// ---- What is written where

BOOST_AUTO_TEST_CASE(addresses_are_read_and_wrong_ones_refused) {
  using weir::redis::address;
  using weir::redis::parse_address;
  struct row {
    std::string_view url;
    address expected;
  };
  const row good[] = {
      {"redis://localhost", {.host = "localhost"}},
      {"redis://h:7000/3", {.host = "h", .port = "7000", .database = "3"}},
      {"redis://h/", {.host = "h"}},
      {"redis://:secret@h", {.host = "h", .password = "secret"}},
      {"redis://u:p%40%3a:@h:1", {.host = "h", .port = "1", .user = "u", .password = "p@::"}},
      {"redis://u:p@x@h", {.host = "h", .user = "u", .password = "p@x"}},
      {"redis://[::1]:7000/0", {.host = "::1", .port = "7000", .database = "0"}},
      {"redis://[::1]", {.host = "::1"}},
      {"unix:///run/r.sock", {.path = "/run/r.sock"}},
      {"unix:///run/r%20s?db=2", {.path = "/run/r s", .database = "2"}},
      {"unix://u:p@/a@b", {.path = "/a@b", .user = "u", .password = "p"}},
  };
  for (const auto& [url, expected] : good) BOOST_TEST_CONTEXT(url) {
      const address got = parse_address(url);
      BOOST_TEST(got.host == expected.host);
      BOOST_TEST(got.port == expected.port);
      BOOST_TEST(got.path == expected.path);
      BOOST_TEST(got.user == expected.user);
      BOOST_TEST(got.password == expected.password);
      BOOST_TEST(got.database == expected.database);
    }
  const std::string too_long = "unix:///" + std::string(108, 'x');
  const std::vector<std::string_view> wrong{"",
                                            "http://h",
                                            "redis:/h",
                                            "redis://",
                                            "redis://h:x",
                                            "redis://h:70000",
                                            "redis://h/x",
                                            "redis://h/-1",
                                            "redis://u@h",
                                            "redis://[::1",
                                            "redis://[::1]x",
                                            "redis://%4@h",
                                            "unix://",
                                            "unix:///s?x=1",
                                            "unix:///s?db=x",
                                            "rediss://h",
                                            "redis://:%zz@h",
                                            "redis://h:",
                                            too_long};
  for (const std::string_view url : wrong)
    BOOST_CHECK_EXCEPTION(parse_address(url), boost::system::system_error, [&](const auto& e) {
      return e.code() == errc::invalid_argument &&
             (url.size() < 8 || std::string_view(e.what()).find(url) == std::string_view::npos);
    });
}

BOOST_AUTO_TEST_CASE(invalid_options_are_refused) {
  asio::io_context context;
  for (const weir::redis_queue_options& o :
       {weir::redis_queue_options{.name = ""}, weir::redis_queue_options{.name = "a}b"},
        weir::redis_queue_options{.timeout = 0s}, weir::redis_queue_options{.connect_timeout = 0s},
        weir::redis_queue_options{.answer_timeout = 0s}, weir::redis_queue_options{.poll = 0s}})
    BOOST_CHECK_EXCEPTION(weir::redis_queue(context.get_executor(), "redis://h", o),
                          boost::system::system_error,
                          [](const auto& e) { return e.code() == errc::invalid_argument; });
}

BOOST_AUTO_TEST_CASE(headers_are_what_they_were) {
  using headers = std::vector<weir::job_header>;
  for (const headers& h : {headers{}, headers{{"", ""}}, headers{{"a", "1:,"}, {"\0,", "x:3"}}}) {
    headers got;
    BOOST_TEST(weir::redis::decode_headers(weir::redis::encode_headers(h), got));
    BOOST_TEST((got == h));
  }
  for (const std::string_view text : {"1", "1:", "1:a", "1:a,", "1:a,1:b", "9:a,1:b,", "x:a,1:b,",
                                      "-1:,0:,", "99999999999999999999:a,0:,", "1:ab1:b,"}) {
    headers got;
    BOOST_TEST(!weir::redis::decode_headers(text, got), text);
  }
}

BOOST_AUTO_TEST_CASE(errors_have_names) {
  using weir::redis::answers_awaited;
  const error_code ec = redis_errc::outcome_unknown;
  BOOST_TEST(std::string_view(ec.category().name()) == "weir.redis");
  for (int i = 1; i <= static_cast<int>(redis_errc::server_error); ++i)
    BOOST_TEST(error_code(i, weir::redis_category()).message() != "unknown weir.redis error");
}

BOOST_FIXTURE_TEST_CASE(all_keys_are_in_one_slot_and_none_is_left_when_all_is_done, redis_case) {
  queue_client client(time, open());
  client.add({.kind = "a", .unique_key = "u"});
  client.add({.kind = "b", .delay = 1s});
  time.run_for(2s);
  for (const lease& l : client.take({.max = 5, .lease_for = 1h})) client.ack(l.key);
  std::set<std::string> kept;
  for (const char* of : {"ids", "tokens", "version", "leases", "answers:"}) kept.insert(key(of));
  const std::string left =
      run({"EVAL",
           "local left = '' for _, k in ipairs(redis.call('KEYS', ARGV[1])) do "
           "left = left .. k:gsub('answers:.*', 'answers:') .. '\\n' end "
           "return left",
           "0", "weir:{" + name + "}*"});
  std::size_t lines = 0;
  for (std::size_t at = 0; at < left.size(); at = left.find('\n', at) + 1, ++lines)
    BOOST_TEST(kept.contains(left.substr(at, left.find('\n', at) - at)), left);
  BOOST_TEST(lines == kept.size());
  BOOST_TEST(run({"XLEN", key("leases")}) == "0");
}

BOOST_FIXTURE_TEST_CASE(who_holds_what_can_be_seen_in_the_consumer_group, redis_case) {
  queue_client client(time, open());
  client.add({.kind = "a"});
  const auto leases = client.take({.lease_for = 1h});
  BOOST_TEST_REQUIRE(leases.size() == 1U);
  BOOST_TEST(run({"XPENDING", key("leases"), "weir", "-", "+", "10"}) ==
             std::to_string(leases[0].key.token) + "-0");
  BOOST_TEST(!client.ack(leases[0].key));
  BOOST_TEST(run({"XPENDING", key("leases"), "weir"}) == "0");
}

BOOST_FIXTURE_TEST_CASE(lease_takes_as_many_commands_whatever_waits_behind, redis_case) {
  queue_client client(time, open());
  const auto commands_of_a_lease = [&] {
    const auto count = [&] {
      const std::string all = run({"INFO", "commandstats"});
      std::size_t calls = 0;
      for (auto at = all.find("calls="); at != std::string::npos; at = all.find("calls=", at + 1))
        calls += std::stoul(all.substr(at + 6));
      return calls;
    };
    const std::size_t before = count();
    BOOST_TEST(client.take({.lease_for = 1h}).size() == 1U);
    return count() - before;
  };
  const std::vector<weir::job_request> few(10, {.kind = "a"});
  const std::vector<weir::job_request> many(5000, {.kind = "a"});
  client.add_all(few);
  commands_of_a_lease();
  const std::size_t expected = commands_of_a_lease();
  client.add_all(many);
  client.take({.lease_for = 1h});
  BOOST_TEST(commands_of_a_lease() <= expected + 2);  // the barriers of the clock
}

BOOST_FIXTURE_TEST_CASE(request_that_is_too_large_is_refused, redis_case) {
  queue_client client(time, open());
  const std::vector<weir::job_request> many(100'000, {.kind = "a"});
  client.add_all(many);
  BOOST_TEST(client.error == errc::invalid_argument);
  client.add({.kind = "a"});
  BOOST_TEST(!client.error);
}

// ---- Who waits

BOOST_FIXTURE_TEST_CASE(waiting_client_is_woken_by_another_and_does_not_poll, redis_case) {
  const weir::redis_queue_options never{.poll = 1h};
  weir::redis_queue& here = open(shared_server().url(), never);
  weir::redis_queue& there = open(shared_server().url(), never);
  answer<std::vector<lease>> won;
  static constexpr std::array<std::string_view, 1> kinds{"b"};
  here.async_lease({.wait = 24h, .kinds = kinds}, won.handler());
  time.run_for(10min);
  queue_client producer(time, there);
  producer.add({.kind = "a"});
  time.settle();
  BOOST_TEST(!won.code);
  producer.add({.kind = "b", .delay = 5s});
  time.run_for(6s);
  BOOST_TEST((won.code && !*won.code && won.value.size() == 1));
}

BOOST_FIXTURE_TEST_CASE(word_for_one_who_has_gone_goes_to_the_next, redis_case) {
  const weir::redis_queue_options never{.poll = 1h};
  queue_client producer(time, open());
  // As processes that died: they have said that they wait, and hear nothing any more.
  for (const char* who : {"dead", "gone"}) run({"ZADD", key("waiting:"), "1", who});
  run({"ZADD", key("waiting:a"), "1", "buried"});
  answer<std::vector<lease>> won;
  open(shared_server().url(), never).async_lease({.wait = 24h}, won.handler());
  time.settle();
  producer.add({.kind = "a"});
  BOOST_TEST((won.code && won.value.size() == 1));
}

BOOST_FIXTURE_TEST_CASE(client_that_lost_its_ear_looks_for_itself, redis_case) {
  answer<std::vector<lease>> won;
  open(shared_server().url(), {.poll = 1h}).async_lease({.wait = 24h}, won.handler());
  time.settle();
  run({"CLIENT", "KILL", "TYPE", "pubsub"});
  queue_client(time, open()).add({.kind = "a"});
  BOOST_TEST(!won.code);
  time.run_for(1s);
  BOOST_TEST((won.code && won.value.size() == 1));
}

BOOST_FIXTURE_TEST_CASE(word_that_nobody_needs_is_passed_on, redis_case) {
  const weir::redis_queue_options never{.poll = 1h};
  weir::redis_queue& first = open(shared_server().url(), never);
  weir::redis_queue& second = open(shared_server().url(), never);
  asio::cancellation_signal signal;
  std::optional<error_code> ended;
  first.async_lease({.wait = 1h}, asio::bind_cancellation_slot(
                                      signal.slot(), [&](error_code ec, auto) { ended = ec; }));
  time.run_for(1s);  // so that it is the first
  answer<std::vector<lease>> won;
  second.async_lease({.wait = 1h}, won.handler());
  time.settle();
  signal.emit(asio::cancellation_type::total);
  time.settle();
  BOOST_TEST((ended == asio::error::operation_aborted));
  queue_client producer(time, open());
  producer.add({.kind = "a"});  // the server still thinks that the first one waits
  time.settle();
  BOOST_TEST((won.code && won.value.size() == 1));
}

BOOST_FIXTURE_TEST_CASE(two_clients_race_and_each_job_is_leased_once, redis_case) {
  std::set<job_id> seen;
  int leased = 0;
  const auto worker = [&](weir::task_queue& queue) -> asio::awaitable<void> {
    for (;;) {
      const auto leases = co_await queue.async_lease({.max = 3, .lease_for = 1h}, use_awaitable);
      if (leases.empty()) co_return;
      for (const lease& l : leases) seen.insert(l.key.id), ++leased;
    }
  };
  const std::vector<weir::job_request> jobs(200, {.kind = "a"});
  queue_client(time, open()).add_all(jobs);
  for (int i = 0; i < 2; ++i)
    for (weir::redis_queue* q : {queues[0].get(), &open()}) time.spawn("worker", worker(*q));
  time.run();
  BOOST_TEST(leased == 200);
  BOOST_TEST(seen.size() == 200U);
}

BOOST_FIXTURE_TEST_CASE(lease_that_ran_out_is_taken_by_another_client_and_the_old_ack_refused,
                        redis_case) {
  queue_client slow(time, open());
  queue_client other(time, open());
  slow.add({.kind = "a"});
  const auto old = slow.take({.lease_for = 1s});
  time.run_for(2s);
  const auto taken = other.take({.lease_for = 1h});
  BOOST_TEST_REQUIRE(taken.size() == 1U);
  BOOST_TEST(slow.ack(old.at(0).key) == errc::lease_lost);
  BOOST_TEST(!other.ack(taken[0].key));
}

// ---- What is damaged

BOOST_FIXTURE_TEST_CASE(job_that_cannot_be_read_becomes_a_dead_letter_and_blocks_nobody,
                        redis_case) {
  queue_client client(time, open());
  const std::vector<std::vector<std::string>> damages{
      {"HSET", "", "attempt", "many"},      {"HSET", "", "priority", "1.5"},
      {"HSET", "", "headers", "3:a"},       {"HSET", "", "max_attempts", "99999999999"},
      {"HSET", "", "run_at", "nan"},        {"HSET", "", "kind", ""},
      {"HDEL", "", "max_attempts"},         {"HSET", "", "keep", "-5"},
      {"HSET", "", "headers", "5:abc,1:,"}, {"HDEL", "", "priority"}};
  std::size_t dead = 0;
  for (const auto& how : damages) BOOST_TEST_CONTEXT(how[0] << ' ' << how[2]) {
      const job_id bad = client.add({.kind = "a", .payload = "the payload", .unique_key = "u"}).id;
      const job_id good = client.add({.kind = "a"}).id;
      auto damage = how;
      damage[1] = key("job:" + std::to_string(bad));
      run(damage);
      const auto leases = client.take({.max = 2, .lease_for = 1h});
      BOOST_TEST_REQUIRE(leases.size() == 1U);
      BOOST_TEST(leases[0].key.id == good);
      BOOST_TEST(!client.ack(leases[0].key));
      const auto found = client.find(bad);
      BOOST_TEST_REQUIRE(found.has_value());
      BOOST_TEST((found->state == weir::job_state::dead));
      BOOST_TEST(found->reason == "it cannot be read");
      BOOST_TEST(found->job.payload == "the payload");
      BOOST_TEST(client.dead().size() == ++dead);
    }
  // Nor those that come due, or whose lease runs out, or of which nothing is left.
  const job_id scheduled = client.add({.kind = "a", .delay = 1s}).id;
  const job_id leased = client.add({.kind = "a"}).id;
  client.take({.lease_for = 1s});
  const job_id gone = client.add({.kind = "a"}).id;
  const job_id other = client.add({.kind = "a"}).id;
  run({"HSET", key("job:" + std::to_string(scheduled)), "run_at", "?"});
  run({"HSET", key("job:" + std::to_string(leased)), "attempt", "?"});
  run({"DEL", key("job:" + std::to_string(gone))});
  time.run_for(2s);
  const auto leases = client.take({.max = 9, .lease_for = 1h});
  BOOST_TEST_REQUIRE(leases.size() == 1U);
  BOOST_TEST(leases[0].key.id == other);
  BOOST_TEST(client.dead().size() == dead + 2);
  BOOST_TEST(client.stats().dead == dead + 2);
}

BOOST_FIXTURE_TEST_CASE(clock_of_the_server_set_by_an_hour_loses_nothing, redis_case) {
  queue_client client(time, open());
  client.add({.kind = "a"});
  client.add({.kind = "b", .delay = 30min});
  const auto held = client.take({.lease_for = 1min});
  {
    const weir::test::wall_clock_step ahead(1h);
    // All leases have run out, and what is due within the hour is due.
    const auto leases = client.take({.max = 5, .lease_for = 1min});
    BOOST_TEST(leases.size() == 2U);
    BOOST_TEST(client.ack(held.at(0).key) == errc::lease_lost);
    for (const lease& l : leases) BOOST_TEST(!client.ack(l.key));
  }
  client.add({.kind = "a"});
  const auto late = client.take({.lease_for = 1min});
  const weir::test::wall_clock_step back(-1h);
  BOOST_TEST(client.take().empty());
  BOOST_TEST(!client.ack(late.at(0).key));
}

// ---- From beginning to end

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  {
    weir::redis_queue queue(threads.get_executor(), shared_server().url(), {.name = "tokens"});
    const enqueued e = queue.async_enqueue({.kind = "a"}, asio::use_future).get();
    auto deferred = queue.async_lease({.max = 3, .lease_for = 30s}, asio::deferred);
    const auto before = weir::steady_clock::now();
    const auto got = std::move(deferred)(asio::use_future).get();
    BOOST_TEST_REQUIRE(got.size() == 1U);
    BOOST_TEST(got[0].key.id == e.id);
    // On the clock of the server, which is that of this machine.
    BOOST_TEST((got[0].until >= before + 30s && got[0].until <= weir::steady_clock::now() + 30s));
    BOOST_TEST((got[0].job.run_at > weir::wall_clock::now() - 1min));
    BOOST_TEST((got[0].job.run_at < weir::wall_clock::now() + 1min));
    const auto body = [&]() -> asio::awaitable<error_code> {
      auto [ec] = co_await queue.async_ack(got[0].key, tuple);
      co_return ec;
    };
    BOOST_TEST(!asio::co_spawn(threads, body, asio::use_future).get());
  }
  threads.join();
}

BOOST_FIXTURE_TEST_CASE(request_that_has_not_been_sent_is_cancelled_by_every_type, redis_case) {
  weir::redis_queue& queue = open("unix:///nowhere/at/all");
  const std::array ids{job_id{1}};
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    std::array<asio::cancellation_signal, 10> signals;
    std::array<std::optional<error_code>, 10> ended;
    std::size_t next = 0;
    const auto handler = [&] {
      const auto i = next++;
      return asio::bind_cancellation_slot(signals[i].slot(),
                                          [&ended, i](error_code ec, auto&&...) { ended[i] = ec; });
    };
    queue.async_enqueue({.kind = "a"}, handler());
    queue.async_enqueue(std::span<const weir::job_request>(), handler());
    queue.async_lease({.wait = 1h}, handler());
    queue.async_ack({1, 1}, handler());
    queue.async_extend({1, 1}, 1s, handler());
    queue.async_cancel(1, handler());
    queue.async_find(1, handler());
    queue.async_stats(handler());
    queue.async_dead_letters(0, 1, handler());
    queue.async_purge(ids, handler());
    time.settle();
    for (std::size_t i = 0; i != next; ++i) {
      BOOST_TEST(!ended[i]);
      signals[i].emit(type);
    }
    time.settle();
    for (std::size_t i = 0; i != next; ++i)
      BOOST_TEST((ended[i] == asio::error::operation_aborted), i);
  }
}

BOOST_FIXTURE_TEST_CASE(lease_that_is_cancelled_when_it_is_won_goes_back, redis_case) {
  weir::redis_queue& queue = open();
  queue_client client(time, queue);
  client.add({.kind = "a", .max_attempts = 1});
  asio::cancellation_signal signal;
  std::optional<error_code> ended;
  queue.async_lease({.lease_for = 1h},
                    asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, auto leases) {
                      ended = ec;
                      BOOST_TEST(leases.empty());
                    }));
  signal.emit(asio::cancellation_type::terminal);
  time.settle();
  BOOST_TEST((ended == asio::error::operation_aborted));
  BOOST_TEST(client.take().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(what_was_accepted_is_carried_out_after_close, redis_case) {
  weir::redis_queue& queue = open();
  std::array<answer<enqueued>, 5> added;
  for (auto& a : added) queue.async_enqueue({.kind = "a"}, a.handler());
  queues.clear();
  time.settle();
  for (auto& a : added) BOOST_TEST((a.code && !*a.code));
  BOOST_TEST(weir::redis::answers_awaited == 0);
  // And then it keeps its context from nothing.
  BOOST_TEST(time.context().run() == 0U);
  BOOST_TEST(queue_client(time, open()).stats().ready == 5U);
}

BOOST_FIXTURE_TEST_CASE(closed_in_every_state_it_ends, redis_case) {
  for (const std::string& url : {shared_server().url(), std::string("unix:///nowhere/at/all"),
                                 std::string("redis://127.0.0.1:1")})
    for (int state = 0; state < 6; ++state) BOOST_TEST_CONTEXT(url << ", state " << state) {
        weir::redis_queue& queue = open(url);
        answer<std::vector<lease>> won;
        answer<enqueued> added;
        if (state >= 1) queue.async_lease({.wait = 1h}, won.handler());
        for (int steps = 0; steps < (state - 1) * 7; ++steps) time.context().poll_one();
        if (state >= 4) time.settle();
        if (state == 5) queue.async_enqueue({.kind = "a"}, added.handler());
        queue.close();
        queue.close();
        for (int i = 0; i != 200 && state >= 1 && !won.code; ++i) time.run_for(100ms);
        queues.pop_back();
        time.run_for(15s);
        if (state >= 1) BOOST_TEST(won.code.has_value());
        if (state == 5) BOOST_TEST(added.code.has_value());
        BOOST_TEST(weir::redis::answers_awaited == 0);
        queue_client(time, open()).take({.max = 9});
      }
}

BOOST_AUTO_TEST_CASE(context_that_ends_first_takes_all_with_it) {
  for (int state = 0; state < 5; ++state) {
    auto f = std::make_unique<redis_case>();
    weir::redis_queue& queue = f->open();
    auto held = std::make_shared<int>();
    queue.async_lease({.wait = 1h}, [held](auto&&...) {});
    if (state >= 1) f->time.settle();
    if (state >= 2) queue.async_enqueue({.kind = "a"}, [held](auto&&...) {});
    for (int steps = 0; steps < state * 2; ++steps) f->time.context().poll_one();
    f->destroyed = true;
    f->queues.clear();
    f->time.destroy_context();
    f.reset();
    BOOST_TEST(held.use_count() == 1, state);
  }
  BOOST_TEST(weir::redis::answers_awaited == 0);
}

BOOST_AUTO_TEST_SUITE_END()
