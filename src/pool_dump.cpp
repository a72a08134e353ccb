// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/pool_core.hpp>
#include <weir/task_dump.hpp>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>

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

}  // namespace

task_dump pool_core::dump() const {
  // Asked before this pool's lock is taken: they take their own, and this pool is one of them.
  const waits_of_workers waits;
  task_dump d{options_.name, {}};
  std::size_t expected = 0;
  {
    const std::lock_guard lock(mutex_);
    expected = active_ + queued();
  }
  // Not where the workers wait for it; a few more may have come meanwhile.
  d.tasks.reserve(expected + 64);
  const time_point now = steady_clock::now();
  const auto add = [&](const task_record& record, task_state state, cancel_cause cause) {
    const bool began = state != task_state::queued && state != task_state::in_lane;
    task_info& t = d.tasks.emplace_back();
    t.id = record.id.empty() ? task_record::made_up(record.serial) : record.id;
    t.user = record.user;
    t.priority = record.priority;
    if (record.lane) t.lane = record.lane->lane_name();
    t.state = state;
    t.cause = cause;
    t.age = now - record.accepted_at;
    if (began) t.ran = now - record.started_at;
    if (began && record.deadline != time_point::max()) t.left = record.deadline - now;
    t.spawned = record.spawned;
    if (began) t.hogs = record.runner->hogged_for(now);
    if (began) t.waits_for = waits.of(*record.runner, record.started_at);
  };
  std::size_t running = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& w : workers_)
      if (const task_record* record = w->running()) {
        const auto [state, cause] = w->state_of_task();
        add(*record, state, cause);
      }
    running = d.tasks.size();
    queue_.for_each([&](const run_queue::node& node) {
      add(static_cast<const task_record&>(node), task_state::queued, cancel_cause::none);
    });
    lanes_.for_each_following(
        [&](const lane_table::place& p) { add(*p.task, task_state::in_lane, cancel_cause::none); });
  }
  const auto older = [](const task_info& a, const task_info& b) { return a.age > b.age; };
  const auto middle = d.tasks.begin() + static_cast<std::ptrdiff_t>(running);
  std::stable_sort(d.tasks.begin(), middle,
                   [](const task_info& a, const task_info& b) { return a.ran > b.ran; });
  std::stable_sort(middle, d.tasks.end(), older);
  return d;
}

}  // namespace weir::detail
