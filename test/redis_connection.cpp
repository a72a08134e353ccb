// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/scripts.hpp"
#include "redis_case.hpp"

#include <weir/redis_queue.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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
using weir_test::redis_proxy;
using weir_test::shared_server;
using weir_test::stubborn_server;

BOOST_AUTO_TEST_SUITE(redis_connection)

namespace {

/// A queue behind something that may fail.
struct behind_proxy : redis_case {
  std::optional<redis_proxy> proxy{std::in_place, time.context(), shared_server().socket()};
  weir::redis_queue& queue = open(proxy->url());
  queue_client client{time, queue};

  ~behind_proxy() {
    queues.clear();
    time.settle();
    proxy->stop();
    time.settle();
  }

  /// Sends a request that is carried out and whose answer is lost with the connection.
  template <typename T, typename F>
  T with_lost_answer(F start) {
    answer<T> a;
    time.silence = 30ms;
    proxy->from_server = false;
    start(a.handler());
    time.settle();
    BOOST_TEST_REQUIRE(!a.code);
    proxy->cut();
    proxy->from_server = true;
    for (int i = 0; i != 100 && !a.code; ++i) time.run_for(100ms);
    time.silence = 0ms;
    BOOST_TEST_REQUIRE((a.code && !*a.code));
    return std::move(a.value);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(request_whose_answer_is_lost_is_carried_out_once, behind_proxy) {
  client.stats();  // it is connected
  const auto added = with_lost_answer<enqueued>(
      [&](auto h) { queue.async_enqueue({.kind = "a", .max_attempts = 2}, std::move(h)); });
  BOOST_TEST(client.stats().ready == 1U);
  const auto leases = with_lost_answer<std::vector<lease>>(
      [&](auto h) { queue.async_lease({.max = 2, .lease_for = 1h}, std::move(h)); });
  BOOST_TEST_REQUIRE(leases.size() == 1U);
  BOOST_TEST(leases[0].key.id == added.id);
  BOOST_TEST(leases[0].job.attempt == 1);
  BOOST_TEST((leases[0].until <= time.now() + 1h));
  struct none {};
  with_lost_answer<none>([&](auto h) {
    queue.async_nack(leases[0].key, {}, [h](error_code ec) mutable { h(ec, none()); });
  });
  BOOST_TEST(client.find(added.id)->job.attempt == 1);
  const auto again = client.take({.lease_for = 1h});
  with_lost_answer<none>([&](auto h) {
    queue.async_nack(again.at(0).key, {}, [h](error_code ec) mutable { h(ec, none()); });
  });
  const std::array ids{added.id};
  BOOST_TEST(
      with_lost_answer<std::size_t>([&](auto h) { queue.async_requeue(ids, std::move(h)); }) == 1U);
  const auto last = client.take({.lease_for = 1h});
  with_lost_answer<none>([&](auto h) {
    queue.async_ack(last.at(0).key, [h](error_code ec) mutable { h(ec, none()); });
  });
  const job_id other = client.add({.kind = "a"}).id;
  BOOST_TEST(with_lost_answer<bool>([&](auto h) { queue.async_cancel(other, std::move(h)); }));
  BOOST_TEST((client.stats().ready + client.stats().leased + client.stats().dead) == 0U);
}

BOOST_FIXTURE_TEST_CASE(connections_killed_under_load_lose_and_double_nothing, redis_case) {
  weir::redis_queue& queue = open();
  constexpr int jobs = 200;
  std::set<job_id> ids;
  const auto produce = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < jobs / 4; ++i)
      ids.insert((co_await queue.async_enqueue({.kind = "a"}, use_awaitable)).id);
  };
  const auto kill = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 5; ++j) co_await queue.async_stats(use_awaitable);
      run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
  };
  for (int i = 0; i < 4; ++i) time.spawn("producer", produce);
  time.spawn("killer", kill);
  time.run();
  BOOST_TEST(ids.size() == std::size_t{jobs});
  BOOST_TEST(queue_client(time, open()).stats().ready == std::size_t{jobs});
}

BOOST_FIXTURE_TEST_CASE(half_open_connection_is_noticed_and_made_anew, behind_proxy) {
  client.stats();
  BOOST_TEST(proxy->connections == 1);
  proxy->to_server = false;  // and no word of it
  time.silence = 30ms;
  answer<enqueued> a;
  queue.async_enqueue({.kind = "a"}, a.handler());
  time.run_for(2900ms);
  BOOST_TEST(!a.code);
  proxy->to_server = true;
  time.run_for(1s);
  BOOST_TEST((a.code && !*a.code));
  BOOST_TEST(proxy->connections == 2);
  time.silence = 0ms;
  BOOST_TEST(client.stats().ready == 1U);
}

BOOST_FIXTURE_TEST_CASE(request_that_was_given_up_is_not_done_when_it_arrives_at_last, redis_case) {
  // What a connection that was given up still had in its buffers comes behind what was sent again.
  queue_client client(time, open());
  for (int i = 0; i < 3; ++i) client.add({.kind = "a"});
  const std::string slot = run({"EVAL",
                                "local k = redis.call('KEYS', ARGV[1])[1]"
                                "return k .. ' ' .. redis.call('HGETALL', k)[2]:match('%d+')",
                                "0", key("answers:*")});
  const auto gap = slot.rfind(' ');
  const std::string who = slot.substr(key("answers:").size(), gap - key("answers:").size());
  const int number = std::stoi(slot.substr(gap + 1));
  for (const int late : {number, number - 1})
    run({"EVAL", std::string(weir::redis::text_of(weir::redis::script::enqueue)),
         "1",    key(""),
         "",     who,
         "0",    std::to_string(late),
         "1000", "a",
         "",     "",
         "0",    "0",
         "0",    "1",
         "",     "0",
         "0",    ""});
  BOOST_TEST(client.stats().ready == 3U);
}

BOOST_FIXTURE_TEST_CASE(server_that_is_not_there_is_unreachable_in_the_time, redis_case) {
  for (const std::string url : {"unix:///nowhere/at/all", "redis://127.0.0.1:1"}) {
    weir::redis_queue& queue = open(url, {.timeout = 5s});
    const auto start = time.now();
    BOOST_TEST(enqueue_error(queue) == redis_errc::unreachable);
    BOOST_TEST((time.now() - start >= 5s && time.now() - start < 6s));
    error_code ec;
    wait_for<std::vector<lease>>(ec,
                                 [&](auto h) { queue.async_lease({.wait = 1h}, std::move(h)); });
    BOOST_TEST(ec == redis_errc::unreachable);
  }
}

BOOST_FIXTURE_TEST_CASE(outcome_that_cannot_be_learnt_is_said_to_be_unknown, behind_proxy) {
  client.stats();
  proxy->from_server = false;
  time.silence = 30ms;
  answer<enqueued> change;
  answer<weir::queue_stats> question;
  queue.async_enqueue({.kind = "a"}, change.handler());
  queue.async_stats(question.handler());
  time.settle();
  proxy->stop();
  time.run_for(15s);
  BOOST_TEST((change.code == redis_errc::outcome_unknown));
  BOOST_TEST((question.code == redis_errc::unreachable));
}

BOOST_FIXTURE_TEST_CASE(refusal_of_what_was_sent_before_is_no_word_on_the_first_time,
                        behind_proxy) {
  client.stats();
  proxy->from_server = false;
  time.silence = 30ms;
  answer<enqueued> a;
  queue.async_enqueue({.kind = "a"}, a.handler());
  time.settle();
  run({"CONFIG", "SET", "maxmemory", "1"});
  proxy->cut();
  proxy->from_server = true;
  time.run_for(1s);
  run({"CONFIG", "SET", "maxmemory", "0"});
  time.silence = 0ms;
  BOOST_TEST((a.code == redis_errc::outcome_unknown));
  BOOST_TEST(client.stats().ready == 1U);
}

BOOST_FIXTURE_TEST_CASE(those_who_wait_sit_out_a_loss_of_the_server, behind_proxy) {
  answer<std::vector<lease>> won;
  queue.async_lease({.wait = 1h}, won.handler());
  time.settle();
  for (int i = 0; i < 3; ++i) {
    proxy->cut();
    time.silence = 30ms;
    time.run_for(20s);
    BOOST_TEST(!won.code);
  }
  time.silence = 0ms;
  queue_client(time, open()).add({.kind = "a"});
  time.settle();
  BOOST_TEST((won.code && won.value.size() == 1));
}

// ---- What a server refuses

BOOST_FIXTURE_TEST_CASE(replica_is_waited_for_and_then_named, redis_case) {
  weir::redis_queue& queue = open();
  BOOST_TEST(!enqueue_error(queue));
  run({"REPLICAOF", "127.0.0.1", "1"});
  BOOST_TEST(enqueue_error(queue) == redis_errc::read_only);
  answer<enqueued> a;
  queue.async_enqueue({.kind = "a"}, a.handler());
  time.run_for(3s);
  BOOST_TEST(!a.code);
  run({"REPLICAOF", "NO", "ONE"});
  time.run_for(5s);
  BOOST_TEST((a.code && !*a.code));
  BOOST_TEST(queue_client(time, queue).stats().ready == 2U);
}

BOOST_FIXTURE_TEST_CASE(server_that_loads_or_is_busy_is_waited_for_and_then_named, redis_case) {
  for (const auto& [text, expected] :
       {std::pair{"-LOADING Redis is loading the dataset in memory\r\n", redis_errc::loading},
        {"-BUSY Redis is busy running a script\r\n", redis_errc::busy},
        {"-MISCONF Redis is configured to save\r\n", redis_errc::cannot_save}}) {
    stubborn_server server(time.context(), text);
    weir::redis_queue& queue = open(server.url());
    const auto start = time.now();
    BOOST_TEST(enqueue_error(queue) == expected);
    BOOST_TEST((time.now() - start >= 10s));
    // It backs off: with a ceiling of two seconds, not as fast as it can.
    BOOST_TEST(server.asked >= 5);
    BOOST_TEST(server.asked <= 60);
    queues.clear();
    time.settle();
  }
}

BOOST_FIXTURE_TEST_CASE(server_that_hangs_up_after_each_answer_is_unreachable, redis_case) {
  // So that the next request meets a broken pipe, while hiredis is in the middle of the answer.
  stubborn_server server(time.context(), "$1\r\nx\r\n", true);
  weir::redis_queue& queue = open(server.url());
  BOOST_TEST(enqueue_error(queue) == redis_errc::unreachable);
  BOOST_TEST(server.asked >= 5);
  queues.clear();
  time.settle();
}

BOOST_FIXTURE_TEST_CASE(what_cannot_become_better_is_said_at_once, redis_case) {
  const auto start = time.now();
  stubborn_server nonsense(time.context(), "+OK\r\n");
  BOOST_TEST(enqueue_error(open(nonsense.url())) == redis_errc::bad_answer);
  BOOST_TEST(enqueue_error(open(shared_server().url() + "?db=99")) == redis_errc::no_such_database);
  run({"SET", key("version"), "2"});
  BOOST_TEST(enqueue_error(open()) == redis_errc::wrong_version);
  run({"DEL", key("version")});
  run({"CONFIG", "SET", "requirepass", "secret"});
  const std::string path = shared_server().socket();
  BOOST_TEST(enqueue_error(open()) == redis_errc::access_denied);
  BOOST_TEST(enqueue_error(open("unix://:wrong@" + path)) == redis_errc::access_denied);
  BOOST_TEST(enqueue_error(open("unix://nobody:secret@" + path)) == redis_errc::access_denied);
  weir::redis_queue& right = open("unix://:secret@" + path + "?db=3");
  BOOST_TEST(!enqueue_error(right));
  answer<std::vector<lease>> won;  // the other connection too
  right.async_lease({.wait = 1h, .lease_for = 1h}, won.handler());
  time.settle();
  BOOST_TEST((won.code && won.value.size() == 1));
  run({"CONFIG", "SET", "requirepass", ""});
  BOOST_TEST((time.now() - start < 2s));
  BOOST_TEST(queue_client(time, open()).stats().leased == 0U);  // that was another database
}

BOOST_FIXTURE_TEST_CASE(server_without_memory_takes_no_jobs_but_every_report, redis_case) {
  queue_client client(time, open());
  for (int i = 0; i < 3; ++i) client.add({.kind = "a"});
  run({"CONFIG", "SET", "maxmemory", "1"});
  client.add({.kind = "a"});
  BOOST_TEST(client.error == errc::queue_full);
  const auto leases = client.take({.max = 3, .lease_for = 1h});
  BOOST_TEST_REQUIRE(leases.size() == 3U);
  BOOST_TEST(!client.ack(leases[0].key));
  BOOST_TEST(!client.release(leases[1].key));
  BOOST_TEST(!client.nack(leases[2].key, {.dead = true}));
  // Nor is a connection that is made now in the way.
  BOOST_TEST(queue_client(time, open()).take({.lease_for = 1h}).size() == 1U);
  run({"CONFIG", "SET", "maxmemory", "0"});
  client.add({.kind = "a"});
  BOOST_TEST(!client.error);
}

BOOST_FIXTURE_TEST_CASE(scripts_and_data_that_are_flushed_are_no_harm, redis_case) {
  queue_client client(time, open());
  client.add({.kind = "a"});
  run({"SCRIPT", "FLUSH"});
  std::array<answer<enqueued>, 20> added;
  for (auto& a : added) queues[0]->async_enqueue({.kind = "a"}, a.handler());
  time.settle();
  for (auto& a : added) BOOST_TEST_REQUIRE((a.code && !*a.code));
  BOOST_TEST(client.stats().ready == 21U);
  const auto before = client.take();
  run({"FLUSHDB"});
  BOOST_TEST(client.ack(before.at(0).key) == errc::lease_lost);
  client.add({.kind = "a"});
  const auto leases = client.take();
  BOOST_TEST_REQUIRE(leases.size() == 1U);
  BOOST_TEST(!client.ack(leases[0].key));
}

BOOST_AUTO_TEST_SUITE_END()
