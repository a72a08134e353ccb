// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/queue_conformance.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace weir::test {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;

namespace {

constexpr auto tuple = asio::as_tuple(use_awaitable);

void expect(bool kept, std::string_view what,
            std::source_location where = std::source_location::current()) {
  if (kept) return;
  throw conformance_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                          ": expected that " + std::string(what));
}

awaitable<void> pass(duration d) {
  steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(use_awaitable);
}

awaitable<job_id> add(task_queue& q, job_request request) {
  const enqueued e = co_await q.async_enqueue(request, use_awaitable);
  co_return e.id;
}

awaitable<std::vector<lease>> take(task_queue& q, lease_options options) {
  co_return co_await q.async_lease(options, use_awaitable);
}

/// The one job that is there.
awaitable<lease> take_one(task_queue& q, duration lease_for,
                          std::source_location where = std::source_location::current()) {
  auto leases = co_await take(q, {.lease_for = lease_for});
  expect(leases.size() == 1, "a job is there", where);
  co_return std::move(leases.front());
}

awaitable<void> expect_none(task_queue& q,
                            std::source_location where = std::source_location::current()) {
  const auto leases = co_await take(q, {.max = 10});
  expect(leases.empty(), "no job is there", where);
}

/// Nothing can be reported with `key`.
awaitable<void> expect_lost(task_queue& q, lease_key key,
                            std::source_location where = std::source_location::current()) {
  const auto [acked] = co_await q.async_ack(key, tuple);
  const auto [nacked] = co_await q.async_nack(key, {}, tuple);
  const auto [released] = co_await q.async_release(key, {}, tuple);
  const auto [extended, until] = co_await q.async_extend(key, std::chrono::hours(1), tuple);
  for (const error_code& ec : {acked, nacked, released, extended})
    expect(ec == errc::lease_lost, "an old lease is refused", where);
}

awaitable<job_state> state_of(task_queue& q, job_id id,
                              std::source_location where = std::source_location::current()) {
  const auto found = co_await q.async_find(id, use_awaitable);
  expect(found.has_value(), "the job is known", where);
  co_return found->state;
}

awaitable<void> expect_stats(task_queue& q, queue_stats wanted,
                             std::source_location where = std::source_location::current()) {
  const queue_stats s = co_await q.async_stats(use_awaitable);
  expect(s.ready == wanted.ready && s.scheduled == wanted.scheduled && s.leased == wanted.leased &&
             s.done == wanted.done && s.cancelled == wanted.cancelled && s.dead == wanted.dead,
         "each state has its count", where);
}

awaitable<void> what_is_enqueued_is_what_is_leased(task_queue& q, duration unit) {
  const std::string payload("\0\xff\n'\"%s;--\x01 payload", 19);
  const std::vector<job_header> headers{{"trace", std::string("\0x", 2)}, {"", ""}, {"trace", "2"}};
  const wall_time before = wall_clock::now();
  const job_id id = co_await add(q, {.kind = "mail",
                                     .payload = payload,
                                     .user = "u\xc3\xa4",
                                     .priority = -7,
                                     .max_attempts = 3,
                                     .unique_key = "k",
                                     .keep = unit,
                                     .headers = headers});
  expect(id > 0, "ids are above 0");
  const time_point asked = steady_clock::now();
  const lease l = co_await take_one(q, 4 * unit);
  expect(l.key.id == id && l.job.id == id, "the lease is of that job");
  expect(l.key.token > 0, "tokens are above 0");
  expect(l.job.kind == "mail" && l.job.user == "u\xc3\xa4", "texts are kept");
  expect(l.job.payload == payload, "bytes are kept");
  expect(l.job.priority == -7 && l.job.max_attempts == 3 && l.job.attempt == 1,
         "numbers are kept, and this is the first attempt");
  expect(l.job.unique_key == "k" && l.job.keep == unit && l.job.headers == headers,
         "the rest is kept");
  expect(l.job.run_at >= before - unit && l.job.run_at <= wall_clock::now() + unit,
         "it was to run at once");
  expect(l.until >= asked + 3 * unit && l.until <= steady_clock::now() + 5 * unit,
         "the lease ends when it was asked to");
  co_await q.async_ack(l.key, use_awaitable);
  // An empty payload and no headers are nothing special.
  co_await add(q, {.kind = "bare"});
  const lease bare = co_await take_one(q, unit);
  expect(bare.job.payload.empty() && bare.job.headers.empty() && bare.job.user.empty() &&
             bare.job.unique_key.empty(),
         "what was not given is empty");
  expect(bare.key.id > id, "ids ascend");
  co_await q.async_ack(bare.key, use_awaitable);
}

awaitable<void> jobs_go_by_priority_then_by_when_they_were_to_run(task_queue& q, duration unit) {
  for (const auto& [kind, priority] : {std::pair{"c", 0}, {"d", 0}, {"a", 5}, {"e", -1}, {"b", 5}})
    co_await add(q, {.kind = kind, .priority = priority});
  const wall_time now = wall_clock::now();
  co_await add(q, {.kind = "z", .priority = -2, .run_at = now - 3 * unit});
  co_await add(q, {.kind = "y", .priority = -2, .run_at = now - 5 * unit});
  std::string order;
  while (true) {
    const auto leases = co_await take(q, {.max = 2, .lease_for = 10 * unit});
    expect(leases.size() <= 2, "no more are leased than asked for");
    if (leases.empty()) break;
    for (const lease& l : leases) order += l.job.kind;
  }
  expect(order == "abcdeyz", "jobs go in order");
}

awaitable<void> what_is_acknowledged_is_not_run_again(task_queue& q, duration unit) {
  const job_id id = co_await add(q, {.kind = "k"});
  const lease l = co_await take_one(q, unit);
  co_await q.async_ack(l.key, use_awaitable);
  co_await expect_lost(q, l.key);
  co_await pass(2 * unit);
  co_await expect_none(q);
  const auto found = co_await q.async_find(id, use_awaitable);
  expect(!found, "a job that asked for nothing is forgotten");
}

awaitable<void> leased_job_is_nobody_elses(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease l = co_await take_one(q, 4 * unit);
  co_await expect_none(q);
  co_await pass(2 * unit);
  co_await expect_none(q);
  co_await q.async_ack(l.key, use_awaitable);
}

awaitable<void> lease_that_runs_out_is_taken_and_old_one_is_refused(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease old = co_await take_one(q, unit);
  co_await pass(2 * unit);
  const lease taken = co_await take_one(q, 10 * unit);
  expect(taken.key.id == old.key.id, "it is the same job");
  expect(taken.key.token > old.key.token, "tokens ascend");
  expect(taken.job.attempt == 2, "the attempt that ran out was spent");
  co_await expect_lost(q, old.key);
  co_await q.async_ack(taken.key, use_awaitable);
  co_await expect_lost(q, taken.key);
}

awaitable<void> lease_that_ran_out_and_was_not_taken_still_counts(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease late = co_await take_one(q, unit);
  co_await pass(2 * unit);
  co_await q.async_ack(late.key, use_awaitable);
  co_await expect_none(q);
}

awaitable<void> extended_lease_does_not_run_out(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease l = co_await take_one(q, 2 * unit);
  for (int i = 0; i < 3; ++i) {
    co_await pass(unit);
    const time_point until = co_await q.async_extend(l.key, 2 * unit, use_awaitable);
    expect(until > steady_clock::now(), "the new end is told");
    co_await expect_none(q);
  }
  co_await q.async_ack(l.key, use_awaitable);
  co_await pass(3 * unit);
  co_await expect_none(q);
}

awaitable<void> holder_that_dies_each_time_ends_at_exactly_max_attempts(task_queue& q,
                                                                        duration unit) {
  const job_id id = co_await add(q, {.kind = "k", .max_attempts = 3});
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const lease l = co_await take_one(q, unit);
    expect(l.job.attempt == attempt, "attempts are counted at the lease");
    co_await pass(2 * unit);
  }
  co_await expect_none(q);
  const auto found = co_await q.async_find(id, use_awaitable);
  expect(found && found->state == job_state::dead, "it is a dead letter");
  expect(found->job.attempt == 3 && !found->reason.empty(), "it says why");
}

awaitable<void> failed_job_runs_again_after_its_delay(task_queue& q, duration unit) {
  const job_id id = co_await add(q, {.kind = "k", .payload = "p"});
  const lease first = co_await take_one(q, 10 * unit);
  co_await q.async_nack(first.key, {.delay = 4 * unit, .reason = "no luck"}, use_awaitable);
  co_await expect_lost(q, first.key);
  co_await expect_none(q);
  const auto found = co_await q.async_find(id, use_awaitable);
  expect(found && found->state == job_state::scheduled && found->reason == "no luck",
         "it waits, and says why");
  co_await pass(2 * unit);
  co_await expect_none(q);
  co_await pass(3 * unit);
  const lease again = co_await take_one(q, unit);
  expect(again.job.attempt == 2 && again.job.payload == "p", "it runs again");
  co_await q.async_nack(again.key, {}, use_awaitable);
  const lease third = co_await take_one(q, unit);
  expect(third.job.attempt == 3, "without a delay it runs again at once");
  co_await q.async_ack(third.key, use_awaitable);
}

awaitable<void> last_attempt_that_fails_makes_a_dead_letter(task_queue& q, duration unit) {
  const job_id id = co_await add(q, {.kind = "k", .max_attempts = 2});
  const lease first = co_await take_one(q, unit);
  co_await q.async_nack(first.key, {.reason = "one"}, use_awaitable);
  const lease second = co_await take_one(q, unit);
  co_await q.async_nack(second.key, {.delay = unit, .reason = "two"}, use_awaitable);
  const auto found = co_await q.async_find(id, use_awaitable);
  expect(found && found->state == job_state::dead && found->reason == "two", "it is dead");
  co_await pass(2 * unit);
  co_await expect_none(q);
  // And at once, where whoever runs it knows that it is in vain.
  const job_id hopeless = co_await add(q, {.kind = "k", .max_attempts = 5});
  const lease only = co_await take_one(q, unit);
  co_await q.async_nack(only.key, {.reason = "cannot be read", .dead = true}, use_awaitable);
  const job_state state = co_await state_of(q, hopeless);
  expect(state == job_state::dead, "it is dead though attempts are left");
}

awaitable<void> released_job_has_not_spent_an_attempt(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k", .max_attempts = 1});
  std::int64_t token = 0;
  for (int i = 0; i < 4; ++i) {
    const lease l = co_await take_one(q, 10 * unit);
    expect(l.job.attempt == 1, "the attempt was not spent");
    expect(l.key.token > token, "tokens ascend though attempts do not");
    token = l.key.token;
    co_await q.async_release(l.key, {}, use_awaitable);
    co_await expect_lost(q, l.key);
  }
  const lease l = co_await take_one(q, unit);
  co_await q.async_release(l.key, 2 * unit, use_awaitable);
  co_await expect_none(q);
  co_await pass(3 * unit);
  const lease last = co_await take_one(q, unit);
  co_await q.async_ack(last.key, use_awaitable);
}

awaitable<void> released_job_does_not_go_before_those_that_wait(task_queue& q, duration unit) {
  const job_id snoozed = co_await add(q, {.kind = "k"});
  const job_id other = co_await add(q, {.kind = "k"});
  const lease first = co_await take_one(q, 10 * unit);
  expect(first.key.id == snoozed, "jobs go in order");
  co_await q.async_release(first.key, unit, use_awaitable);
  co_await pass(2 * unit);
  const lease second = co_await take_one(q, 10 * unit);
  expect(second.key.id == other, "who could not run takes a place behind");
}

awaitable<void> kinds_without_a_handler_are_left_alone(task_queue& q, duration unit) {
  const job_id a = co_await add(q, {.kind = "a", .priority = 1});
  const job_id b = co_await add(q, {.kind = "b", .priority = 9});
  const job_id c = co_await add(q, {.kind = "c", .priority = 5, .max_attempts = 1});
  static constexpr std::array<std::string_view, 2> mine{"a", "c"};
  static constexpr std::array<std::string_view, 1> others{"b"};
  auto leases = co_await take(q, {.max = 10, .lease_for = unit, .kinds = mine});
  expect(leases.size() == 2 && leases[0].key.id == c && leases[1].key.id == a,
         "the kinds that are asked for go in their common order");
  co_await pass(2 * unit);
  leases = co_await take(q, {.max = 10, .lease_for = unit, .kinds = others});
  expect(leases.size() == 1 && leases[0].key.id == b, "the others are still there");
  leases = co_await take(q, {.max = 10, .lease_for = unit, .kinds = mine});
  expect(leases.size() == 1 && leases[0].key.id == a, "the rest ran out, and one of them for good");
  const job_state state = co_await state_of(q, c);
  expect(state == job_state::dead, "it had one attempt");
}

awaitable<void> scheduled_job_runs_when_it_is_due(task_queue& q, duration unit) {
  const job_id later = co_await add(q, {.kind = "k", .run_at = wall_clock::now() + 6 * unit});
  const job_id sooner = co_await add(q, {.kind = "k", .delay = 3 * unit});
  co_await expect_none(q);
  co_await expect_stats(q, {.scheduled = 2});
  co_await pass(4 * unit);
  const lease first = co_await take_one(q, 20 * unit);
  expect(first.key.id == sooner, "the delay is over");
  co_await expect_none(q);
  co_await pass(4 * unit);
  const lease second = co_await take_one(q, 20 * unit);
  expect(second.key.id == later, "the time has come");
}

awaitable<void> unique_key_is_held_until_the_job_has_ended(task_queue& q, duration unit) {
  const job_request request{.kind = "k", .max_attempts = 1, .unique_key = "once"};
  const job_id id = co_await add(q, request);
  enqueued again = co_await q.async_enqueue(request, use_awaitable);
  expect(again.duplicate && again.id == id, "the first one is named");
  again = co_await q.async_enqueue({.kind = "other", .unique_key = "other"}, use_awaitable);
  expect(!again.duplicate, "another key is another");
  co_await q.async_cancel(again.id, use_awaitable);
  const lease l = co_await take_one(q, 10 * unit);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(again.duplicate, "also while it runs");
  co_await q.async_ack(l.key, use_awaitable);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(!again.duplicate && again.id > id, "acknowledged, it holds the key no more");
  co_await q.async_cancel(again.id, use_awaitable);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(!again.duplicate, "nor cancelled");
  const lease failed = co_await take_one(q, 10 * unit);
  co_await q.async_nack(failed.key, {}, use_awaitable);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(!again.duplicate, "nor dead");
  // Two with the key must not come to be by way of the dead.
  const std::array dead{failed.key.id};
  std::size_t count = co_await q.async_requeue(dead, use_awaitable);
  expect(count == 0, "the key is another's");
  co_await q.async_cancel(again.id, use_awaitable);
  count = co_await q.async_requeue(dead, use_awaitable);
  expect(count == 1, "the key is free");
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(again.duplicate && again.id == failed.key.id, "the one that came back holds the key");
}

awaitable<void> unique_key_is_held_for_a_time(task_queue& q, duration unit) {
  const job_request request{.kind = "k", .unique_key = "minute", .unique_for = 4 * unit};
  const job_id id = co_await add(q, request);
  const lease l = co_await take_one(q, 10 * unit);
  co_await q.async_ack(l.key, use_awaitable);
  enqueued again = co_await q.async_enqueue(request, use_awaitable);
  expect(again.duplicate && again.id == id, "the time is not over though the job is");
  co_await pass(5 * unit);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(!again.duplicate, "the time is over");
  co_await pass(5 * unit);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(!again.duplicate, "the time is over though the job is not");
  const lease second = co_await take_one(q, 10 * unit);
  co_await q.async_ack(second.key, use_awaitable);
  again = co_await q.async_enqueue(request, use_awaitable);
  expect(again.duplicate, "the end of the one before does not free the key of the next");
}

awaitable<void> batch_is_added_whole_and_in_order(task_queue& q, duration unit) {
  const std::vector<job_request> batch{{.kind = "a"},
                                       {.kind = "b", .unique_key = "k"},
                                       {.kind = "c", .unique_key = "k"},
                                       {.kind = "d", .delay = unit}};
  const auto added = co_await q.async_enqueue(batch, use_awaitable);
  expect(added.size() == 4, "each has its answer");
  expect(added[2].duplicate && added[2].id == added[1].id, "also one of the same batch counts");
  expect(added[0].id < added[1].id && added[1].id < added[3].id, "ids ascend");
  co_await expect_stats(q, {.ready = 2, .scheduled = 1});
  const std::vector<job_request> bad{{.kind = "e"}, {.kind = ""}};
  const auto [ec, none] = co_await q.async_enqueue(bad, tuple);
  expect(ec == errc::invalid_argument && none.empty(), "one that is invalid");
  co_await expect_stats(q, {.ready = 2, .scheduled = 1});
  const auto [empty, nothing] = co_await q.async_enqueue(std::span<const job_request>(), tuple);
  expect(!empty && nothing.empty(), "none is no error");
}

awaitable<void> cancelled_job_does_not_run(task_queue& q, duration unit) {
  const job_id pending = co_await add(q, {.kind = "k", .keep = 10 * unit});
  const job_id scheduled = co_await add(q, {.kind = "k", .delay = unit});
  bool cancelled = co_await q.async_cancel(pending, use_awaitable);
  expect(cancelled, "it had not ended");
  cancelled = co_await q.async_cancel(scheduled, use_awaitable);
  expect(cancelled, "nor had the other");
  cancelled = co_await q.async_cancel(pending, use_awaitable);
  expect(!cancelled, "once is enough");
  cancelled = co_await q.async_cancel(pending + 1'000'000, use_awaitable);
  expect(!cancelled, "there is no such job");
  co_await pass(2 * unit);
  co_await expect_none(q);
  const job_state state = co_await state_of(q, pending);
  expect(state == job_state::cancelled, "it is told for as long as was asked");
  const auto found = co_await q.async_find(scheduled, use_awaitable);
  expect(!found, "and not where it was not");
}

awaitable<void> cancelled_job_that_runs_loses_its_lease(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease l = co_await take_one(q, 10 * unit);
  const bool cancelled = co_await q.async_cancel(l.key.id, use_awaitable);
  expect(cancelled, "it had not ended");
  co_await expect_lost(q, l.key);
  co_await pass(11 * unit);
  co_await expect_none(q);
}

awaitable<void> result_is_kept_for_as_long_as_was_asked(task_queue& q, duration unit) {
  const job_id id = co_await add(q, {.kind = "k", .payload = "question", .keep = 4 * unit});
  const lease l = co_await take_one(q, 10 * unit);
  const std::string result("42\0", 3);
  co_await q.async_ack(l.key, result, use_awaitable);
  co_await pass(2 * unit);
  auto found = co_await q.async_find(id, use_awaitable);
  expect(found && found->state == job_state::done && found->result == result, "it is there");
  co_await expect_stats(q, {.done = 1});
  co_await pass(3 * unit);
  found = co_await q.async_find(id, use_awaitable);
  expect(!found, "it is forgotten");
  co_await expect_none(q);
  co_await expect_stats(q, {});
}

awaitable<void> dead_letters_are_listed_requeued_and_purged(task_queue& q, duration unit) {
  std::vector<job_id> ids;
  for (int i = 0; i < 5; ++i) {
    const std::string payload = std::to_string(i);
    ids.push_back(co_await add(q, {.kind = "k", .payload = payload, .max_attempts = 1}));
  }
  for (const lease& l : co_await take(q, {.max = 5, .lease_for = 10 * unit}))
    co_await q.async_nack(l.key, {.reason = "r"}, use_awaitable);
  co_await expect_stats(q, {.dead = 5});
  std::vector<job_id> seen;
  job_id after = 0;
  while (true) {
    const auto page = co_await q.async_dead_letters(after, 2, use_awaitable);
    expect(page.size() <= 2, "a page is no longer than asked for");
    if (page.empty()) break;
    for (const job_status& s : page) {
      expect(s.state == job_state::dead && s.reason == "r" && s.job.attempt == 1,
             "each is told in full");
      expect(s.job.payload == std::to_string(seen.size()), "with its payload");
      seen.push_back(s.job.id);
    }
    after = seen.back();
  }
  expect(seen == ids, "pages have each one, once, in order");
  const std::array back{ids[1], ids[3], ids[1]};
  std::size_t count = co_await q.async_requeue(back, use_awaitable);
  expect(count == 2, "two came back");
  const std::array gone{ids[0], ids[1], job_id{1'000'000}};
  count = co_await q.async_purge(gone, use_awaitable);
  expect(count == 1, "only the dead are purged");
  co_await expect_stats(q, {.ready = 2, .dead = 2});
  const lease l = co_await take_one(q, unit);
  expect(l.key.id == ids[1] && l.job.attempt == 1, "its attempts are before it again");
  co_await q.async_ack(l.key, use_awaitable);
}

awaitable<void> lease_waits_for_a_job(task_queue& q, duration unit) {
  const time_point start = steady_clock::now();
  auto leases = co_await take(q, {.wait = 2 * unit});
  expect(leases.empty() && steady_clock::now() - start >= 2 * unit, "it waited in vain");
  const auto executor = co_await asio::this_coro::executor;
  const auto later = [](task_queue& queue, duration d) -> awaitable<void> {
    co_await pass(d);
    co_await add(queue, {.kind = "k"});
  };
  asio::co_spawn(executor, later(q, unit), asio::detached);
  leases = co_await take(q, {.wait = 20 * unit, .lease_for = 100 * unit});
  expect(leases.size() == 1, "it was woken by the new job");
  co_await q.async_nack(leases.front().key, {.delay = 2 * unit}, use_awaitable);
  leases = co_await take(q, {.wait = 20 * unit, .lease_for = 2 * unit});
  expect(leases.size() == 1, "by one whose time has come");
  leases = co_await take(q, {.wait = 20 * unit, .lease_for = 100 * unit});
  expect(leases.size() == 1 && leases.front().job.attempt == 3, "by a lease that ran out");
  expect(steady_clock::now() - start < 20 * unit, "none of them waited to the end");
}

awaitable<void> those_who_wait_are_served_in_order(task_queue& q, duration unit) {
  std::string order;
  const auto executor = co_await asio::this_coro::executor;
  const auto worker = [](task_queue& queue, char name, std::string& to,
                         duration d) -> awaitable<void> {
    const auto leases = co_await take(queue, {.wait = 10 * d, .lease_for = 100 * d});
    if (!leases.empty()) to += name;
  };
  for (const char name : {'a', 'b', 'c', 'd'}) {
    asio::co_spawn(executor, worker(q, name, order, unit), asio::detached);
    co_await pass(unit / 10);
  }
  for (int i = 0; i < 3; ++i) {
    co_await add(q, {.kind = "k"});
    co_await pass(unit / 10);
  }
  co_await pass(11 * unit);
  expect(order == "abc", "first come, first served");
}

awaitable<void> cancelled_wait_takes_no_job(task_queue& q, duration unit) {
  const auto executor = co_await asio::this_coro::executor;
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio::cancellation_signal signal;
    std::optional<error_code> ended;
    q.async_lease({.wait = 100 * unit},
                  asio::bind_cancellation_slot(
                      signal.slot(), asio::bind_executor(executor, [&](error_code ec, auto leases) {
                        ended = ec;
                        expect(leases.empty(), "who is cancelled has nothing");
                      })));
    co_await pass(unit);
    expect(!ended, "it waits");
    signal.emit(type);
    co_await pass(unit);
    expect(ended == asio::error::operation_aborted, "it is told");
    co_await add(q, {.kind = "k"});
    const lease l = co_await take_one(q, unit);
    expect(l.job.attempt == 1, "nobody has had the job");
    co_await q.async_ack(l.key, use_awaitable);
  }
}

awaitable<void> each_job_is_leased_once_among_many(task_queue& q, duration unit) {
  constexpr int jobs = 200;
  constexpr int workers = 8;
  struct tally {
    std::map<job_id, int> runs;
    int ended = 0;
  } seen;
  const auto executor = co_await asio::this_coro::executor;
  const auto worker = [](task_queue& queue, tally& to, int most, duration d) -> awaitable<void> {
    while (true) {
      const auto leases = co_await take(queue, {.max = most, .wait = 2 * d, .lease_for = 1000 * d});
      if (leases.empty()) break;
      for (const lease& l : leases) {
        ++to.runs[l.key.id];
        co_await queue.async_ack(l.key, use_awaitable);
      }
    }
    ++to.ended;
  };
  for (int i = 0; i < workers; ++i)
    asio::co_spawn(executor, worker(q, seen, 1 + i % 3, unit), asio::detached);
  for (int i = 0; i < jobs; ++i) co_await add(q, {.kind = "k", .priority = i % 3});
  while (seen.ended != workers) co_await pass(unit);
  expect(seen.runs.size() == jobs, "each job was leased");
  for (const auto& [id, count] : seen.runs) expect(count == 1, "once");
  co_await expect_stats(q, {});
}

awaitable<void> invalid_requests_are_refused(task_queue& q, duration unit) {
  const duration past = -unit;
  for (const job_request& request :
       {job_request{}, job_request{.kind = "k", .max_attempts = 0},
        job_request{.kind = "k", .delay = past}, job_request{.kind = "k", .unique_for = past},
        job_request{.kind = "k", .keep = past}}) {
    const auto [ec, e] = co_await q.async_enqueue(request, tuple);
    expect(ec == errc::invalid_argument, "it is refused");
  }
  for (const lease_options& options :
       {lease_options{.max = 0}, lease_options{.wait = past}, lease_options{.lease_for = {}}}) {
    const auto [ec, leases] = co_await q.async_lease(options, tuple);
    expect(ec == errc::invalid_argument, "it is refused");
  }
  const auto [ec, page] = co_await q.async_dead_letters(0, 0, tuple);
  expect(ec == errc::invalid_argument, "it is refused");
  co_await expect_stats(q, {});
}

awaitable<void> times_without_end_are_no_overflow(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k", .delay = duration::max()});
  co_await add(q, {.kind = "k", .run_at = wall_time::max()});
  const job_id id = co_await add(
      q, {.kind = "k", .unique_key = "u", .unique_for = duration::max(), .keep = duration::max()});
  const auto leases =
      co_await take(q, {.max = 10, .wait = duration::max(), .lease_for = duration::max()});
  expect(leases.size() == 1 && leases.front().key.id == id, "only one is due");
  co_await pass(unit);
  co_await q.async_extend(leases.front().key, duration::max(), use_awaitable);
  co_await q.async_ack(leases.front().key, use_awaitable);
  const job_state state = co_await state_of(q, id);
  expect(state == job_state::done, "it is kept");
  const auto again = co_await q.async_enqueue(
      {.kind = "k", .unique_key = "u", .unique_for = duration::max()}, use_awaitable);
  expect(again.duplicate, "and so is its key");
  co_await expect_none(q);
}

awaitable<void> closed_queue_turns_everybody_away(task_queue& q, duration unit) {
  co_await add(q, {.kind = "k"});
  const lease l = co_await take_one(q, unit);
  const auto executor = co_await asio::this_coro::executor;
  std::optional<error_code> waited;
  q.async_lease({.wait = 100 * unit},
                asio::bind_executor(executor, [&](error_code ec, auto) { waited = ec; }));
  co_await pass(unit / 10);
  q.close();
  q.close();
  co_await pass(unit / 10);
  expect(waited == errc::queue_closed, "who waits is told");
  const auto [enqueue, e] = co_await q.async_enqueue({.kind = "k"}, tuple);
  const auto [ack] = co_await q.async_ack(l.key, tuple);
  const auto [stats, s] = co_await q.async_stats(tuple);
  for (const error_code& ec : {enqueue, ack, stats})
    expect(ec == errc::queue_closed, "so is who comes later");
}

constexpr queue_case cases[] = {
#define WEIR_QUEUE_CASE(name) \
  { #name, name }
    WEIR_QUEUE_CASE(what_is_enqueued_is_what_is_leased),
    WEIR_QUEUE_CASE(jobs_go_by_priority_then_by_when_they_were_to_run),
    WEIR_QUEUE_CASE(what_is_acknowledged_is_not_run_again),
    WEIR_QUEUE_CASE(leased_job_is_nobody_elses),
    WEIR_QUEUE_CASE(lease_that_runs_out_is_taken_and_old_one_is_refused),
    WEIR_QUEUE_CASE(lease_that_ran_out_and_was_not_taken_still_counts),
    WEIR_QUEUE_CASE(extended_lease_does_not_run_out),
    WEIR_QUEUE_CASE(holder_that_dies_each_time_ends_at_exactly_max_attempts),
    WEIR_QUEUE_CASE(failed_job_runs_again_after_its_delay),
    WEIR_QUEUE_CASE(last_attempt_that_fails_makes_a_dead_letter),
    WEIR_QUEUE_CASE(released_job_has_not_spent_an_attempt),
    WEIR_QUEUE_CASE(released_job_does_not_go_before_those_that_wait),
    WEIR_QUEUE_CASE(kinds_without_a_handler_are_left_alone),
    WEIR_QUEUE_CASE(scheduled_job_runs_when_it_is_due),
    WEIR_QUEUE_CASE(unique_key_is_held_until_the_job_has_ended),
    WEIR_QUEUE_CASE(unique_key_is_held_for_a_time),
    WEIR_QUEUE_CASE(batch_is_added_whole_and_in_order),
    WEIR_QUEUE_CASE(cancelled_job_does_not_run),
    WEIR_QUEUE_CASE(cancelled_job_that_runs_loses_its_lease),
    WEIR_QUEUE_CASE(result_is_kept_for_as_long_as_was_asked),
    WEIR_QUEUE_CASE(dead_letters_are_listed_requeued_and_purged),
    WEIR_QUEUE_CASE(lease_waits_for_a_job),
    WEIR_QUEUE_CASE(those_who_wait_are_served_in_order),
    WEIR_QUEUE_CASE(cancelled_wait_takes_no_job),
    WEIR_QUEUE_CASE(each_job_is_leased_once_among_many),
    WEIR_QUEUE_CASE(invalid_requests_are_refused),
    WEIR_QUEUE_CASE(times_without_end_are_no_overflow),
    WEIR_QUEUE_CASE(closed_queue_turns_everybody_away),
#undef WEIR_QUEUE_CASE
};

}  // namespace

std::span<const queue_case> queue_cases() noexcept { return cases; }

}  // namespace weir::test
