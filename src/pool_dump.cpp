// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/pool_core.hpp>
#include <weir/task_dump.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::detail {

namespace {

/// What the workers' coroutines wait for, of all that weir's objects know of.
class waits_of_workers final : public inspector {
 public:
  struct wait {
    std::string what;
    time_point since;
  };

  waits_of_workers() { inspectable::ask_all(*this); }

  /// What a task that started at `start` waits for; empty where that is not known.
  std::string of(const worker& w, time_point start) const {
    const auto found = waits_.find(&w);
    // A wait that began before the task did is another's.
    return found == waits_.end() || found->second.since < start ? std::string()
                                                                : found->second.what;
  }

  void on_wait(const void*, std::string_view name, std::string_view what, time_point since,
               const boost::asio::any_io_executor& waiter) override {
    const auto* task = waiter.target<worker_executor>();
    if (!task) return;
    std::string text(what);
    if (!name.empty()) text.append(" of '").append(name).append("'");
    waits_[&task->owner()] = {std::move(text), since};
  }
  void on_hold(const void*, std::string_view, std::string_view, std::size_t) override {}

 private:
  std::unordered_map<const worker*, wait> waits_;
};

/// So many are looked at before the lock is let go of. Few, so that a worker that waits for it
/// still spins then: one that has gone to sleep comes too late for it again and again.
constexpr std::size_t portion = 8;

/// Time for one that spins to take it.
void give_way() noexcept {
  for (int i = 0; i < 16; ++i) spin_pause();
}

struct unlocked_for_now {
  explicit unlocked_for_now(std::unique_lock<spin_mutex>& l) : lock(l) { lock.unlock(); }
  unlocked_for_now(const unlocked_for_now&) = delete;
  unlocked_for_now& operator=(const unlocked_for_now&) = delete;
  ~unlocked_for_now() { lock.lock(); }
  std::unique_lock<spin_mutex>& lock;
};

/// What is copied of a task under the lock; the rest is made of it later.
struct looked_at {
  task_info info;
  std::uint64_t serial = 0;
  time_point accepted_at{};
  time_point started_at{};
  time_point deadline{};
  const worker* runner = nullptr;  ///< null while it waits

  void copy(const task_record& record, const worker* runs) {
    info.id = record.id;
    info.user = record.user;
    info.priority = record.priority;
    if (record.lane)
      info.lane = record.lane->lane_name();
    else
      info.lane.clear();
    info.spawned = record.spawned;
    serial = record.serial;
    accepted_at = record.accepted_at;
    started_at = record.started_at;
    deadline = record.deadline;
    runner = runs;
    if (runner) {
      std::tie(info.state, info.cause) = runner->state_of_task();
      info.hogs = runner->hogged_for(steady_clock::now());
    } else {
      info.state = record.lane && record.lane->follows() ? task_state::in_lane : task_state::queued;
      info.cause = cancel_cause::none;
      info.hogs = {};
    }
  }

  /// In the order of a dump.
  bool goes_before(const looked_at& other) const noexcept {
    if (!runner || !other.runner) return runner || (!other.runner && serial < other.serial);
    return std::tie(started_at, serial) < std::tie(other.started_at, other.serial);
  }
};

}  // namespace

template <typename Look, typename Pause>
void pool_core::walk(Look look, Pause pause) const {
  const std::lock_guard alone(walking_);
  const std::uint64_t number = ++walks_;
  std::unique_lock lock(mutex_);
  const std::uint64_t last = submitted_;
  std::size_t seen = 0;
  const auto visit = [&](const task_record* record, const worker* runner) {
    if (record && record->serial <= last && std::exchange(record->walk, number) != number)
      look(*record, runner);
    if (++seen % portion != 0) return;
    const unlocked_for_now others(lock);
    pause();
    give_way();
  };
  // In the order in which a task goes through them, so that none gets past.
  lanes_.begin_walk();
  while (const lane_table::place* const p = lanes_.next_of_walk())
    visit(p->follows() ? p->task : nullptr, nullptr);
  queue_.begin_walk();
  while (const run_queue::node* const node = queue_.next_of_walk())
    visit(static_cast<const task_record*>(node), nullptr);
  for (std::size_t i = 0; i < workers_.size(); ++i)
    visit(workers_[i]->running(), workers_[i].get());
  lock.unlock();
  pause();
}

void pool_core::inspect(inspector& to) const {
  {
    const std::lock_guard lock(mutex_);
    waiting_.for_each([&](const room_claim& c) {
      to.on_wait(this, options_.name, c.submits ? "pool submit" : "pool reserve", c.since,
                 c.caller());
    });
  }
  walk(
      [&](const task_record& record, const worker* runner) {
        if (runner)
          runner->inspect(to);
        else if (record.has_caller())
          to.on_wait(this, options_.name, "pool result", record.accepted_at, record.caller());
      },
      [] {});
  const std::lock_guard lock(mutex_);
  to.on_hold(this, options_.name, "running task", active_);
  to.on_hold(this, options_.name, "queued task", queued());
  to.on_hold(this, options_.name, "reserved room", reserved_);
  to.on_hold(this, options_.name, "user with a slot", users_.size());
  to.on_hold(this, options_.name, "tenant with a slot", tenants_.size());
}

task_dump pool_core::dump() const {
  // Asked before the walk: they take their own locks, and this pool is one of them.
  const waits_of_workers waits;
  // The strings of these are used again for each portion, so that under the lock hardly any memory
  // is asked for.
  std::vector<looked_at> few(portion);
  std::size_t count = 0;
  std::vector<looked_at> all;
  all.reserve(live());
  const time_point now = steady_clock::now();
  walk([&](const task_record& record, const worker* runner) { few[count++].copy(record, runner); },
       [&] {
         for (std::size_t i = 0; i < count; ++i) all.push_back(few[i]);
         count = 0;
       });
  std::vector<looked_at*> order;
  order.reserve(all.size());
  for (looked_at& t : all) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->goes_before(*b); });
  task_dump d{options_.name, {}};
  d.tasks.reserve(all.size());
  for (looked_at* const next : order) {
    looked_at& t = *next;
    if (t.info.id.empty()) t.info.id = task_record::made_up(t.serial);
    t.info.age = std::max(now - t.accepted_at, duration::zero());
    if (t.runner) {
      t.info.ran = std::max(now - t.started_at, duration::zero());
      if (t.deadline != time_point::max()) t.info.left = t.deadline - now;
      t.info.waits_for = waits.of(*t.runner, t.started_at);
    }
    d.tasks.push_back(std::move(t.info));
  }
  return d;
}

}  // namespace weir::detail
