// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/job_table.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace weir::detail {

job_table::place job_table::place_of(const record& r) noexcept {
  switch (r.state) {
    case job_state::ready:
      return {-std::int64_t{r.job.priority}, r.job.run_at.time_since_epoch().count(), r.job.id};
    case job_state::scheduled:
      return {r.job.run_at.time_since_epoch().count(), 0, r.job.id};
    case job_state::leased:
      return {r.lease_until.time_since_epoch().count(), 0, r.job.id};
    case job_state::done:
    case job_state::cancelled:
      return {r.kept_until.time_since_epoch().count(), 0, r.job.id};
    case job_state::dead:
      break;
  }
  return {r.job.id, 0, r.job.id};
}

job_table::job_index& job_table::index_of(const record& r) {
  switch (r.state) {
    case job_state::ready:
      return kinds_.find(r.job.kind)->second.ready;
    case job_state::scheduled:
      return scheduled_;
    case job_state::leased:
      return leased_;
    case job_state::done:
      return done_;
    case job_state::cancelled:
      return cancelled_;
    case job_state::dead:
      break;
  }
  return dead_;
}

void job_table::erase(record& r) {
  index_of(r).erase(place_of(r));
  const auto kind = kinds_.find(r.job.kind);
  if (--kind->second.jobs == 0) kinds_.erase(kind);
  jobs_.erase(r.job.id);
}

const job_table::key_holder* job_table::holder_of(const std::string& key, wall_time now) const {
  if (key.empty()) return nullptr;
  const auto at = keys_.find(key);
  return at == keys_.end() || at->second.until <= now ? nullptr : &at->second;
}

void job_table::hold_key(const record& r, wall_time now) {
  if (r.job.unique_key.empty()) return;
  const bool timed = r.unique_for > duration::zero();
  const wall_time until = timed ? saturating_add(now, r.unique_for) : wall_time::max();
  keys_.insert_or_assign(r.job.unique_key, key_holder{r.job.id, until});
  if (timed) timed_keys_.emplace(until, r.job.unique_key);
}

void job_table::free_key(const record& r) {
  if (r.job.unique_key.empty() || r.unique_for > duration::zero()) return;
  const auto at = keys_.find(r.job.unique_key);
  if (at != keys_.end() && at->second.id == r.job.id) keys_.erase(at);
}

void job_table::run_again(record& r, wall_time at, wall_time now) {
  move(r, [&] {
    r.job.run_at = at;
    r.state = at <= now ? job_state::ready : job_state::scheduled;
  });
}

void job_table::end(record& r, job_state state, wall_time now) {
  free_key(r);
  if (r.job.keep == duration::zero()) {
    erase(r);
    return;
  }
  move(r, [&] {
    r.kept_until = saturating_add(now, r.job.keep);
    r.state = state;
  });
}

void job_table::bury(record& r, std::string reason) {
  free_key(r);
  r.reason = std::move(reason);
  move(r, [&] { r.state = job_state::dead; });
}

void job_table::forget(wall_time now) {
  for (job_index* kept : {&done_, &cancelled_})
    while (!kept->empty() && kept->begin()->front() <= now.time_since_epoch().count())
      erase(jobs_.at(kept->begin()->back()));
  while (!timed_keys_.empty() && timed_keys_.begin()->first <= now) {
    const auto& [until, key] = *timed_keys_.begin();
    const auto at = keys_.find(key);
    if (at != keys_.end() && at->second.until == until) keys_.erase(at);
    timed_keys_.erase(timed_keys_.begin());
  }
}

void job_table::recover(queue_time now) {
  while (!scheduled_.empty() &&
         scheduled_.begin()->front() <= now.wall.time_since_epoch().count()) {
    record& r = jobs_.at(scheduled_.begin()->back());
    move(r, [&] { r.state = job_state::ready; });
  }
  while (!leased_.empty() && leased_.begin()->front() <= now.steady.time_since_epoch().count()) {
    record& r = jobs_.at(leased_.begin()->back());
    if (r.job.attempt < r.job.max_attempts)
      move(r, [&] { r.state = job_state::ready; });
    else
      bury(r, lease_ran_out);
  }
  forget(now.wall);
}

std::optional<duration> job_table::next_event(queue_time now) {
  std::optional<duration> next;
  if (!scheduled_.empty()) next = jobs_.at(scheduled_.begin()->back()).job.run_at - now.wall;
  if (!leased_.empty()) {
    const duration lapse = jobs_.at(leased_.begin()->back()).lease_until - now.steady;
    next = next ? std::min(*next, lapse) : lapse;
  }
  return next;
}

error_code job_table::enqueue(const enqueue_request& request, queue_time now,
                              std::span<enqueued> answer) {
  if (jobs_.size() + request.jobs.size() > capacity_) forget(now.wall);
  // Duplicates take no room, so they are told apart first.
  std::size_t fresh = 0;
  for (const new_job& n : request.jobs)
    if (!holder_of(n.job.unique_key, now.wall)) ++fresh;
  if (fresh > capacity_ - std::min(capacity_, jobs_.size())) return errc::queue_full;

  const job_id before = last_id_;
  try {
    for (std::size_t i = 0; i != request.jobs.size(); ++i) {
      const new_job& n = request.jobs[i];
      const key_holder* const holder = holder_of(n.job.unique_key, now.wall);
      if (!holder) add(n, now);
      answer[i] = holder ? enqueued{.id = holder->id, .duplicate = true} : enqueued{.id = last_id_};
    }
  } catch (const std::bad_alloc&) {
    for (job_id id = last_id_; id != before; --id) {
      const auto at = jobs_.find(id);
      if (at == jobs_.end()) continue;
      if (const auto key = keys_.find(at->second.job.unique_key);
          key != keys_.end() && key->second.id == id)
        keys_.erase(key);
      erase(at->second);
    }
    throw;
  }
  return {};
}

void job_table::add(const new_job& n, queue_time now) {
  fault_point();
  record r{.job = n.job, .unique_for = n.unique_for};
  if (!n.timed) r.job.run_at = saturating_add(now.wall, n.delay);
  r.state = r.job.run_at <= now.wall ? job_state::ready : job_state::scheduled;
  r.job.id = last_id_ + 1;
  const place where = place_of(r);
  const auto kind = kinds_.try_emplace(r.job.kind).first;
  const auto made = jobs_.emplace(r.job.id, std::move(r)).first;
  try {
    index_of(made->second).insert(where);
  } catch (const std::bad_alloc&) {
    jobs_.erase(made);
    throw;
  }
  ++kind->second.jobs;
  last_id_ = made->first;
  fault_point();
  hold_key(made->second, now.wall);
}

void job_table::lease(const lease_request& request, queue_time now,
                      std::vector<weir::lease>& answer) {
  while (answer.size() < static_cast<std::size_t>(request.max)) {
    const job_index* best = nullptr;
    const auto consider = [&](const job_index& ready) {
      if (!ready.empty() && (!best || *ready.begin() < *best->begin())) best = &ready;
    };
    if (request.kinds.empty())
      for (const auto& [kind, entry] : kinds_) consider(entry.ready);
    for (const std::string& kind : request.kinds)
      if (const auto at = kinds_.find(kind); at != kinds_.end()) consider(at->second.ready);
    if (!best) return;
    record& r = jobs_.at(best->begin()->back());
    const time_point until = saturating_add(now.steady, request.lease_for);
    // The copy first, since it may fail.
    weir::lease& made = answer.emplace_back(
        weir::lease{.key = {r.job.id, r.token + 1}, .job = r.job, .until = until});
    ++made.job.attempt;
    move(r, [&] {
      ++r.job.attempt;
      ++r.token;
      r.lease_until = until;
      r.state = job_state::leased;
    });
  }
}

job_table::record* job_table::leased_by(const lease_key& key) {
  const auto at = jobs_.find(key.id);
  if (at == jobs_.end() || at->second.state != job_state::leased || at->second.token != key.token)
    return nullptr;
  return &at->second;
}

error_code job_table::settle(const settle_request& request, queue_time now) {
  record* const r = leased_by(request.key);
  if (!r) return errc::lease_lost;
  switch (request.how) {
    case settlement::ack:
      r->result = request.text;
      end(*r, job_state::done, now.wall);
      break;
    case settlement::nack:
      if (request.dead || r->job.attempt >= r->job.max_attempts) {
        bury(*r, request.text);
      } else {
        r->reason = request.text;
        run_again(*r, saturating_add(now.wall, request.time), now.wall);
      }
      break;
    case settlement::release:
      --r->job.attempt;
      run_again(*r, saturating_add(now.wall, request.time), now.wall);
      break;
    case settlement::extend:
      move(*r, [&] { r->lease_until = saturating_add(now.steady, request.time); });
      break;
  }
  return {};
}

bool job_table::cancel(job_id id, queue_time now) {
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return false;
  switch (at->second.state) {
    case job_state::ready:
    case job_state::scheduled:
    case job_state::leased:
      end(at->second, job_state::cancelled, now.wall);
      return true;
    case job_state::done:
    case job_state::cancelled:
    case job_state::dead:
      break;
  }
  return false;
}

std::optional<job_status> job_table::find(job_id id, queue_time now) {
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return std::nullopt;
  const record& r = at->second;
  const bool kept = r.state == job_state::done || r.state == job_state::cancelled;
  if (kept && r.kept_until <= now.wall) return std::nullopt;
  return job_status{.job = r.job, .state = r.state, .result = r.result, .reason = r.reason};
}

queue_stats job_table::stats() {
  queue_stats s;
  for (const auto& [kind, entry] : kinds_) s.ready += entry.ready.size();
  s.scheduled = scheduled_.size();
  s.leased = leased_.size();
  s.done = done_.size();
  s.cancelled = cancelled_.size();
  s.dead = dead_.size();
  return s;
}

std::vector<job_status> job_table::dead_letters(const dead_letters_request& request) {
  std::vector<job_status> page;
  for (auto at = dead_.upper_bound({request.after, 0, request.after});
       at != dead_.end() && page.size() < static_cast<std::size_t>(request.limit); ++at) {
    const record& r = jobs_.at(at->back());
    page.push_back({.job = r.job, .state = r.state, .result = r.result, .reason = r.reason});
  }
  return page;
}

std::size_t job_table::bury(const bury_request& request, queue_time now) {
  std::size_t count = 0;
  for (const job_id id : request.ids) {
    const auto at = jobs_.find(id);
    if (at == jobs_.end() || at->second.state != job_state::dead) continue;
    record& r = at->second;
    if (!request.requeue) {
      erase(r);
    } else {
      // A key that is held for a time was held from the first on, and is not taken again.
      const bool takes_key = r.unique_for == duration::zero();
      if (takes_key && holder_of(r.job.unique_key, now.wall)) continue;
      if (takes_key) hold_key(r, now.wall);
      r.job.attempt = 0;
      run_again(r, now.wall, now.wall);
    }
    ++count;
  }
  return count;
}

}  // namespace weir::detail
