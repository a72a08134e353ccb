// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/periodic_state.hpp>
#include <weir/detail/require.hpp>
#include <weir/detail/split_mix.hpp>
#include <weir/periodic_jobs.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <new>
#include <utility>

namespace weir {

namespace {

constexpr const char* periodic_name = "weir::periodic_jobs";

// How late it is noticed that the time of day was set.
constexpr duration longest_nap = std::chrono::seconds(10);

// It takes `longest_nap` to wake up, and a busy machine takes its time.
constexpr duration least_catch_up = std::chrono::minutes(1);
constexpr duration most_catch_up = std::chrono::hours(366 * 24);

/// As in 2026-01-31T06:00:00Z.
std::string due_text(wall_time t) {
  using std::chrono::floor;
  using std::chrono::seconds;
  const auto day = floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(floor<seconds>(t - day));
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text.data();
}

}  // namespace

namespace detail {

periodic_state::periodic_state(task_queue& queue, periodic_options options)
    : queue_(queue),
      executor_(queue.get_executor()),
      options_(std::move(options)),
      random_(options_.seed != 0 ? options_.seed : own_seed()) {
  require(options_.clock_difference >= duration::zero() && options_.backoff.valid(), periodic_name);
}

void periodic_state::add(std::string_view name, firing_plan::schedule when,
                         const job_request& request, duration catch_up) {
  require(!name.empty() && !request.kind.empty() && request.max_attempts >= 1 &&
              request.delay >= duration::zero() && request.keep >= duration::zero(),
          periodic_name);
  require(!request.run_at && request.unique_key.empty() && request.unique_for == duration::zero(),
          periodic_name);
  require(catch_up >= duration::zero() && catch_up <= most_catch_up, periodic_name);
  const std::lock_guard lock(mutex_);
  require(run_ == nullptr && std::none_of(entries_.begin(), entries_.end(),
                                          [name](const entry& e) { return e.name == name; }),
          periodic_name);
  entries_.push_back({.name = std::string(name),
                      .request = std::move(own({&request, 1}).jobs.front()),
                      .when = std::move(when),
                      .catch_up = std::max(catch_up, least_catch_up),
                      .backoff = weir::backoff(options_.backoff)});
}

void periodic_state::enter(periodic_run& run) {
  {
    const std::lock_guard lock(mutex_);
    if (run_ == nullptr) {
      run_ = &run;
      run.since = steady_clock::now();
      for (entry& e : entries_) e.plan.emplace(e.when, e.catch_up, wall_clock::now());
      timer_.emplace(executor_);
      wake_at(run.since);  // and not here: those who listen are not called inside `async_run`
      return;
    }
  }
  run.refuse(errc::invalid_argument);
}

bool periodic_state::leave(periodic_run& run) {
  const std::lock_guard lock(mutex_);
  if (run_ != &run) return false;
  end();
  return true;
}

void periodic_state::close() {
  periodic_run* ended = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ended = end();
  }
  if (ended != nullptr) ended->refuse(boost::asio::error::operation_aborted);
}

periodic_run* periodic_state::end() {
  timer_.reset();
  return std::exchange(run_, nullptr);
}

void periodic_state::wake_at(time_point t) {
  timer_->expires_at(t);
  timer_->async_wait([self = shared_from_this()](const error_code& ec) {
    if (!ec) self->look();
  });
}

void periodic_state::look() {
  std::vector<periodic_firing> failed;
  {
    const std::lock_guard lock(mutex_);
    if (run_ == nullptr) return;
    const wall_time now = wall_clock::now();
    const time_point steady_now = steady_clock::now();
    time_point wake = steady_now + longest_nap;
    for (entry& e : entries_) {
      if (e.busy) continue;
      if (e.not_before <= steady_now) {
        if (const auto firing = e.plan->due(now)) {
          const error_code ec = enqueue(e, *firing);
          if (!ec) continue;
          failed.push_back({.name = e.name, .at = firing->at, .error = ec});
          settle(e, firing->at, ec);
        } else if (const auto next = e.plan->next(now); next && *next - now < longest_nap) {
          wake = std::min(wake, steady_now + (*next - now));
        }
      }
      if (e.not_before > steady_now) wake = std::min(wake, e.not_before);
    }
    wake_at(wake);
  }
  if (options_.on_firing)
    for (const periodic_firing& f : failed) options_.on_firing(f);
}

error_code periodic_state::enqueue(entry& e, const firing_plan::firing& firing) try {
  const std::string due = due_text(firing.at);
  std::string key = e.name + '@' + due;
  if (firing.set_back_from) key += '~' + due_text(*firing.set_back_from);
  const job& j = e.request.job;
  std::vector<job_header> headers = j.headers;
  headers.push_back({"due", due});
  const job_request request{.kind = j.kind,
                            .payload = j.payload,
                            .user = j.user,
                            .priority = j.priority,
                            .delay = e.request.delay,
                            .max_attempts = j.max_attempts,
                            .unique_key = key,
                            .unique_for = e.catch_up + options_.clock_difference,
                            .keep = j.keep,
                            .headers = headers};
  queue_.async_enqueue(request, [self = shared_from_this(), &e, at = firing.at](
                                    const error_code& ec, const enqueued& added) {
    self->on_enqueued(e, at, ec, added);
  });
  e.busy = true;
  return {};
} catch (const std::bad_alloc&) {
  return make_error_code(boost::system::errc::not_enough_memory);
}

void periodic_state::settle(entry& e, wall_time at, const error_code& ec) {
  if (ec) {
    e.not_before = steady_clock::now() + e.backoff.next(random_);
    return;
  }
  e.not_before = {};
  e.backoff.reset();
  e.plan->done(at);
}

void periodic_state::on_enqueued(entry& e, wall_time at, const error_code& ec,
                                 const enqueued& added) {
  periodic_run* ended = nullptr;
  {
    const std::lock_guard lock(mutex_);
    e.busy = false;
    if (run_ == nullptr) return;
    settle(e, at, ec);
    if (ec == errc::queue_closed)
      ended = end();
    else
      wake_at(steady_clock::now());
  }
  if (options_.on_firing) options_.on_firing({.name = e.name, .at = at, .error = ec, .job = added});
  if (ended != nullptr) ended->complete(errc::queue_closed);
}

void periodic_state::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  if (run_ != nullptr)
    to.on_wait(this, options_.name, "periodic jobs run", run_->since, run_->caller());
}

}  // namespace detail

periodic_jobs::periodic_jobs(task_queue& queue, periodic_options options)
    : state_(std::make_shared<detail::periodic_state>(queue, std::move(options))) {}

periodic_jobs::~periodic_jobs() { state_->close(); }

periodic_jobs::executor_type periodic_jobs::get_executor() const noexcept {
  return state_->executor();
}

void periodic_jobs::add(std::string_view name, const cron_schedule& when,
                        const job_request& request, duration catch_up) {
  state_->add(
      name, [when](wall_time after) { return when.next(after); }, request, catch_up);
}

void periodic_jobs::add(std::string_view name, duration every, const job_request& request,
                        duration catch_up) {
  detail::require(
      every >= std::chrono::seconds(1) && every % std::chrono::seconds(1) == duration::zero(),
      periodic_name);
  const auto next = [every](wall_time after) -> std::optional<wall_time> {
    // In this clock's units, which may be coarser than those of `every`.
    const auto step = std::chrono::duration_cast<wall_clock::duration>(every);
    const auto since = after.time_since_epoch();
    const auto rest = since % step;
    const auto last = since - rest - (rest < rest.zero() ? step : rest.zero());
    if (step > wall_clock::duration::max() - last) return std::nullopt;
    return wall_time(last + step);
  };
  state_->add(name, next, request, catch_up);
}

}  // namespace weir
