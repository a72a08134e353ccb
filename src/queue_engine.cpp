// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/queue_engine.hpp>

#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

namespace weir::detail {

namespace {

// How late a queue at rest notices that the time of day was set ahead.
constexpr duration longest_sleep = std::chrono::seconds(10);

template <typename... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

bool only_reads(any_queue_op op) {
  return std::visit(overloaded{[](find_op*) { return true; }, [](stats_op*) { return true; },
                               [](dead_letters_op*) { return true; }, [](auto*) { return false; }},
                    op);
}

bool adds_jobs(any_queue_op op) {
  return std::holds_alternative<enqueue_op*>(op) || std::holds_alternative<enqueue_all_op*>(op);
}

error_code no_memory() { return make_error_code(boost::system::errc::not_enough_memory); }

void refuse(any_queue_op op, const error_code& why) {
  std::visit([&](auto* o) { o->refuse(why); }, op);
}

}  // namespace

queue_engine::queue_engine(boost::asio::any_io_executor ex, std::unique_ptr<job_store> store,
                           engine_options options)
    : executor_(std::move(ex)), store_(std::move(store)), options_(std::move(options)) {}

bool queue_engine::begin_work() noexcept { return !working_.exchange(true); }

void queue_engine::start(any_queue_op op) noexcept {
  error_code ec;
  bool begin = false;
  const time_point now = steady_clock::now();
  std::visit([&](auto* o) { o->since = now; }, op);
  if (auto* const* lease = std::get_if<lease_op*>(&op))
    (*lease)->deadline = saturating_add(now, (*lease)->request.wait);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ec = errc::queue_closed;
    } else if (inbox_.size() >= options_.inbox && adds_jobs(op)) {
      ec = errc::queue_full;  // but never what ends a job and so makes room
    } else {
      try {
        fault_point();
        inbox_.push_back(op);
        begin = begin_work();
      } catch (const std::bad_alloc&) {
        ec = no_memory();
      }
    }
  }
  if (ec) refuse(op, ec);
  if (begin) go();
}

bool queue_engine::withdraw(any_queue_op op) {
  bool out = false;
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    if (auto* const* lease = std::get_if<lease_op*>(&op)) {
      if (std::exchange((*lease)->queued, false)) {
        waiting_.erase(**lease);
        out = look_ = true;  // the timer may have been for this one
        begin = begin_work();
      } else {
        (*lease)->withdrawn = true;
      }
    }
    if (const auto at = std::find(inbox_.begin(), inbox_.end(), op); at != inbox_.end()) {
      inbox_.erase(at);
      out = true;
    }
  }
  if (begin) go();
  return out;
}

void queue_engine::give_back(std::span<const lease_key> leases) noexcept {
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;  // they run out
    try {
      returned_.insert(returned_.end(), leases.begin(), leases.end());
    } catch (const std::bad_alloc&) {
      return;  // so do these
    }
    look_ = true;
    begin = begin_work();
  }
  if (begin) go();
}

void queue_engine::close() {
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    look_ = true;
    begin = begin_work();
  }
  if (begin) go();
}

void queue_engine::go() noexcept {
  if (!options_.store) {
    work();
    return;
  }
  std::vector<any_queue_op> refused;
  try {
    fault_point();
    boost::asio::post(options_.store, [self = shared_from_this(), this] { work(); });
    return;
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    working_ = false;
    refused.swap(inbox_);
  }
  for (const any_queue_op op : refused) refuse(op, no_memory());
}

bool queue_engine::take(round& r) {
  if (inbox_.empty() && !look_) return false;
  r.closed = closed_;
  r.may_find = !returned_.empty();
  r.returned.swap(returned_);
  look_ = false;
  while (lease_op* waiting = waiting_.pop()) {
    waiting->queued = false;
    r.leases.push(*waiting);
  }
  const auto end =
      inbox_.begin() + static_cast<std::ptrdiff_t>(std::min(inbox_.size(), options_.max_group));
  for (auto at = inbox_.begin(); at != end; ++at) {
    if (auto* const* fresh = std::get_if<lease_op*>(&*at))
      r.leases.push(**fresh);
    else
      r.ops.push_back(*at);
    r.may_find = r.may_find || !only_reads(*at);
  }
  inbox_.erase(inbox_.begin(), end);
  return true;
}

void queue_engine::work() noexcept {
  round r;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!take(r)) {
      lock.unlock();
      arm_timer();
      lock.lock();
      if (inbox_.empty() && !look_) {
        working_ = false;
        working_.notify_all();
        return;
      }
      continue;
    }
    lock.unlock();
    const queue_time now = queue_time::now();
    const auto began = std::chrono::steady_clock::now();
    waited_ = {};
    carry_out(r, now);
    const std::size_t group = r.ops.size();
    finish(r, steady_clock::now());
    store_->tidy();
    last_took_ = std::chrono::steady_clock::now() - began - waited_;
    lock.lock();
    // Those who have just been told come back; whoever came meanwhile makes the next group
    // greater, else two groups would take turns for ever.
    expected_ = group + inbox_.size();
    lock.unlock();
    if (options_.gather) await_request();
    lock.lock();
  }
}

bool queue_engine::await_request() {
  // Those who have just been told come back one by one. Without this the first of them gets a sync
  // to itself while the others wait for the next: with as many syncs again, or twice as many, as
  // there need be. Where nobody comes, little is lost.
  using clock = std::chrono::steady_clock;
  const auto began = clock::now();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (look_ || !inbox_.empty()) return !look_;
    }
    if (clock::now() - began >= last_took_ / 20) return false;
    std::this_thread::yield();
  }
}

bool queue_engine::let_join(round& r, std::chrono::steady_clock::time_point began) {
  using clock = std::chrono::steady_clock;
  const auto now = clock::now();
  // Somebody for whom there was nothing has to be looked after anew once there is: not here.
  if (r.ops.size() >= expected_ || !in_vain_.empty() || now - began >= last_took_ + last_took_ / 4)
    return false;
  const bool comes = await_request();
  waited_ += clock::now() - now;
  if (!comes) return false;
  const std::lock_guard lock(mutex_);
  const std::size_t room = options_.max_group - std::min(options_.max_group, r.ops.size());
  const auto end = inbox_.begin() + static_cast<std::ptrdiff_t>(std::min(inbox_.size(), room));
  r.ops.reserve(r.ops.size() + room);
  // Leases last: what is added here may be for them.
  for (auto at = inbox_.begin(); at != end; ++at)
    if (!std::holds_alternative<lease_op*>(*at)) r.ops.push_back(*at);
  for (auto at = inbox_.begin(); at != end; ++at)
    if (auto* const* lease = std::get_if<lease_op*>(&*at)) {
      r.leases.push(**lease);
      r.ops.push_back(*at);
    }
  inbox_.erase(inbox_.begin(), end);
  return true;
}

bool queue_engine::worth_a_look(const round& r, queue_time now) {
  if (r.leases.empty() || r.closed) return false;
  if (r.may_find || event_at_ <= now.steady) return true;
  try {
    return options_.poll > duration::zero() && store_->changed_elsewhere();
  } catch (const boost::system::system_error&) {
    return true;  // which meets the error too, and reports it
  }
}

void queue_engine::carry_out(round& r, queue_time now) {
  std::vector<any_queue_op>& group = r.ops;
  const bool looks = worth_a_look(r, now);
  if (looks) r.leases.for_each([&](lease_op& op) { group.push_back(&op); });
  if (group.empty() && r.returned.empty()) return;

  bool begun = false;
  // Nobody joins where somebody is left out: who has waited comes first.
  const bool may_grow = options_.gather && (r.leases.empty() || looks);
  const error_code failed = together(group, r.returned, now, begun, may_grow ? &r : nullptr);
  if (!failed) return;
  if (!begun || group.size() + r.returned.size() == 1) {
    for (const any_queue_op op : group) std::visit([&](auto* o) { o->outcome = failed; }, op);
    return;
  }
  for (const any_queue_op& op : group)
    if (const error_code ec = together({&op, 1}, {}, now, begun))
      std::visit([&](auto* o) { o->outcome = ec; }, op);
  together({}, r.returned, now, begun);  // should this fail they run out
}

error_code queue_engine::together(std::span<const any_queue_op> group,
                                  std::span<const lease_key> returned, queue_time now, bool& begun,
                                  round* growing) noexcept {
  error_code failed;
  begun = false;
  try {
    in_vain_.clear();
    const auto began = std::chrono::steady_clock::now();
    const bool writes = !returned.empty() || !std::all_of(group.begin(), group.end(), only_reads);
    store_->begin(writes);
    begun = true;
    for (const lease_key& key : returned)
      store_->settle({.how = settlement::release, .key = key}, now);
    bool recovered = false;
    do {
      for (const any_queue_op op : group) {
        if (std::holds_alternative<lease_op*>(op) && !std::exchange(recovered, true))
          store_->recover(now);
        try {
          execute(op, now);
        } catch (const std::bad_alloc&) {
          if (store_->has_transactions()) throw;
          std::visit([](auto* o) { o->outcome = no_memory(); }, op);
        }
      }
      const std::size_t done = growing ? growing->ops.size() : 0;
      if (!growing || !writes || !let_join(*growing, began)) break;
      group = std::span<const any_queue_op>(growing->ops).subspan(done);
    } while (!group.empty());
    store_->commit();
  } catch (const boost::system::system_error& e) {
    failed = e.code();
  } catch (const std::bad_alloc&) {
    failed = no_memory();
  }
  // What this may say in its turn is not what went wrong.
  if (failed) store_->rollback();
  return failed;
}

void queue_engine::execute(any_queue_op op, queue_time now) {
  const auto in_vain = [this](const lease_request& r) {
    return std::any_of(in_vain_.begin(), in_vain_.end(), [&](const lease_request* other) {
      return other->kinds.empty() || other->kinds == r.kinds;
    });
  };
  std::visit(overloaded{
                 [&](enqueue_op* o) {
                   o->outcome = store_->enqueue(o->request, now, {&std::get<0>(o->answer), 1});
                 },
                 [&](enqueue_all_op* o) {
                   auto& answer = std::get<0>(o->answer);
                   answer.assign(o->request.jobs.size(), {});
                   o->outcome = store_->enqueue(o->request, now, answer);
                 },
                 [&](lease_op* o) {
                   auto& answer = std::get<0>(o->answer);
                   answer.clear();
                   o->outcome = {};
                   if (in_vain(o->request)) return;
                   store_->lease(o->request, now, answer);
                   if (answer.empty()) in_vain_.push_back(&o->request);
                 },
                 [&](settle_op* o) { o->outcome = store_->settle(o->request, now); },
                 [&](extend_op* o) {
                   o->outcome = store_->settle(o->request, now);
                   if (!o->outcome) o->answer = saturating_add(now.steady, o->request.time);
                 },
                 [&](cancel_op* o) { o->answer = store_->cancel(o->request.id, now); },
                 [&](find_op* o) { o->answer = store_->find(o->request.id, now); },
                 [&](stats_op* o) { o->answer = store_->stats(); },
                 [&](dead_letters_op* o) { o->answer = store_->dead_letters(o->request); },
                 [&](bury_op* o) { o->answer = store_->bury(o->request, now); },
             },
             op);
}

void queue_engine::finish(round& r, time_point now) {
  for (const any_queue_op op : r.ops)
    if (!std::holds_alternative<lease_op*>(op)) std::visit([](auto* o) { o->finish(); }, op);
  r.ops.clear();
  r.returned.clear();
  while (lease_op* op = r.leases.pop()) {
    const auto& answer = std::get<0>(op->answer);
    if (!op->outcome && !answer.empty()) {
      op->grant(shared_from_this());
    } else if (!op->outcome && r.closed) {
      op->refuse(errc::queue_closed);
    } else if (op->outcome || op->deadline <= now) {
      op->finish();
    } else {
      std::unique_lock lock(mutex_);
      if (op->withdrawn) {
        lock.unlock();
        op->refuse(boost::asio::error::operation_aborted);
      } else {
        op->queued = true;
        waiting_.push(*op);
      }
    }
  }
}

void queue_engine::arm_timer() {
  time_point at = time_point::max();
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) armed_ = false;
    waiting_.for_each([&](const lease_op& op) { at = std::min(at, op.deadline); });
    if (waiting_.empty() && !timer_) return;
    if (waiting_.empty()) at = time_point::min();
  }
  if (at == time_point::min()) {
    timer_.reset();
    event_at_ = time_point::max();
    return;
  }
  const queue_time now = queue_time::now();
  duration event = longest_sleep;
  try {
    if (const auto next = store_->next_event(now)) event = std::min(event, *next);
  } catch (const boost::system::system_error&) {
    event = std::min(event, std::max<duration>(options_.poll, std::chrono::milliseconds(1)));
  }
  event_at_ = now.steady + std::max(event, duration::zero());
  at = std::min(at, event_at_);
  if (options_.poll > duration::zero()) at = std::min(at, now.steady + options_.poll);
  {
    const std::lock_guard lock(mutex_);
    if (armed_ && timer_->expiry() <= at) return;
    armed_ = true;
  }
  if (!timer_) timer_.emplace(options_.store ? options_.store : executor_);
  timer_->expires_at(at);
  timer_->async_wait([weak = weak_from_this(), this](const error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self) on_timer();
  });
}

void queue_engine::on_timer() {
  bool begin = false;
  {
    const std::lock_guard lock(mutex_);
    armed_ = false;
    look_ = true;
    begin = begin_work();
  }
  // It runs where the store is called.
  if (begin) work();
}

void queue_engine::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const lease_op& op) {
    to.on_wait(this, options_.name, "queue lease", op.since, op.caller());
  });
  for (const any_queue_op op : inbox_)
    std::visit(
        [&](const auto* o) {
          to.on_wait(this, options_.name, "queue request", o->since, o->caller());
        },
        op);
}

}  // namespace weir::detail
