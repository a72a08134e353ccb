// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// What the pool says is what the client is told.

#include "fixture.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace gateway::test {

namespace {

constexpr const char* long_sleep = "/work/sleep?ms=60000";

}  // namespace

BOOST_FIXTURE_TEST_SUITE(admission, fixture)

BOOST_AUTO_TEST_CASE(user_cap_gives_429_with_retry_after) {
  options.pool.max_per_user = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    client first(f);
    co_await first.connect();
    co_await first.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });

    const response second = co_await ask(f, post("/work/sleep?ms=0", "ada"));
    BOOST_TEST(second.result_int() == 429U);
    BOOST_TEST(second.count(http::field::retry_after) == 1U);
    const response other_user = co_await ask(f, post("/work/sleep?ms=0", "ben"));
    BOOST_TEST(other_user.result_int() == 200U);
    BOOST_TEST(f.told("ada").limited == 1U);
    first.close();
  });
}

BOOST_AUTO_TEST_CASE(cap_of_a_tenant_gives_429_to_each_of_its_users) {
  options.pool.max_per_tenant = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    client first(f);
    co_await first.connect();
    co_await first.send(post(long_sleep, "acme/ada"));
    co_await f.until([&] { return f.metrics().active == 1; });

    const response second = co_await ask(f, post("/work/sleep?ms=0", "acme/ben"));
    BOOST_TEST(second.result_int() == 429U);
    BOOST_TEST(second.count(http::field::retry_after) == 1U);
    const response other_tenant = co_await ask(f, post("/work/sleep?ms=0", "initech/ada"));
    BOOST_TEST(other_tenant.result_int() == 200U);
    BOOST_TEST(f.metrics().rejected.tenant_limit == 1U);
    first.close();
  });
}

BOOST_AUTO_TEST_CASE(users_share_of_the_queue_gives_429_while_there_is_room_for_others) {
  options.pool.workers = 1;
  options.pool.max_per_user = 0;
  options.pool.max_queued_per_user = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    client running(f);
    co_await running.connect();
    co_await running.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    client queued(f);
    co_await queued.connect();
    co_await queued.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().queued == 1; });

    const response third = co_await ask(f, post("/work/sleep?ms=0", "ada"));
    BOOST_TEST(third.result_int() == 429U);
    client other(f);
    co_await other.connect();
    co_await other.send(post("/work/sleep?ms=0", "ben"));
    co_await f.until([&] { return f.metrics().queued == 2; });
    running.close();
    queued.close();
    const response r = co_await other.receive();
    BOOST_TEST(r.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(full_queue_gives_503_with_retry_after) {
  options.pool.workers = 1;
  options.pool.queue_size = 2;  // one of them is kept for the next job
  options.pool.max_per_user = 0;
  run([](fixture& f) -> asio::awaitable<void> {
    client running(f);
    co_await running.connect();
    co_await running.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    client queued(f);
    co_await queued.connect();
    co_await queued.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().queued == 1; });

    const response third = co_await ask(f, post("/work/sleep?ms=0", "ben"));
    BOOST_TEST(third.result_int() == 503U);
    BOOST_TEST(third.count(http::field::retry_after) == 1U);
    BOOST_TEST(f.told("ben").unavailable == 1U);
    running.close();
    queued.close();
  });
}

BOOST_AUTO_TEST_CASE(deadline_of_the_gateway_gives_504) {
  options.pool.task_timeout = 20ms;
  run([](fixture& f) -> asio::awaitable<void> {
    const response r = co_await ask(f, post(long_sleep, "ada"));
    BOOST_TEST(r.result_int() == 504U);
    BOOST_TEST(f.told("ada").timed_out == 1U);
    // The answer may come ahead of the end of the task.
    co_await f.until([&] { return f.metrics().timed_out == 1; });
  });
}

BOOST_AUTO_TEST_CASE(deadline_of_the_client_gives_504) {
  run([](fixture& f) -> asio::awaitable<void> {
    const response r = co_await ask(f, post(long_sleep, "ada", "", "X-Timeout-Ms: 20\r\n"));
    BOOST_TEST(r.result_int() == 504U);
  });
}

BOOST_AUTO_TEST_CASE(client_cannot_have_more_time_than_the_gateway_gives) {
  options.pool.task_timeout = 20ms;
  run([](fixture& f) -> asio::awaitable<void> {
    const response r = co_await ask(f, post(long_sleep, "ada", "", "X-Timeout-Ms: 3600000\r\n"));
    BOOST_TEST(r.result_int() == 504U);
  });
}

BOOST_AUTO_TEST_CASE(hash_sees_its_deadline_and_frees_its_slot) {
  run([](fixture& f) -> asio::awaitable<void> {
    // Far more than can be hashed in the time that a case has.
    const response r = co_await ask(f, post("/work/hash?rounds=100000000", "ada",
                                            std::string(500'000, 'x'), "X-Timeout-Ms: 20\r\n"));
    BOOST_TEST(r.result_int() == 504U);
    co_await f.until([&] { return f.metrics().users == 0; });
  });
}

BOOST_AUTO_TEST_CASE(disconnect_cancels_running_task_and_frees_slot) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    c.close();
    co_await f.until([&] { return f.metrics().cancelled == 1; });
    BOOST_TEST(f.metrics().users == 0U);
    co_await f.until([&] { return f.told("ada").gone == 1; });
    BOOST_TEST(f.told("ada").offered == 1U);
  });
}

BOOST_AUTO_TEST_CASE(disconnect_cancels_task_that_computes) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post("/work/hash?rounds=100000000", "ada", std::string(500'000, 'x')));
    co_await f.until([&] { return f.metrics().active == 1; });
    c.close();
    co_await f.until([&] { return f.metrics().cancelled == 1; });
    BOOST_TEST(f.metrics().users == 0U);
  });
}

BOOST_AUTO_TEST_CASE(disconnect_removes_queued_task) {
  options.pool.workers = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    client running(f);
    co_await running.connect();
    co_await running.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    client queued(f);
    co_await queued.connect();
    co_await queued.send(post(long_sleep, "ben"));
    co_await f.until([&] { return f.metrics().queued == 1; });
    queued.close();
    co_await f.until([&] { return f.metrics().users == 1; });
    BOOST_TEST(f.metrics().queued == 0U);
    BOOST_TEST(f.metrics().active == 1U);
    running.close();
  });
}

BOOST_AUTO_TEST_CASE(disconnect_behind_pipelined_request_is_seen) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post(long_sleep, "ada") + post("/work/sleep?ms=0", "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    c.close();
    co_await f.until([&] { return f.metrics().users == 0; });
    BOOST_TEST(f.metrics().submitted == 1U);
  });
}

BOOST_AUTO_TEST_CASE(reset_by_the_client_frees_slot) {
  run([](fixture& f) -> asio::awaitable<void> {
    client c(f);
    co_await c.connect();
    co_await c.send(post(long_sleep, "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    c.socket().set_option(asio::socket_base::linger(true, 0));
    c.close();
    co_await f.until([&] { return f.metrics().users == 0; });
    co_await f.until([&] { return f.told("ada").gone == 1; });
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
