// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/deadline_keeper.hpp>
#include <weir/detail/pool_core.hpp>
#include <weir/detail/worker.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

deadline_keeper::~deadline_keeper() {
  for (deadline_group* group = newest_.load(); group;) delete std::exchange(group, group->next);
}

void deadline_keeper::add(worker& w) {
  deadline_group* group = newest_.load(std::memory_order_relaxed);
  if (!group || group->count.load(std::memory_order_relaxed) == deadline_group::capacity) {
    group = new deadline_group(executor_, group);
    newest_.store(group, std::memory_order_release);
  }
  const std::size_t place = group->count.load(std::memory_order_relaxed);
  group->members[place] = &w;
  w.group = group;
  group->count.store(place + 1, std::memory_order_release);
}

void deadline_keeper::tell(pool_core& core, deadline_group& group) {
  boost::asio::post(
      executor_, [self = core.shared_from_this(), &group] { self->keeper().settle(self, group); });
}

void deadline_keeper::rest(pool_core& core) {
  for (deadline_group* group = newest_.load(std::memory_order_acquire); group; group = group->next)
    if (group->told.load(std::memory_order_relaxed) != time_point::max()) tell(core, *group);
  if (queue_watched_.load(std::memory_order_relaxed)) tell_queue(core);
  if (hogs_watched_.load(std::memory_order_relaxed)) tell_hogs(core);
}

void deadline_keeper::abandon_context() noexcept {
  for (deadline_group* group = newest_.load(); group; group = group->next) group->timer.reset();
  queue_timer_.reset();
  hog_timer_.reset();
  executor_ = {};
}

void deadline_keeper::settle(const std::shared_ptr<pool_core>& core, deadline_group& group) {
  if (core->context_gone()) return;
  group.told.store(time_point::max(), std::memory_order_seq_cst);
  const time_point now = steady_clock::now();
  time_point next = time_point::max();
  const std::size_t count = group.count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    worker& w = *group.members[i];
    worker::standing s = w.look();
    if (s.now != worker::phase::idle && s.due <= now) {
      if (s.now == worker::phase::running)
        w.cancel(s.epoch, cancel_cause::timeout);
      else if (const auto stuck = w.overdue(s.epoch, now))
        core->on_stuck(*stuck);
      s = w.look();
    }
    if (s.now != worker::phase::idle) next = std::min(next, s.due);
  }
  if (next == time_point::max()) {
    group.timer->cancel();
    group.pending = next;
    return;
  }
  group.told.store(next, std::memory_order_seq_cst);
  if (next == group.pending) return;
  group.pending = next;
  group.timer->expires_at(next);
  group.timer->async_wait([core, &group](const error_code& ec) {
    if (ec) return;  // armed anew or put to rest meanwhile
    group.pending = time_point::max();
    core->keeper().settle(core, group);
  });
}

void deadline_keeper::watch_queue(pool_core& core) {
  if (!queue_watched_.load(std::memory_order_acquire) &&
      !queue_watched_.exchange(true, std::memory_order_acq_rel))
    tell_queue(core);
}

void deadline_keeper::tell_queue(pool_core& core) {
  boost::asio::post(executor_,
                    [self = core.shared_from_this()] { self->keeper().settle_queue(self); });
}

void deadline_keeper::settle_queue(const std::shared_ptr<pool_core>& core) {
  if (core->context_gone()) return;
  // Whoever joins the queue after `shed` has looked, under the pool's lock, tells again.
  queue_watched_.store(false, std::memory_order_release);
  const time_point next = core->shed(steady_clock::now());
  if (!queue_timer_) queue_timer_.emplace(executor_);
  if (next == time_point::max()) {
    queue_timer_->cancel();
    return;
  }
  queue_watched_.store(true, std::memory_order_release);
  queue_timer_->expires_at(next);
  queue_timer_->async_wait([core](const error_code& ec) {
    if (!ec) core->keeper().settle_queue(core);
  });
}

void deadline_keeper::tell_hogs(pool_core& core) {
  boost::asio::post(executor_,
                    [self = core.shared_from_this()] { self->keeper().settle_hogs(self); });
}

void deadline_keeper::settle_hogs(const std::shared_ptr<pool_core>& core) {
  if (core->context_gone()) return;
  if (!hog_timer_) hog_timer_.emplace(executor_);
  if (!look_for_hogs(*core)) {
    hogs_watched_.store(false, std::memory_order_seq_cst);
    // A task that started after the look may have seen that somebody looks.
    if (!look_for_hogs(*core)) {
      hog_timer_->cancel();
      return;
    }
    hogs_watched_.store(true, std::memory_order_seq_cst);
  }
  hog_timer_->expires_after(core->options().hog_after / 2);
  hog_timer_->async_wait([core](const error_code& ec) {
    if (!ec) core->keeper().settle_hogs(core);
  });
}

bool deadline_keeper::look_for_hogs(pool_core& core) {
  const time_point now = steady_clock::now();
  bool runs = false;
  std::size_t hogs = 0;
  for (deadline_group* group = newest_.load(std::memory_order_acquire); group;
       group = group->next) {
    const std::size_t count = group->count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      worker& w = *group->members[i];
      const worker::standing s = w.look();
      if (s.now != worker::phase::idle) runs = true;
      if (const auto held = w.look_for_hog(now, core.options().hog_after))
        core.on_hog(w, s.epoch, *held);
      if (w.hogs()) ++hogs;
    }
  }
  core.on_hogs(hogs);
  return runs;
}

}  // namespace weir::detail
