// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Work that is handed in, and done when there is room: from `POST /jobs` to its result.

#include "../scratch_directory.hpp"
#include "fixture.hpp"

#if defined(WEIR_HAS_REDIS)
#include "../redis_fixture.hpp"
#endif

#include "job_work.hpp"
#include "jobs.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gateway::test {

BOOST_FIXTURE_TEST_SUITE(jobs, fixture)

namespace {

namespace json = boost::json;

json::object object_in(const response& r) { return json::parse(r.body()).as_object(); }

std::string state_in(const response& r) {
  return r.result_int() == 200 ? std::string(object_in(r).at("state").as_string()) : "unknown";
}

std::string get(const std::string& target, std::string_view user) {
  return text_of("GET", target, user);
}

std::string job_path(std::int64_t id) { return "/jobs/" + std::to_string(id); }

/// The id of a job that is accepted.
asio::awaitable<std::int64_t> hand_in(fixture& f, std::string text) {
  const response r = co_await ask(f, std::move(text));
  BOOST_TEST_REQUIRE(r.result_int() == 202U, r.body());
  const std::int64_t id = object_in(r).at("id").as_int64();
  BOOST_TEST(r[http::field::location] == job_path(id));
  co_return id;
}

/// What is told of a job once it is in a state.
asio::awaitable<json::object> wait_for(fixture& f, std::int64_t id, std::string user,
                                       std::string state) {
  const auto limit = std::chrono::steady_clock::now() + most_patience;
  for (;;) {
    const response r = co_await ask(f, get(job_path(id), user));
    if (state_in(r) == state) co_return object_in(r);
    BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < limit), r.body());
  }
}

/// The load client, on a thread of its own.
std::future<load::job_report> run_jobs(fixture& f) {
  const load::job_plan plan{
      .port = f.address().port(), .jobs = 40, .concurrency = 4, .pause = 0ms, .patience = 90s};
  return std::async(std::launch::async, [plan] { return load::run_jobs(plan); });
}

constexpr std::string_view hash_of_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";

/// The same job however often it is handed in.
std::string hash_once() { return post("/jobs?kind=hash", "ada", "abc", "Idempotency-Key: k1\r\n"); }

}  // namespace

BOOST_AUTO_TEST_CASE(job_is_accepted_run_and_its_result_kept) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t hash = co_await hand_in(f, post("/jobs?kind=hash&rounds=1", "ada", "abc"));
    const json::object done = co_await wait_for(f, hash, "ada", "done");
    BOOST_TEST(done.at("result").as_string() == hash_of_abc);
    BOOST_TEST(done.at("kind").as_string() == "hash");
    BOOST_TEST(done.at("attempt").as_int64() == 1);
    const std::int64_t sleep = co_await hand_in(f, post("/jobs?kind=sleep&ms=1", "ada"));
    const json::object slept = co_await wait_for(f, sleep, "ada", "done");
    BOOST_TEST(slept.at("result").as_string() == "slept\n");
    const std::string url = url_of(f.address(), "/healthz");
    const std::int64_t fetch = co_await hand_in(f, post("/jobs?kind=fetch", "ada", url));
    const json::object fetched = co_await wait_for(f, fetch, "ada", "done");
    BOOST_TEST(fetched.at("result").as_string() == "alive\n");
    // They are nobody's request for work, and each is in the pool's figures.
    BOOST_TEST(f.told("ada").offered == 0U);
    BOOST_TEST(f.metrics().completed == 3U);
    co_await f.until([&] { return f.server().jobs().acked == 3; });
  });
}

BOOST_AUTO_TEST_CASE(requests_that_make_no_sense_are_turned_down_before_they_are_queued) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::array<std::string, 14> senseless{
        post("/jobs?kind=hash", "", "text"),
        post("/jobs", "ada", "text"),
        post("/jobs?kind=dance", "ada", "text"),
        post("/jobs?kind=hash&rounds=0", "ada", "text"),
        post("/jobs?kind=sleep", "ada", "soon"),
        post("/jobs?kind=fetch", "ada", "gopher://127.0.0.1/"),
        post("/jobs?kind=sleep&ms=1&priority=high", "ada"),
        post("/jobs?kind=sleep&ms=1&priority=1001", "ada"),
        post("/jobs?kind=sleep&ms=1&delay_ms=-1", "ada"),
        post("/jobs?kind=sleep&ms=1", "ada", "", "Idempotency-Key: \r\n"),
        post("/jobs?kind=sleep&ms=1", "ada", "",
             "Idempotency-Key: " + std::string(201, 'k') + "\r\n"),
        text_of("GET", "/jobs/1", ""),
        text_of("GET", "/dead?limit=0", ""),
        text_of("GET", "/dead?after=x", ""),
    };
    client c(f);
    co_await c.connect();
    for (const std::string& text : senseless) {
      co_await c.send(text);
      const response r = co_await c.receive();
      BOOST_TEST(r.result_int() == 400U, text);
      BOOST_TEST(r.keep_alive());
    }
    const response forbidden =
        co_await ask(f, post("/jobs?kind=fetch", "ada", "http://192.0.2.1/"));
    BOOST_TEST(forbidden.result_int() == 403U);
    BOOST_TEST(f.metrics().offered() == 0U);
    const weir::queue_stats s = co_await f.queue().async_stats(asio::use_awaitable);
    BOOST_TEST(s.ready + s.scheduled + s.leased + s.done == 0U);
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_there_gets_404_and_a_wrong_method_405) {
  run([](fixture& f) -> asio::awaitable<void> {
    for (const std::string& text :
         {get("/jobs/7", "ada"), get("/jobs/", "ada"), get("/jobs/x", "ada"),
          get("/jobs/-1", "ada"), text_of("DELETE", "/jobs/7", "ada"), post("/dead/7/requeue", ""),
          post("/dead/7/bury", ""), post("/dead/", ""),
          get("/jobs/99999999999999999999999", "ada")}) {
      const response r = co_await ask(f, text);
      BOOST_TEST(r.result_int() == 404U, text);
    }
    const std::array<std::pair<std::string, std::string_view>, 5> wrong{{
        {get("/jobs", "ada"), "POST"},
        {text_of("PUT", "/jobs/7", "ada"), "GET, DELETE"},
        {post("/dead", ""), "GET"},
        {get("/dead/7/requeue", ""), "POST"},
        {post("/metrics", ""), "GET, HEAD"},
    }};
    for (const auto& [text, allowed] : wrong) {
      const response r = co_await ask(f, text);
      BOOST_TEST(r.result_int() == 405U, text);
      BOOST_TEST(r[http::field::allow] == allowed);
    }
  });
}

BOOST_AUTO_TEST_CASE(repeated_request_with_the_same_key_is_the_same_job) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t id = co_await hand_in(f, hash_once());
    const response again = co_await ask(f, hash_once());
    BOOST_TEST(again.result_int() == 202U);
    BOOST_TEST(object_in(again).at("id").as_int64() == id);
    BOOST_TEST(object_in(again).at("duplicate").as_bool());
    co_await wait_for(f, id, "ada", "done");
    // Also when it is done.
    BOOST_TEST(co_await hand_in(f, hash_once()) == id);
    // Another user's key of the same name is another key.
    const std::int64_t other =
        co_await hand_in(f, post("/jobs?kind=hash", "ben", "abc", "Idempotency-Key: k1\r\n"));
    BOOST_TEST(other != id);
    const std::int64_t without = co_await hand_in(f, post("/jobs?kind=hash", "ada", "abc"));
    BOOST_TEST(without != id);
    co_await wait_for(f, other, "ben", "done");
    co_await wait_for(f, without, "ada", "done");
    BOOST_TEST(f.metrics().completed == 3U);
  });
}

BOOST_AUTO_TEST_CASE(job_of_another_user_does_not_exist) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t id =
        co_await hand_in(f, post("/jobs?kind=sleep&ms=1&delay_ms=3600000", "ada"));
    const response seen = co_await ask(f, get(job_path(id), "ben"));
    BOOST_TEST(seen.result_int() == 404U);
    const response taken = co_await ask(f, text_of("DELETE", job_path(id), "ben"));
    BOOST_TEST(taken.result_int() == 404U);
    const response own = co_await ask(f, get(job_path(id), "ada"));
    BOOST_TEST(state_in(own) == "scheduled");
  });
}

BOOST_AUTO_TEST_CASE(delete_takes_a_job_back_whether_it_waits_or_runs) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t waiting =
        co_await hand_in(f, post("/jobs?kind=sleep&ms=1&delay_ms=3600000", "ada"));
    const response taken = co_await ask(f, text_of("DELETE", job_path(waiting), "ada"));
    BOOST_TEST(taken.result_int() == 200U);
    const response told = co_await ask(f, get(job_path(waiting), "ada"));
    BOOST_TEST(state_in(told) == "cancelled");
    const response again = co_await ask(f, text_of("DELETE", job_path(waiting), "ada"));
    BOOST_TEST(again.result_int() == 409U);
    const std::int64_t done = co_await hand_in(f, post("/jobs?kind=sleep&ms=0", "ada"));
    co_await wait_for(f, done, "ada", "done");
    const response late = co_await ask(f, text_of("DELETE", job_path(done), "ada"));
    BOOST_TEST(late.result_int() == 409U);
  });
}

BOOST_AUTO_TEST_CASE(delete_of_a_running_job_cancels_its_task) {
  options.jobs.lease = 60ms;  // which is how soon the holder asks
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t id = co_await hand_in(f, post("/jobs?kind=sleep&ms=60000", "ada"));
    co_await f.until([&] { return f.metrics().active == 1; });
    const response taken = co_await ask(f, text_of("DELETE", job_path(id), "ada"));
    BOOST_TEST(taken.result_int() == 200U);
    co_await f.until([&] { return f.metrics().active == 0; });
    // On a busy machine the lease may have run out before, and the job have begun again.
    co_await f.until([&] { return f.server().jobs().lost >= 1; });
  });
}

BOOST_AUTO_TEST_CASE(user_that_asks_for_too_many_jobs_gets_429) {
  options.jobs.rate = 2;
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string text = post("/jobs?kind=sleep&ms=0", "ada");
    co_await hand_in(f, text);
    co_await hand_in(f, text);
    // The third; a later one where half a second has passed since the first.
    response last;
    do last = co_await ask(f, text);
    while (last.result_int() == 202U);
    BOOST_TEST(last.result_int() == 429U);
    BOOST_TEST(last.count(http::field::retry_after) == 1U);
    co_await hand_in(f, post("/jobs?kind=sleep&ms=0", "ben"));
  });
}

BOOST_AUTO_TEST_CASE(full_queue_gives_503_with_retry_after_until_there_is_room) {
  options.jobs.capacity = 2;
  options.jobs.keep = 0ms;
  run([](fixture& f) -> asio::awaitable<void> {
    const std::string later = post("/jobs?kind=sleep&ms=0&delay_ms=3600000", "ada");
    const std::int64_t first = co_await hand_in(f, later);
    co_await hand_in(f, later);
    const response third = co_await ask(f, later);
    BOOST_TEST(third.result_int() == 503U);
    BOOST_TEST(third.count(http::field::retry_after) == 1U);
    const response taken = co_await ask(f, text_of("DELETE", job_path(first), "ada"));
    BOOST_TEST(taken.result_int() == 200U);
    co_await hand_in(f, later);
  });
}

BOOST_AUTO_TEST_CASE(backlog_of_jobs_leaves_room_for_those_who_wait) {
  options.pool.queue_size = 2;
  options.pool.max_per_user = 0;
  run([](fixture& f) -> asio::awaitable<void> {
    // At once, and more of them than end while the others are answered on a busy machine.
    const std::array<weir::job_header, 1> headers{
        weir::job_header{std::string(query_header), "ms=20"}};
    const std::vector<weir::job_request> backlog(
        1'000, weir::job_request{.kind = "sleep", .user = "ada", .headers = headers});
    co_await f.queue().async_enqueue(backlog, asio::use_awaitable);
    co_await f.until([&] { return f.metrics().active == 2; });
    for (int i = 0; i < 10; ++i) {
      const response r = co_await ask(f, post("/work/sleep?ms=0", "ben"));
      BOOST_TEST(r.result_int() == 200U);
    }
    const weir::queue_stats s = co_await f.queue().async_stats(asio::use_awaitable);
    BOOST_TEST(s.ready > 0U);
    co_await f.until([&] { return f.server().jobs().acked >= 40; });
  });
}

BOOST_AUTO_TEST_CASE(job_that_can_never_succeed_is_a_dead_letter_that_can_be_run_again) {
  options.pool.max_per_user = 0;
  run([](fixture& f) -> asio::awaitable<void> {
    // Past the gateway's own checks, as a tool may enqueue it.
    for (int i = 0; i < 3; ++i)
      co_await f.queue().async_enqueue({.kind = "sleep", .payload = "soon", .user = "ada"},
                                       asio::use_awaitable);
    co_await f.until([&] { return f.server().jobs().dead == 3; });
    const response page = co_await ask(f, text_of("GET", "/dead?limit=2", ""));
    BOOST_TEST(page.result_int() == 200U);
    const json::object told = object_in(page);
    const json::array& jobs = told.at("jobs").as_array();
    BOOST_TEST_REQUIRE(jobs.size() == 2U);
    BOOST_TEST(jobs[0].at("reason").as_string() == "ms is not a number of milliseconds");
    BOOST_TEST(jobs[0].at("attempt").as_int64() == 1);
    const std::int64_t last = jobs[1].at("id").as_int64();
    const response rest =
        co_await ask(f, text_of("GET", "/dead?after=" + std::to_string(last), ""));
    BOOST_TEST(object_in(rest).at("jobs").as_array().size() == 1U);

    const response put_back =
        co_await ask(f, post("/dead/" + std::to_string(last) + "/requeue", ""));
    BOOST_TEST(put_back.result_int() == 200U);
    co_await f.until([&] { return f.server().jobs().dead == 4; });
  });
}

BOOST_AUTO_TEST_CASE(job_that_fails_is_tried_again_and_says_why_at_last) {
  options.jobs.attempts = 1;
  run([](fixture& f) -> asio::awaitable<void> {
    const tcp::socket nobody = nobody_on_loopback(f);
    const std::string url = url_of(nobody.local_endpoint(), "/");
    const std::int64_t id = co_await hand_in(f, post("/jobs?kind=fetch", "ada", url));
    const json::object dead = co_await wait_for(f, id, "ada", "dead");
    BOOST_TEST(dead.at("reason").as_string() == "Connection refused");
  });
}

BOOST_AUTO_TEST_CASE(result_that_is_no_text_is_in_base64) {
  run([](fixture& f) -> asio::awaitable<void> {
    tcp::acceptor server = listen_on_loopback(f);
    const std::string url = url_of(server.local_endpoint(), "/");
    const std::int64_t id = co_await hand_in(f, post("/jobs?kind=fetch", "ada", url));
    tcp::socket peer = co_await server.async_accept(asio::use_awaitable);
    constexpr std::string_view reply("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\0\xff\xc3\x28",
                                     42);
    co_await asio::async_write(peer, asio::buffer(reply), asio::use_awaitable);
    const json::object done = co_await wait_for(f, id, "ada", "done");
    BOOST_TEST(done.at("result_base64").as_string() == "AP/DKA==");
  });
}

namespace {

/// A job that is done, one that runs, and one that is scheduled when the gateway ends.
asio::awaitable<void> first_life(fixture& f) {
  const std::int64_t first = co_await hand_in(f, hash_once());
  BOOST_TEST(first == 1);
  co_await wait_for(f, first, "ada", "done");
  co_await hand_in(f, post("/jobs?kind=sleep&ms=60000", "ada"));
  co_await f.until([&] { return f.metrics().active == 1; });
  co_await hand_in(f, post("/jobs?kind=hash&delay_ms=100", "ben", "abc"));
  co_await f.shut_down(0s);
}

asio::awaitable<void> second_life(fixture& f) {
  BOOST_TEST(co_await hand_in(f, hash_once()) == 1);
  const json::object done = co_await wait_for(f, 1, "ada", "done");
  BOOST_TEST(done.at("result").as_string() == hash_of_abc);
  co_await wait_for(f, 3, "ben", "done");
  // What was cut short goes on at once, its attempt not spent.
  const json::object running = co_await wait_for(f, 2, "ada", "leased");
  BOOST_TEST(running.at("attempt").as_int64() == 1);
  const response taken = co_await ask(f, text_of("DELETE", job_path(2), "ada"));
  BOOST_TEST(taken.result_int() == 200U);
  co_await f.shut_down(0s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(jobs_outlive_the_gateway_and_so_do_their_keys_and_results) {
  const weir_test::scratch_directory temporary;
  options.jobs.queue = temporary.file("jobs.db");
  run(first_life);
  run(second_life);
}

#if defined(WEIR_HAS_REDIS)
BOOST_AUTO_TEST_CASE(jobs_on_redis_outlive_the_gateway_and_the_server) {
  weir_test::redis_server server({"--save", "", "--appendonly", "yes", "--appendfsync", "always"});
  options.jobs.queue = server.url() + "#gateway";
  run(first_life);
  server.kill();
  server.start();
  run(second_life);
}

BOOST_AUTO_TEST_CASE(dead_letter_on_redis_can_be_run_again) {
  options.jobs.queue = weir_test::shared_server().url() + "#gateway_dead";
  run([](fixture& f) -> asio::awaitable<void> {
    co_await f.queue().async_enqueue({.kind = "sleep", .payload = "soon", .user = "ada"},
                                     asio::use_awaitable);
    co_await f.until([&] { return f.server().jobs().dead == 1; });
    const response page = co_await ask(f, text_of("GET", "/dead", ""));
    const json::object told = object_in(page);
    const json::array& letters = told.at("jobs").as_array();
    BOOST_TEST_REQUIRE(letters.size() == 1U);
    BOOST_TEST(letters[0].at("reason").as_string() == "ms is not a number of milliseconds");
    const std::string path = "/dead/" + std::to_string(letters[0].at("id").as_int64()) + "/requeue";
    const response put_back = co_await ask(f, post(path, ""));
    BOOST_TEST(put_back.result_int() == 200U);
    co_await f.until([&] { return f.server().jobs().dead == 2; });
  });
}
#endif

BOOST_AUTO_TEST_CASE(load_client_sees_each_job_done) {
  options.jobs.rate = 0;
  options.pool.max_per_user = 0;
  run([](fixture& f) -> asio::awaitable<void> {
    auto report = run_jobs(f);
    co_await f.until([&] { return report.wait_for(0s) == std::future_status::ready; });
    const load::job_report r = report.get();
    BOOST_TEST(r.complete(), r.to_text());
    BOOST_TEST(r.accepted == 40U);
    BOOST_TEST(r.begun_again == 0U);
  });
}

BOOST_AUTO_TEST_CASE(load_client_sees_it_when_jobs_are_lost) {
  options.jobs.rate = 0;
  options.jobs.keep = 0ms;  // forgotten when they are done, which looks the same
  run([](fixture& f) -> asio::awaitable<void> {
    auto report = run_jobs(f);
    co_await f.until([&] { return report.wait_for(0s) == std::future_status::ready; });
    const load::job_report r = report.get();
    BOOST_TEST(!r.complete(), r.to_text());
    BOOST_TEST(r.lost == 40U);
  });
}

BOOST_AUTO_TEST_CASE(no_job_is_accepted_once_the_gateway_is_stopping) {
  run([](fixture& f) -> asio::awaitable<void> {
    client late(f);
    client curious(f);
    for (client* c : {&late, &curious}) co_await c->connect();
    co_await f.until([&] { return f.server().connections().open == 2; });
    co_await f.stop_accepting();
    co_await late.send(post("/jobs?kind=sleep&ms=0", "ada"));
    const response r = co_await late.receive();
    BOOST_TEST(r.result_int() == 503U);
    co_await curious.send(text_of("GET", "/dead", ""));
    const response told = co_await curious.receive();
    BOOST_TEST(told.result_int() == 200U);
  });
}

BOOST_AUTO_TEST_CASE(metrics_tell_of_jobs_and_of_a_queue_that_cannot_be_asked) {
  run([](fixture& f) -> asio::awaitable<void> {
    const std::int64_t id = co_await hand_in(f, post("/jobs?kind=hash", "ada", "abc"));
    co_await wait_for(f, id, "ada", "done");
    const auto has = [](const response& r, std::string_view line) {
      return r.body().find('\n' + std::string(line) + '\n') != std::string::npos;
    };
    const response up = co_await ask(f, text_of("GET", "/metrics", ""));
    BOOST_TEST(has(up, "gateway_jobs_total{answer=\"accepted\"} 1"));
    BOOST_TEST(has(up, "weir_consumer_leased_total{consumer=\"gateway\"} 1"));
    BOOST_TEST(has(up, "gateway_queue_up 1"));
    BOOST_TEST(has(up, "gateway_queue_jobs{state=\"done\"} 1"));
    f.queue().close();
    const response down = co_await ask(f, text_of("GET", "/metrics", ""));
    BOOST_TEST(down.result_int() == 200U);
    BOOST_TEST(has(down, "gateway_queue_up 0"));
    const response refused = co_await ask(f, post("/jobs?kind=sleep&ms=0", "ada"));
    BOOST_TEST(refused.result_int() == 503U);
    BOOST_TEST(refused.count(http::field::retry_after) == 1U);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
