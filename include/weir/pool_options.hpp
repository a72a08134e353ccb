// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_POOL_OPTIONS_HPP
#define WEIR_POOL_OPTIONS_HPP

#include <weir/clock.hpp>
#include <weir/codel.hpp>
#include <weir/pool_observer.hpp>
#include <weir/run_queue.hpp>
#include <weir/usable_cpus.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

/// How many workers a pool has unless told otherwise: four to each usable CPU, for work that
/// mostly waits. Affinity mask and cgroup quota are respected; see `usable_cpus`.
inline int default_workers() { return usable_cpus() * 4; }

/// The limits of a pool. Out-of-range values are clamped as each line says.
struct pool_options {
  /// Tasks that run at once; below 1 becomes 1.
  int workers = default_workers();

  /// OS threads of a pool that owns its threads; 0 or less: as many as `workers`. A task that
  /// blocks holds its thread, so fewer threads than workers suit tasks that only await.
  int threads = 0;

  /// Tasks that may wait for a worker; below 1 becomes 1.
  int queue_size = 100;

  /// Slots, queued and running together, that one user may hold; below 1 becomes 0: no cap.
  int max_per_user = 2;

  /// Tasks of one user that may wait: for a worker, for their lane, or for room in the queue. One
  /// more is refused with `user_queue_full`, so that a user who sends more than the workers take
  /// does not fill the queue for all others, however many of its tasks may run. Below 1 becomes 0:
  /// no limit.
  int max_queued_per_user = 0;

  /// Slots that the users of one tenant may hold together, as those of an organisation; each of
  /// them has its own limits within that. Below 1 becomes 0: no cap.
  int max_per_tenant = 0;

  /// Whose user it is, which is asked in each submission where `max_per_tenant` is on. Returns a
  /// part of what it is given, or what outlives the call; does not throw; is called from any
  /// thread. Null: what comes before the first '/' of the name, and all of it where there is none.
  std::function<std::string_view(std::string_view user)> tenant_of = nullptr;

  /// Tasks, queued and running together, that one lane may have, so that a hot one cannot take the
  /// queue's room from the others; below 1 becomes 0: no limit. See `task::lane`.
  int max_per_lane = 0;

  /// Run deadline of a task that names none, counted from its start; zero or less: none.
  duration task_timeout = std::chrono::minutes(10);

  /// How long a task may wait for a worker. One that has waited longer is shed: it ends with
  /// `queue_wait_expired` and never runs, so that what does run is wanted still. Zero or less: no
  /// end.
  duration max_queue_wait = {};

  /// What to do under overload: with a `target` above zero, tasks are shed by the policy `codel` as
  /// by `max_queue_wait`, and while it says overload the newest task goes first. With priorities
  /// that is the newest of its priority, and in a fair discipline the newest of its user, whose
  /// turn is as before.
  codel_options codel = {};

  /// From the moment a task is cancelled to the moment it is reported as stuck; negative becomes
  /// zero.
  duration grace = std::chrono::seconds(5);

  /// How many workers at most stand in for tasks that are stuck: from when one is reported as stuck
  /// until its frame ends, one task more runs at once. Its slots, and its lane, stay held. Below 1
  /// becomes 0: a stuck task costs the pool a worker.
  ///
  /// A pool that owns its threads starts so many more than `threads` says, since a task that blocks
  /// its thread takes that with it; they serve all tasks alike, stuck or not.
  int stuck_replacements = 0;

  /// A task that has held its thread for so long without suspending is a hog, of which the observer
  /// and the metrics tell; see `pool_observer::on_task_hogging`. It is noticed half as much later
  /// at most. Zero or less: nobody looks. Below 1 ms becomes 1 ms.
  ///
  /// Of a pool on a borrowed executor a hog is seen while another thread of that is free. On a
  /// single thread none is: whoever would look waits for that thread too.
  duration hog_after = {};

  /// How long the caller of a `co_spawn` is kept waiting for a task that was cancelled and does
  /// not end. Then the caller gets its error and the task keeps its slot until its frame ends.
  /// `duration::max()`: the caller always waits for the end, so that the task may refer to what
  /// its caller owns. Negative becomes zero.
  duration answer_after = std::chrono::milliseconds(100);

  /// Which of the tasks that wait runs next.
  weir::discipline discipline = weir::discipline::fifo;

  /// With priorities: how long a task waits to be the equal of one that comes with a priority that
  /// is greater by one. Zero or less: the greater priority always goes first.
  duration aging = std::chrono::seconds(1);

  /// With a fair discipline: how many tasks of a user start in its turn. Who is not listed has one;
  /// below 1 becomes 1.
  std::map<std::string, int, std::less<>> weights = {};

  /// Told of what happens to tasks; may be null.
  std::shared_ptr<pool_observer> observer = nullptr;

  /// What reports call this pool.
  std::string name = {};
};

}  // namespace weir

#endif  // WEIR_POOL_OPTIONS_HPP
