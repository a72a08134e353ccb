// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/backend.hpp"

#include "redis/error.hpp"

#include <weir/detail/fault_point.hpp>
#include <weir/redis_queue.hpp>

#include <boost/asio/post.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <random>
#include <type_traits>
#include <utility>

namespace weir::redis {

namespace asio = boost::asio;

namespace {

// Requests that may wait to be sent; to enqueue beyond it is refused.
constexpr std::size_t most_waiting = 10'000;
// Requests that may be on their way.
constexpr std::size_t most_sent = 1000;

template <typename... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

bool adds_jobs(const any_queue_op& op) {
  return std::holds_alternative<enqueue_op*>(op) || std::holds_alternative<enqueue_all_op*>(op);
}

/// What somebody is told whose request ends with `why`, and may have been carried out before.
error_code given_up(bool sent, script s, error_code why) {
  return sent && !only_reads(s) ? error_code(redis_errc::outcome_unknown) : why;
}

error_code no_memory() { return make_error_code(boost::system::errc::not_enough_memory); }

/// A name that no other process has, and that tells an operator which one it is.
std::string make_client() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::random_device draw;
  return std::string(host.data()) + ':' + std::to_string(getpid()) + ':' + std::to_string(draw());
}

std::vector<connection::command> greeting(const std::string& prefix) {
  std::vector<connection::command> all;
  for (std::size_t s = 0; s != script_count; ++s)
    all.push_back({"SCRIPT", "LOAD", std::string(text_of(static_cast<script>(s)))});
  all.push_back({"EVAL", std::string(text_of(script::open)), "1", prefix});
  return all;
}

/// The time, if a test has stopped the clock; else empty, and the server's counts.
std::string test_time() {
  if (!weir::detail::installed_clock.load(std::memory_order_acquire)) return {};
  return std::to_string(to_microseconds(wall_clock::now()));
}

}  // namespace

backend::backend(asio::any_io_executor ex, address to, backend_options options)
    : executor_(std::move(ex)),
      options_(std::move(options)),
      prefix_("weir:{" + options_.name + "}:"),
      client_(make_client()),
      answers_kept_(std::to_string(
          std::chrono::ceil<std::chrono::milliseconds>(options_.timeout + options_.answer_timeout)
              .count() +
          60'000)),
      look_(1),
      strand_(executor_),
      commands_(strand_, to, options_.connect_timeout, greeting(prefix_), *this),
      ear_(*this),
      events_(strand_, to, options_.connect_timeout, {{"SUBSCRIBE", prefix_ + "wake:" + client_}},
              ear_),
      timer_(strand_) {
  free_slots_.reserve(most_sent + 1);
}

backend::~backend() {
  // Nobody is left to run anything: the context has ended with requests pending.
  commands_.close();
  events_.close();
  lost_.splice(lost_.end(), queue_);
  lost_.splice(lost_.end(), sent_);
  for (request& r : lost_)
    if (r.op) std::visit([](auto* op) { op->refuse(errc::queue_closed); }, *r.op);
  for (lease_queue* those : {&waiting_, &asked_})
    while (lease_op* op = those->pop()) op->refuse(errc::queue_closed);
}

// ---- From any thread

bool backend::begin_work() noexcept { return !std::exchange(working_, true); }

void backend::start(any_queue_op op) noexcept {
  error_code ec;
  bool begin = false;
  request_list one;
  const time_point now = steady_clock::now();
  std::visit([&](auto* o) { o->since = now; }, op);
  if (auto* const* lease = std::get_if<lease_op*>(&op))
    (*lease)->deadline = saturating_add(now, (*lease)->request.wait);
  try {
    detail::fault_point();
    one.push_back({.op = op, .deadline = saturating_add(now, options_.timeout)});
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ec = errc::queue_closed;
    } else if (queue_.size() >= most_waiting && adds_jobs(op)) {
      ec = errc::queue_full;  // but never what ends a job and so makes room
    } else {
      queue_.splice(queue_.end(), one);
      begin = begin_work();
    }
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (ec) std::visit([&](auto* o) { o->refuse(ec); }, op);
  if (begin) go();
}

bool backend::withdraw(any_queue_op op) {
  request_list out;
  const std::lock_guard lock(mutex_);
  if (auto* const* lease = std::get_if<lease_op*>(&op)) {
    if (std::exchange((*lease)->queued, false)) {
      bool is_asked = false;
      asked_.for_each([&](const lease_op& other) { is_asked = is_asked || &other == *lease; });
      (is_asked ? asked_ : waiting_).erase(**lease);
      return true;
    }
    (*lease)->withdrawn = true;
  }
  const auto at = std::find_if(queue_.begin(), queue_.end(),
                               [&](const request& r) { return r.op == op && !r.sent && !r.looks; });
  if (at == queue_.end()) return false;
  out.splice(out.end(), queue_, at);
  return true;
}

void backend::give_back(std::span<const lease_key> leases) noexcept {
  for (const lease_key& key : leases) add_own({.own = {.how = settlement::release, .key = key}});
}

void backend::add_own(request r) noexcept {
  bool begin = false;
  try {
    r.deadline = saturating_add(steady_clock::now(), options_.timeout);
    request_list one;
    one.push_back(std::move(r));
    const std::lock_guard lock(mutex_);
    if (closed_) return;  // it runs out
    queue_.splice(queue_.end(), one);
    begin = begin_work();
  } catch (const std::bad_alloc&) {
    return;  // so does this
  }
  if (begin) go();
}

void backend::close() {
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    begin = begin_work();
  }
  if (begin) go();
}

void backend::go() noexcept {
  try {
    detail::fault_point();
    asio::post(strand_, [self = shared_from_this(), this] { work(); });
    return;
  } catch (const std::bad_alloc&) {
  }
  request_list refused;
  {
    const std::lock_guard lock(mutex_);
    working_ = false;
    // What has been begun has a timer that sees to it.
    for (auto at = queue_.begin(); at != queue_.end();) {
      const auto next = std::next(at);
      if (!at->begun && !at->looks) refused.splice(refused.end(), queue_, at);
      at = next;
    }
  }
  for (request& r : refused)
    if (r.op) std::visit([](auto* op) { op->refuse(no_memory()); }, *r.op);
}

void backend::inspect(detail::inspector& to) const {
  const std::lock_guard lock(mutex_);
  const auto tell = [&](const auto& op, std::string_view what) {
    to.on_wait(this, options_.name, what, op.since, op.caller());
  };
  for (const lease_queue* those : {&waiting_, &asked_})
    those->for_each([&](const lease_op& op) { tell(op, "queue lease"); });
  for (const request_list* those : {&queue_, &sent_})
    for (const request& r : *those)
      if (r.op) std::visit([&](const auto* op) { tell(*op, "queue request"); }, *r.op);
}

// ---- On the strand

std::shared_ptr<connection::user> backend::hold() {
  return {shared_from_this(), static_cast<connection::user*>(this)};
}

std::shared_ptr<connection::user> backend::ear::hold() {
  return {owner_.shared_from_this(), static_cast<connection::user*>(this)};
}

void backend::work() {
  lease_queue refused;
  {
    const std::lock_guard lock(mutex_);
    working_ = false;
    if (closed_)
      for (lease_queue* those : {&waiting_, &asked_})
        while (lease_op* op = those->pop()) {
          op->queued = false;
          refused.push(*op);
        }
  }
  while (lease_op* op = refused.pop()) op->refuse(errc::queue_closed);
  send_all();
  rest_if_closed();
}

void backend::send_all() {
  bool left = false;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      left = !queue_.empty();
      if (!left || !commands_.up() || sent_.size() >= most_sent) break;
      sent_.splice(sent_.end(), queue_, queue_.begin());
    }
    transmit(sent_.back());
  }
  if (commands_.up()) {
    commands_.flush();
  } else if (left) {
    commands_.open();
    const std::lock_guard lock(mutex_);
    arm(queue_.back().deadline);  // those before it have had theirs
  }
}

script backend::script_of(const request& r) {
  if (!r.kind_to_pass_on.empty()) return script::pass_on;
  if (!r.op) return script::settle;
  return std::visit(
      overloaded{[](enqueue_op*) { return script::enqueue; },
                 [](enqueue_all_op*) { return script::enqueue; },
                 [](lease_op*) { return script::lease; }, [](settle_op*) { return script::settle; },
                 [](extend_op*) { return script::settle; },
                 [](cancel_op*) { return script::cancel; }, [](find_op*) { return script::find; },
                 [](stats_op*) { return script::stats; },
                 [](dead_letters_op*) { return script::dead_letters; },
                 [](bury_op*) { return script::bury; }},
      *r.op);
}

/// Writes the command of a request to `words_`.
void backend::prepare(const request& r) {
  const script s = script_of(r);
  words_.clear();
  words_.add(r.in_full ? "EVAL" : "EVALSHA");
  words_.add(r.in_full ? text_of(s) : digests_[static_cast<std::size_t>(s)]);
  words_.add("1");
  words_.add(prefix_);
  words_.add_owned(test_time());
  words_.add(client_);
  words_.add(static_cast<std::int64_t>(r.slot));
  words_.add(static_cast<std::int64_t>(r.number));
  words_.add(answers_kept_);
  if (s == script::pass_on)
    words_.add(r.kind_to_pass_on);
  else if (!r.op)
    write(words_, r.own);
  else
    std::visit(overloaded{[&](const lease_op* op) {
                            write(words_, op->request,
                                  op->request.wait > duration::zero() && events_.up());
                          },
                          [&](const auto* op) { write(words_, op->request); }},
               *r.op);
}

/// Sends the last of `sent_`.
void backend::transmit(request& r) {
  const time_point now = steady_clock::now();
  error_code refused;
  try {
    if (!std::exchange(r.begun, true)) {
      if (free_slots_.empty()) free_slots_.push_back(slots_++);
      r.slot = free_slots_.back();
      free_slots_.pop_back();
      r.number = ++last_number_;
    }
    prepare(r);
    if (!words_.fits()) refused = errc::invalid_argument;
  } catch (const std::bad_alloc&) {
    refused = no_memory();
  }
  if (refused) {
    request_list one;
    {
      const std::lock_guard lock(mutex_);
      one.splice(one.end(), sent_, std::prev(sent_.end()));
    }
    return finish(std::move(one), refused);
  }
  if (!r.sent) r.first_sent = now;
  r.was_sent = std::exchange(r.sent, true);
  r.last_sent = now;
  if (sent_.size() == 1) arm(saturating_add(now, options_.answer_timeout));
  commands_.send(words_.all(), &r);
}

error_code backend::on_greeting(std::size_t command, const redisReply& answer) {
  if (command == script_count) return {};
  if (answer.type != REDIS_REPLY_STRING) return redis_errc::bad_answer;
  digests_[command].assign(answer.str, answer.len);
  return {};
}

void backend::on_up() {
  last_error_ = {};
  // Those who wait first: whatever else there is may take long.
  look();
  send_all();
}

void backend::on_answer(void*, const redisReply* answer) {
  request_list one;
  {
    const std::lock_guard lock(mutex_);
    if (!answer) {
      lost_.splice(lost_.end(), sent_, sent_.begin());
      return;
    }
    one.splice(one.end(), sent_, sent_.begin());
  }
  request& r = one.front();
  error_code outcome;
  if (answer->type == REDIS_REPLY_ERROR) {
    const std::string_view text(answer->str, answer->len);
    r.sent = r.was_sent;  // it has not been carried out
    outcome = error_of(text);
    const bool forgotten = text.starts_with("NOSCRIPT") && !std::exchange(r.in_full, true);
    if (forgotten || passes(outcome)) {
      {
        const std::lock_guard lock(mutex_);
        (forgotten ? queue_ : lost_).splice((forgotten ? queue_ : lost_).begin(), one);
      }
      if (forgotten) return send_all();
      // Another connection may lead to another server, and in any case it is not tried at once.
      return commands_.drop(outcome);
    }
    outcome = given_up(r.sent, script_of(r), outcome);
  } else {
    try {
      outcome = receive(r, *answer);
    } catch (const std::bad_alloc&) {
      outcome = no_memory();
    }
  }
  commands_.healthy();
  finish(std::move(one), outcome);
  send_all();
  rest_if_closed();
}

/// Reads an answer that is not an error.
error_code backend::receive(request& r, const redisReply& answer) {
  if (!r.op) return {};
  bool good = true;
  error_code outcome;
  const auto settled = [&] {
    std::size_t done = 0;
    good = read(answer, done);
    if (good && done == 0) outcome = errc::lease_lost;
  };
  std::visit(overloaded{[&](enqueue_op* o) {
                          good = read(answer, {&std::get<0>(o->answer), 1});
                        },
                        [&](enqueue_all_op* o) {
                          auto& all = std::get<0>(o->answer);
                          all.assign(o->request.jobs.size(), {});
                          good = read(answer, std::span<enqueued>(all));
                        },
                        [&](lease_op* o) {
                          leases_ = {};
                          good = read(answer, leases_);
                          for (lease& l : leases_.leases)
                            l.until = saturating_add(r.first_sent, o->request.lease_for);
                          std::get<0>(o->answer) = std::move(leases_.leases);
                        },
                        [&](settle_op*) { settled(); },
                        [&](extend_op* o) {
                          settled();
                          o->answer = saturating_add(r.first_sent, o->request.time);
                        },
                        [&](cancel_op* o) {
                          std::size_t done = 0;
                          good = read(answer, done);
                          o->answer = done != 0;
                        },
                        [&](auto* o) { good = read(answer, std::get<0>(o->answer)); }},
             *r.op);
  return good ? outcome : error_code(redis_errc::bad_answer);
}

/// Ends a request, whose answer is in its operation.
void backend::finish(request_list one, error_code outcome) {
  request& r = one.front();
  auto* const* lease = r.op ? std::get_if<lease_op*>(&*r.op) : nullptr;
  if (lease && !outcome && quarantine() && std::get<0>((*lease)->answer).empty()) {
    // There may be others behind those: once more, as a request that the server does not know.
    r.sent = false;
    r.number = ++last_number_;
    const std::lock_guard lock(mutex_);
    queue_.splice(queue_.begin(), one);
    return;
  }
  if (r.begun) free_slots_.push_back(r.slot);
  if (lease) {
    finish_lease(r, **lease, outcome);
  } else if (r.op) {
    std::visit(
        [&](auto* op) {
          op->outcome = outcome;
          op->finish();
        },
        *r.op);
  }
  if (!r.looks) return;
  look_ = std::move(one);
  ask_next();
}

/// Makes dead letters of what was leased and cannot be read. \returns whether there was any.
bool backend::quarantine() {
  const auto unreadable = std::exchange(leases_.unreadable, {});
  for (const lease_key& key : unreadable)
    add_own(
        {.own = {.how = settlement::nack, .key = key, .text = "it cannot be read", .dead = true}});
  return !unreadable.empty();
}

void backend::finish_lease(const request& r, lease_op& op, error_code outcome) {
  const time_point now = steady_clock::now();
  if (!outcome && !std::get<0>(op.answer).empty()) return op.grant(shared_from_this());
  if (!outcome) {
    if (r.looks) in_vain_.push_back(op.request.kinds);
    std::unique_lock lock(mutex_);
    if (op.withdrawn) {
      outcome = asio::error::operation_aborted;
    } else if (closed_) {
      outcome = errc::queue_closed;
    } else if (op.deadline > now) {
      if (!r.looks && !looking_ && waiting_.empty()) {
        event_at_ = time_point::max();
        poll_at_ = saturating_add(now, options_.poll);
      }
      if (leases_.next_event)
        event_at_ = std::min(event_at_, saturating_add(now, *leases_.next_event));
      op.queued = true;
      (r.looks ? asked_ : waiting_).push(op);
      lock.unlock();
      arm(std::min({op.deadline, event_at_, poll_at_}));
      listen();
      return;
    }
  }
  op.outcome = outcome;
  op.finish();
}

/// What a request that cannot be sent ends with.
void backend::fail_all(error_code why) {
  request_list failed;
  lease_queue waited;
  {
    const std::lock_guard lock(mutex_);
    failed.swap(queue_);
    for (lease_queue* those : {&waiting_, &asked_})
      while (lease_op* op = those->pop()) {
        op->queued = false;
        waited.push(*op);
      }
  }
  while (!failed.empty()) {
    request_list one;
    one.splice(one.end(), failed, failed.begin());
    const request& r = one.front();
    const error_code outcome = given_up(r.sent, script_of(r), why);
    finish(std::move(one), outcome);
  }
  while (lease_op* op = waited.pop()) op->refuse(why);
}

void backend::on_down(error_code why) {
  last_error_ = why;
  bool needed = false;
  {
    const std::lock_guard lock(mutex_);
    lost_.splice(lost_.end(), queue_);
    queue_.swap(lost_);
    needed = !queue_.empty() || !waiting_.empty() || !asked_.empty();
  }
  const bool hopeless = why == redis_errc::access_denied || why == redis_errc::no_such_database ||
                        why == redis_errc::wrong_version || why == redis_errc::bad_answer ||
                        why == redis_errc::server_error;
  if (hopeless)
    fail_all(why);
  else if (needed)
    commands_.open();
  // At once, for what is over its time.
  on_timer();
}

// ---- Those who wait

void backend::look() {
  if (!commands_.up()) return;
  if (looking_) {
    look_again_ = true;
    return;
  }
  looking_ = true;
  look_again_ = false;
  in_vain_.clear();
  event_at_ = time_point::max();
  poll_at_ = saturating_add(steady_clock::now(), options_.poll);
  ask_next();
}

void backend::ask_next() {
  const auto covered = [this](const lease_request& r) {
    return std::any_of(in_vain_.begin(), in_vain_.end(),
                       [&](const auto& kinds) { return kinds.empty() || kinds == r.kinds; });
  };
  {
    const std::lock_guard lock(mutex_);
    while (lease_op* op = look_again_ || !commands_.up() ? nullptr : waiting_.pop()) {
      if (covered(op->request)) {
        asked_.push(*op);
        continue;
      }
      op->queued = false;
      request& r = look_.front() = {.op = op, .looks = true};
      r.deadline = saturating_add(steady_clock::now(), options_.timeout);
      queue_.splice(queue_.begin(), look_);
      break;
    }
    if (!look_.empty()) {
      // All have been asked, or must be asked once more. Those who came meanwhile are behind.
      lease_queue all;
      for (lease_queue* those : {&asked_, &waiting_})
        while (lease_op* op = those->pop()) all.push(*op);
      while (lease_op* op = all.pop()) waiting_.push(*op);
      looking_ = false;
    }
  }
  if (looking_) return send_all();
  if (look_again_) return look();
  arm(std::min(event_at_, poll_at_));
}

/// Sees to it that the server can say that there is something.
void backend::listen() {
  bool needed = false;
  {
    const std::lock_guard lock(mutex_);
    needed = !closed_ && !(waiting_.empty() && asked_.empty());
  }
  if (needed) events_.open();
}

void backend::ear::on_answer(void*, const redisReply* answer) {
  // "message", the channel, and what was said.
  if (answer && answer->type == REDIS_REPLY_ARRAY && answer->elements == 3 &&
      answer->element[2]->type == REDIS_REPLY_STRING)
    owner_.hear({answer->element[2]->str, answer->element[2]->len});
}

void backend::hear(std::string_view kind) {
  bool somebody = looking_;
  {
    const std::lock_guard lock(mutex_);
    somebody = somebody || !waiting_.empty();
  }
  if (somebody) {
    look();
    return;
  }
  request word;
  word.kind_to_pass_on = kind;
  add_own(std::move(word));
}

// ---- Time

void backend::arm(time_point at) {
  if (at >= armed_for_) return;
  armed_for_ = at;
  timer_.expires_at(at);
  timer_.async_wait([weak = weak_from_this(), this, at](const error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || at != armed_for_) return;
    armed_for_ = time_point::max();
    on_timer();
  });
}

void backend::on_timer() {
  const time_point now = steady_clock::now();
  const bool up = commands_.up();
  time_point next = time_point::max();
  request_list late;
  lease_queue over;
  bool somebody = false;
  bool dead = false;
  {
    const std::lock_guard lock(mutex_);
    if (!sent_.empty()) {
      const time_point lost = saturating_add(sent_.front().last_sent, options_.answer_timeout);
      dead = lost <= now;
      next = std::min(next, lost);
    }
    for (auto at = queue_.begin(); at != queue_.end();) {
      const auto following = std::next(at);
      if (at->deadline <= now)
        late.splice(late.end(), queue_, at);
      else
        next = std::min(next, at->deadline);
      at = following;
    }
    for (lease_queue* those : {&waiting_, &asked_}) {
      lease_queue left;
      while (lease_op* op = those->pop()) {
        if (op->deadline <= now) {
          op->queued = false;
          over.push(*op);
        } else {
          next = std::min(next, op->deadline);
          left.push(*op);
          somebody = true;
        }
      }
      while (lease_op* op = left.pop()) those->push(*op);
    }
  }
  const error_code why = passes(last_error_) ? last_error_ : error_code(redis_errc::unreachable);
  while (!late.empty()) {
    request_list one;
    one.splice(one.end(), late, late.begin());
    const request& r = one.front();
    const error_code outcome = given_up(r.sent, script_of(r), why);
    finish(std::move(one), outcome);
  }
  while (lease_op* op = over.pop()) {
    op->outcome = up ? error_code() : why;
    op->finish();
  }
  if (dead) return commands_.drop(asio::error::timed_out);
  arm(next);
  if (somebody && !looking_) {
    if (std::min(event_at_, poll_at_) <= now)
      look();
    else
      arm(std::min(event_at_, poll_at_));
  }
  rest_if_closed();
}

void backend::rest_if_closed() {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ || !queue_.empty() || !sent_.empty() || !lost_.empty()) return;
  }
  commands_.close();
  events_.close();
  timer_.cancel();
}

}  // namespace weir::redis
