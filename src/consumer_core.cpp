// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/consumer_core.hpp>
#include <weir/detail/context_end.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/split_mix.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

namespace {

// How long to wait for jobs before asking again; whoever waits is told at once when there are some.
constexpr duration longest_wait = std::chrono::minutes(10);

/// When to extend a lease: a third of it is left for a queue that is slow, or away.
time_point extension_due(time_point until, duration lease_for) noexcept {
  return until - 2 * (lease_for / 3);
}

}  // namespace

consumer_core::consumer_core(std::shared_ptr<queue_backend> queue, std::shared_ptr<pool_core> pool,
                             job_handlers handlers, consumer_options options)
    : queue_(std::move(queue)),
      pool_(std::move(pool)),
      executor_(queue_->executor()),
      handlers_(std::move(handlers)),
      options_(std::move(options)),
      context_ended_(context_end::flag(executor_)),
      random_(options_.seed != 0 ? options_.seed : own_seed()) {
  for (const auto& [kind, handler] : handlers_) request_.kinds.push_back(kind);
  request_.wait = longest_wait;
  request_.lease_for = options_.lease_for;
}

consumer_metrics consumer_core::metrics() const {
  const std::lock_guard lock(mutex_);
  consumer_metrics m = counts_;
  m.running = may_fetch();
  m.reserved = rooms_.size();
  m.in_flight = runs_.size();
  m.stuck = stuck_.load(std::memory_order_relaxed);
  return m;
}

void consumer_core::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each([&](const consumer_waiter& w) {
    to.on_wait(this, options_.name, w.runs ? "consumer run" : "consumer stop", w.since, w.caller());
  });
  to.on_hold(this, options_.name, "job in flight", runs_.size());
}

// --- fetching ------------------------------------------------------------------------------------

void consumer_core::start() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(started_, true)) return;
  }
  advance();
}

void consumer_core::pause(bool on) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(paused_, on) == on) return;
  }
  if (on)
    call_off();
  else
    advance();
}

std::size_t consumer_core::room_for() const {
  const std::size_t most = options_.max_leased != 0 ? static_cast<std::size_t>(options_.max_leased)
                                                    : 2 * pool_->workers();
  if (runs_.size() >= most) return 0;
  // Others use the pool too: what is kept for jobs that may not come is at most half of its queue.
  const auto half = static_cast<std::size_t>(std::max(pool_->options().queue_size / 2, 1));
  return std::min(most - runs_.size(), half);
}

void consumer_core::advance() {
  std::shared_ptr<lease_call> call;
  lease_request request;
  {
    const std::lock_guard lock(mutex_);
    if (fetch_ != fetch::rests || !may_fetch()) return;
    const std::size_t wanted = room_for();
    if (wanted == 0) return;
    try {
      fault_point();
      while (rooms_.size() < wanted) {
        pool_room room = pool_->try_reserve();
        if (!room) break;
        rooms_.push_back(std::move(room));
      }
      if (!rooms_.empty()) call = std::make_shared<lease_call>(shared_from_this());
    } catch (const std::bad_alloc&) {
      back_off();
      return;
    }
    if (call) {
      fetch_ = fetch::leases;
      lease_call_ = call->self = call;
      request = std::move(request_);
      request.max = static_cast<int>(std::min(rooms_.size(), wanted));
    } else {
      fetch_ = fetch::reserves;
      room_call_.core = shared_from_this();
    }
  }
  if (call)
    queue_->enter(*call, std::move(request));
  else
    pool_->enter(room_call_);
  // It may have been called off before it was entered.
  bool off = false;
  {
    const std::lock_guard lock(mutex_);
    off = !may_fetch();
  }
  if (off) call_off();
}

void consumer_core::call_off() {
  std::vector<pool_room> rooms;
  std::shared_ptr<lease_call> call;
  bool reserves = false;
  {
    const std::lock_guard lock(mutex_);
    if (may_fetch()) return;
    reserves = fetch_ == fetch::reserves;
    call = lease_call_;
    if (fetch_ == fetch::backs_off && stopping_) fetch_ = fetch::rests;
    if (fetch_ != fetch::leases) rooms.swap(rooms_);
  }
  if (reserves && pool_->leave(room_call_)) room_call_.refuse(asio::error::operation_aborted);
  if (call && queue_->leave(*call)) call->refuse(asio::error::operation_aborted);
}

void consumer_core::back_off() {
  const duration wait = draw(options_.queue_backoff, ++fetch_failures_);
  come_back_at(saturating_add(steady_clock::now(), wait));
}

void consumer_core::come_back_at(time_point at) {
  fetch_ = fetch::backs_off;
  fetch_at_ = at;
  wake_at(at);
}

void consumer_core::room_call::complete(error_code ec, pool_room room) {
  const auto keep = std::move(core);
  keep->give_room(ec, std::move(room));
}

void consumer_core::give_room(const error_code& ec, pool_room room) {
  {
    const std::lock_guard lock(mutex_);
    fetch_ = fetch::rests;
    if (!ec && may_fetch()) rooms_.push_back(std::move(room));
  }
  if (ec == errc::pool_closed) stop(ec);
  advance();
  try_end();
}

void consumer_core::lease_call::complete(error_code ec, std::vector<lease> leases) {
  const auto keep = std::move(self);
  core_->give_leases(ec, std::move(leases));
}

void consumer_core::give_leases(const error_code& ec, std::vector<lease> leases) {
  std::vector<pool_room> rooms;
  bool take = false;
  {
    const std::lock_guard lock(mutex_);
    request_ = std::move(lease_call_->request);
    lease_call_ = nullptr;
    rooms.swap(rooms_);
    take = may_fetch();
    if (!ec) fetch_failures_ = 0;
  }
  const std::size_t reserved = rooms.size();
  bool failed = ec && ec != errc::queue_closed && ec != asio::error::operation_aborted;
  if (take) {
    for (lease& l : leases)
      if (!hand_over(std::move(l), rooms)) failed = true;
  } else if (!leases.empty()) {
    std::vector<lease_key> keys;
    keys.reserve(leases.size());
    for (const lease& l : leases) keys.push_back(l.key);
    queue_->give_back(keys);
  }
  {
    const std::lock_guard lock(mutex_);
    fetch_ = fetch::rests;
    if (may_fetch()) {
      if (failed) {
        if (ec) ++counts_.queue_errors;
        back_off();
      } else {
        rooms_.swap(rooms);
        // A long row of jobs whose users are at their caps is not put off in one go: whoever ended
        // a job has brought us here, and wants to go on.
        if (!leases.empty() && rooms_.size() == reserved) come_back_at(steady_clock::now());
      }
    }
  }
  rooms.clear();
  if (ec == errc::queue_closed) stop(ec);
  advance();
  try_end();
}

bool consumer_core::hand_over(lease l, std::vector<pool_room>& rooms) {
  const lease_key key = l.key;
  const job_handler* const handler = handlers_.find(l.job.kind);
  std::shared_ptr<job_run> run;
  try {
    fault_point();
    if (handler && !rooms.empty())
      run = std::make_shared<job_run>(shared_from_this(), std::move(l), *handler);
  } catch (const std::bad_alloc&) {
  }
  if (!run) {
    // No memory for it; or a queue that gives what it was not asked for.
    queue_->give_back({&key, 1});
    const std::lock_guard lock(mutex_);
    ++counts_.leased;
    ++counts_.returned;
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    ++counts_.leased;
    run->listed = run;
    runs_.push(*run);
  }
  error_code ec;
  try {
    ec = pool_->submit(rooms.back(), *run, run->timeout() ? run->timeout() : options_.timeout);
  } catch (const std::bad_alloc&) {
    ec = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
  }
  if (ec) {
    refused(*run, ec);
    return true;
  }
  rooms.pop_back();
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    if (run->now == job_run::stage::fresh) {
      run->now = job_run::stage::working;
      run->due = extension_due(run->until, options_.lease_for);
      wake_at(run->due);
    }
    stopped = stopping_;
  }
  if (stopped) pool_->withdraw(*run);
  return true;
}

void consumer_core::refused(job_run& run, const error_code& why) {
  {
    const std::lock_guard lock(mutex_);
    run.verdict = {};
    if (why == errc::user_limit_reached || why == errc::user_queue_full ||
        why == errc::tenant_limit_reached)
      run.verdict.counts = &consumer_metrics::snoozed;
    if (why != errc::pool_closed) {
      auto over = std::uniform_int_distribution<duration::rep>(0, options_.snooze.count());
      run.verdict.delay = options_.snooze + duration(over(random_));
    }
  }
  begin_report(run);
  if (why == errc::pool_closed) stop(why);
}

// --- what becomes of jobs ------------------------------------------------------------------------

void consumer_core::ended(job_run& run, const error_code& why,
                          const std::exception_ptr& error) noexcept {
  if (run.stuck()) stuck_.fetch_sub(1, std::memory_order_relaxed);
  job_verdict verdict = judge(run, why, error);
  {
    const std::lock_guard lock(mutex_);
    if (verdict.report && (run.lost || context_ended_->load())) {
      verdict.report = false;
      verdict.counts = run.lost ? &consumer_metrics::lost : &consumer_metrics::unreported;
    }
    run.verdict = std::move(verdict);
  }
  begin_report(run);
}

void consumer_core::begin_report(job_run& run) {
  std::shared_ptr<job_run> gone;
  {
    const std::lock_guard lock(mutex_);
    job_verdict& v = run.verdict;
    run.now = job_run::stage::reporting;
    run.due = time_point::max();
    run.failures = 0;
    if (v.backs_off) {
      const duration drawn = draw(options_.retry, static_cast<std::uint64_t>(run.job().attempt));
      v.delay = saturating_add(time_point() + v.delay, drawn) - time_point();
    }
    if (!v.report) gone = retire(run, v.counts);
  }
  if (!gone) {
    run.report();
    return;
  }
  advance();
  try_end();
}

void consumer_core::reported(job_run& run, const error_code& ec) {
  std::shared_ptr<job_run> gone;
  {
    const std::lock_guard lock(mutex_);
    if (!ec) {
      gone = retire(run, run.verdict.counts);
    } else if (ec == errc::lease_lost) {
      gone = retire(run, &consumer_metrics::lost);
    } else {
      const time_point now = steady_clock::now();
      const bool final = ec == errc::queue_closed || ec == errc::invalid_argument;
      if (!final) ++counts_.queue_errors;
      if (final || now >= run.until) {
        gone = retire(run, &consumer_metrics::unreported);
      } else {
        const duration wait = draw(options_.queue_backoff, ++run.failures);
        run.due = std::min(saturating_add(now, wait), run.until);
        wake_at(run.due);
      }
    }
  }
  if (!gone) return;
  advance();
  try_end();
}

void consumer_core::extended(job_run& run, const error_code& ec, time_point until) {
  {
    const std::lock_guard lock(mutex_);
    if (run.now != job_run::stage::working) return;
    if (ec == errc::lease_lost) {
      run.lost = true;
    } else if (ec == errc::queue_closed) {
      return;
    } else {
      if (ec) {
        ++counts_.queue_errors;
        run.due = saturating_add(steady_clock::now(), draw(options_.queue_backoff, ++run.failures));
      } else {
        ++counts_.extended;
        run.failures = 0;
        run.until = until;
        run.due = extension_due(until, options_.lease_for);
      }
      wake_at(run.due);
      return;
    }
  }
  pool_->give_up(run);
}

std::shared_ptr<job_run> consumer_core::retire(job_run& run,
                                               std::uint64_t consumer_metrics::*counts) noexcept {
  ++(counts_.*counts);
  runs_.erase(run);
  return std::move(run.listed);
}

// --- time ----------------------------------------------------------------------------------------

duration consumer_core::draw(const backoff_options& options, std::uint64_t n) {
  // Each delay may depend on the one before. A thousand are enough for any that still grows.
  backoff delays(options);
  duration drawn{};
  for (n = std::min<std::uint64_t>(n, 1000); n != 0; --n) drawn = delays.next(random_);
  return drawn;
}

void consumer_core::wake_at(time_point at) {
  if (at >= armed_ || context_ended_->load()) return;
  armed_ = at;
  if (!timer_) timer_.emplace(executor_);
  timer_->expires_at(at);
  timer_->async_wait([weak = weak_from_this()](const error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self) self->on_timer();
  });
}

void consumer_core::on_timer() {
  std::vector<std::shared_ptr<job_run>> extend;
  std::vector<std::shared_ptr<job_run>> report;
  {
    const std::lock_guard lock(mutex_);
    const time_point now = steady_clock::now();
    time_point next = time_point::max();
    runs_.for_each([&](run_entry& entry) {
      auto& run = static_cast<job_run&>(entry);
      if (run.due <= now) {
        run.due = time_point::max();
        if (run.now == job_run::stage::reporting)
          report.push_back(run.listed);
        else if (pool_->goes_on(run))
          extend.push_back(run.listed);
      }
      next = std::min(next, run.due);
    });
    if (fetch_ == fetch::backs_off) {
      if (fetch_at_ <= now)
        fetch_ = fetch::rests;
      else
        next = std::min(next, fetch_at_);
    }
    armed_ = time_point::max();
    wake_at(next);
  }
  for (const auto& run : extend) run->extend(run, options_.lease_for);
  for (const auto& run : report) run->report();
  advance();
}

// --- the end -------------------------------------------------------------------------------------

void consumer_core::stop(error_code why) {
  std::vector<std::shared_ptr<job_run>> runs;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    end_ = why;
    runs_.for_each([&](run_entry& entry) {
      auto& run = static_cast<job_run&>(entry);
      if (run.now == job_run::stage::working) runs.push_back(run.listed);
    });
  }
  call_off();
  for (const auto& run : runs) pool_->withdraw(*run);
  try_end();
}

void consumer_core::enter(consumer_waiter& w, bool runs) {
  w.runs = runs;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push(w);
  }
  if (runs)
    start();
  else
    stop();
  try_end();
}

bool consumer_core::leave(consumer_waiter& w) {
  if (w.runs) {
    stop();  // and wait for that; then it counts as cancelled
    return false;
  }
  const std::lock_guard lock(mutex_);
  return waiting_.erase(w);
}

void consumer_core::try_end() {
  intrusive_queue<consumer_waiter> told;
  error_code end;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ || fetch_ != fetch::rests || !runs_.empty()) return;
    timer_.reset();
    armed_ = time_point::max();
    end = end_;
    waiting_.pop_if(told, [](const consumer_waiter&) { return true; });
  }
  while (consumer_waiter* const w = told.pop()) w->complete(w->runs ? end : error_code());
}

}  // namespace weir::detail
