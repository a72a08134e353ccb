// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/context_end.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/group_core.hpp>
#include <weir/detail/require.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/system/system_error.hpp>

#include <cstdio>
#include <mutex>

namespace weir::detail {

namespace asio = boost::asio;

namespace {

std::size_t checked_limit(const group_options& options) {
  require(options.limit >= 1 && options.on_error.valid(), "weir::task_group");
  return static_cast<std::size_t>(options.limit);
}

std::exception_ptr as_exception(const error_code& ec) {
  return std::make_exception_ptr(boost::system::system_error(ec));
}

}  // namespace

group_runner::group_runner(std::shared_ptr<group_core> core, const asio::any_io_executor& inner,
                           const asio::any_io_executor& never)
    : member_strand(core.get(), inner, never), group_(core.get()), core_(std::move(core)) {}

group_runner* group_runner::current(const group_core* group) noexcept {
  member_strand* const strand = member_strand::current();
  return strand && strand->owner() == group ? static_cast<group_runner*>(strand) : nullptr;
}

void group_runner::on_turn() {
  if (!parked_) {
    group_->launch(std::move(core_), shared());
    return;
  }
  auto handler = *std::move(parked_);
  parked_.reset();
  std::move(handler)();
}

void group_runner::on_turn_lost() noexcept {
  const auto core = group_->shared_from_this();
  core_.reset();
  parked_.reset();
  core->unwound(*this);
}

group_core::group_core(asio::any_io_executor ex, const group_options& options, bool has_values)
    : keeps_members_(has_values ||
                     options.on_error.is() != error_policy::kind::first_error_cancels),
      executor_(std::move(ex)),
      never_(asio::require(executor_, asio::execution::blocking.never)),
      limit_(checked_limit(options)),
      policy_(options.on_error),
      unwaited_(options.unwaited),
      name_(options.name),
      context_ended_(context_end::flag(executor_)),
      exceptions_(std::uncaught_exceptions()) {}

group_core::~group_core() {
  while (const group_member* m = kept_.pop()) delete m;
}

std::size_t group_core::members() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

std::size_t group_core::waiters() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

void group_core::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  waiting_.for_each(
      [&](const spawn_waiter& w) { to.on_wait(this, name_, "group spawn", w.since, w.caller()); });
  if (joiner_) to.on_wait(this, name_, "group wait", joiner_->since, joiner_->caller());
  to.on_hold(this, name_, "group member", live_);
}

void group_core::perform(todo& t) {
  if (t.wake) t.wake->post_turn();
  while (spawn_waiter* w = t.served.pop()) w->complete({});
  if (t.tell) tell_members();
  while (spawn_waiter* w = t.refused.pop()) {
    w->member.reset();
    w->refuse(errc::group_closed);
  }
  while (group_runner* r = t.dismissed) {
    t.dismissed = r->next_idle;
    r->post_turn();
  }
  if (t.joiner) t.joiner->complete(std::move(t.outcome));
}

void group_core::tell_members() {
  // One at a time: the list is under the lock, and the executor is the user's.
  for (;;) {
    std::shared_ptr<group_runner> r;
    {
      const std::lock_guard lock(mutex_);
      group_runner* const first = running_.pop();
      if (!first) return;
      first->told = true;
      told_.push(*first);
      r = first->shared();
    }
    group_runner& to = *r;
    to.execute(
        [r = std::move(r)] {
          if (r->member) r->signal.emit(asio::cancellation_type::terminal);
        },
        true);
  }
}

// --- spawning ------------------------------------------------------------------------------------

bool group_core::closed() const noexcept {
  if (!goes_on()) return true;
  if (!waited_) return false;
  if (live_ == 0 || policy_.is() == error_policy::kind::quorum) return true;
  const group_runner* const by = group_runner::current(this);
  return !by || by->number == 0;
}

void group_core::give(group_runner& r, std::unique_ptr<group_member>&& m) noexcept {
  r.member = m.release();
  if (keeps_members_) kept_.push(*r.member);
  r.number = ++spawned_;
  ++live_;
  running_.push(r);
}

error_code group_core::admit(std::unique_ptr<group_member>& m, todo& t) {
  if (closed()) return errc::group_closed;
  if (live_ == limit_) return errc::group_limit;
  if (!work_) work_.emplace(asio::prefer(executor_, asio::execution::outstanding_work.tracked));
  if (idle_) {
    t.wake = std::exchange(idle_, idle_->next_idle);
  } else {
    fault_point();
    t.made = std::make_shared<group_runner>(shared_from_this(), executor_, never_);
    t.wake = t.made.get();
  }
  give(*t.wake, std::move(m));
  return {};
}

error_code group_core::try_spawn(std::unique_ptr<group_member>&& m) {
  todo t;
  error_code ec;
  {
    const std::lock_guard lock(mutex_);
    ec = admit(m, t);
  }
  perform(t);
  return ec;
}

bool group_core::spawn_now(std::unique_ptr<group_member>& m, error_code& ec) {
  ec = try_spawn(std::move(m));
  return ec != errc::group_limit;
}

void group_core::enter(spawn_waiter& w, std::unique_ptr<group_member>&& m) {
  todo t;
  error_code ec;
  {
    const std::lock_guard lock(mutex_);
    ec = admit(m, t);
    if (ec == errc::group_limit) {
      group_runner* const by = group_runner::current(this);
      const bool is_member = by && by->number != 0;
      // Where all who hold a slot wait for one, none will come free.
      if (!is_member || by->spawning != 0 || spawning_ + 1 < live_) {
        if (is_member) {
          if (by->spawning++ == 0) ++spawning_;
          w.by = by->shared();
          w.by_member = by->number;
        }
        w.member = std::move(m);
        waiting_.push(w);
        return;
      }
    }
  }
  m.reset();
  perform(t);
  w.complete(ec);
}

void group_core::take_back(spawn_waiter& w) noexcept {
  // The member that waited may have ended; its runner may have another by now.
  if (w.by && w.by->number == w.by_member && --w.by->spawning == 0) --spawning_;
}

bool group_core::leave(spawn_waiter& w) {
  todo t;
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.erase(w)) return false;
    take_back(w);
    judge(t);
    settle(t);
  }
  w.member.reset();
  perform(t);
  return true;
}

// --- the end -------------------------------------------------------------------------------------

void group_core::halt(stop why, todo& t) noexcept {
  stop_.store(why, std::memory_order_release);
  waiting_.pop_if(t.refused, [](const spawn_waiter&) { return true; });
  t.refused.for_each([this](spawn_waiter& w) { take_back(w); });
  t.dismissed = std::exchange(idle_, nullptr);
  t.tell = !running_.empty();
}

void group_core::judge(todo& t) noexcept {
  if (!goes_on()) return;
  const bool complete = waited_ && policy_.is() == error_policy::kind::quorum;
  switch (policy_.judge({succeeded_, failed_, live_ + waiting_.size(), complete})) {
    case error_policy::verdict::go_on:
      break;
    case error_policy::verdict::succeed:
      halt(stop::success, t);
      break;
    case error_policy::verdict::fail:
      halt(stop::error, t);
      break;
  }
}

std::exception_ptr group_core::outcome() const noexcept {
  if (wait_cancelled_) return as_exception(asio::error::operation_aborted);
  switch (stop_.load(std::memory_order_relaxed)) {
    case stop::no:
    case stop::success:
      break;
    case stop::error:
      return first_error_;
    case stop::cancel:
      if (policy_.is() != error_policy::kind::collect_all)
        return as_exception(asio::error::operation_aborted);
      break;
    case stop::invalid:
      return as_exception(errc::invalid_argument);
  }
  return nullptr;
}

void group_core::settle(todo& t) noexcept {
  if (live_ != 0) return;
  t.work = std::exchange(work_, std::nullopt);
  if (!joiner_) return;
  t.joiner = std::exchange(joiner_, nullptr);
  t.outcome = outcome();
}

void group_core::cancel() {
  todo t;
  {
    const std::lock_guard lock(mutex_);
    if (goes_on()) halt(stop::cancel, t);
  }
  perform(t);
}

void group_core::wait(group_waiter& w) {
  todo t;
  bool refused = false;
  {
    const std::lock_guard lock(mutex_);
    const group_runner* const by = group_runner::current(this);
    refused = waited_ || (by && by->number != 0);
    if (!refused) {
      waited_ = true;
      w.since = steady_clock::now();
      joiner_ = &w;
      if (goes_on()) {
        if (policy_.is() == error_policy::kind::quorum &&
            spawned_ + waiting_.size() < static_cast<std::size_t>(policy_.number()))
          halt(stop::invalid, t);
        else
          judge(t);
      }
      // Runners that have nothing to do are not needed for what members may still spawn.
      if (idle_) t.dismissed = std::exchange(idle_, nullptr);
      settle(t);
    }
  }
  if (refused) w.refuse(errc::invalid_argument);
  perform(t);
}

void group_core::cancel_wait(const group_waiter& w) {
  todo t;
  {
    const std::lock_guard lock(mutex_);
    if (joiner_ != &w) return;
    wait_cancelled_ = true;
    if (goes_on()) halt(stop::cancel, t);
  }
  perform(t);
}

void group_core::abandon() {
  todo t;
  bool unwaited = false;
  std::size_t live = 0;
  {
    const std::lock_guard lock(mutex_);
    unwaited = spawned_ != 0 && !waited_;
    live = live_;
    if (goes_on()) halt(stop::cancel, t);
  }
  perform(t);
  if (!unwaited || context_ended_->load()) return;
  std::fprintf(stderr,
               "weir: task_group '%s' is destroyed without async_wait; of its members %zu have not "
               "ended and are cancelled\n",
               name_.c_str(), live);
  // An exception on its way says more than this would.
  if (unwaited_ == unwaited_policy::terminate && std::uncaught_exceptions() <= exceptions_)
    std::terminate();
}

// --- the runners ---------------------------------------------------------------------------------

void group_core::classify(ending& how) const noexcept {
  if (how.aborted && !goes_on()) how.error = nullptr;
}

void group_core::retire_member(group_runner& r, const ending& how,
                               std::unique_ptr<group_member>& gone) noexcept {
  (r.told ? told_ : running_).erase(r);
  if (!keeps_members_) gone.reset(r.member);
  r.member = nullptr;
  r.number = 0;
  if (std::exchange(r.spawning, 0) != 0) --spawning_;
  --live_;
  if (how.error && !first_error_) first_error_ = how.error;
  ++(how.value ? succeeded_ : how.error ? failed_ : cancelled_);
}

group_core::next group_core::finish(group_runner& r, ending how) noexcept {
  todo t;
  std::unique_ptr<group_member> gone;
  next then = next::end;
  {
    const std::lock_guard lock(mutex_);
    retire_member(r, how, gone);
    judge(t);
    if (goes_on() && !waiting_.empty()) {
      spawn_waiter& w = waiting_.pop();
      take_back(w);
      give(r, std::move(w.member));
      t.served.push(w);
      then = next::run;
    } else if (goes_on() && !waited_) {
      r.next_idle = std::exchange(idle_, &r);
      then = next::park;
    }
    settle(t);
  }
  gone.reset();
  perform(t);
  return then;
}

void group_core::unwound(group_runner& r) noexcept {
  if (!r.member) return;  // it was woken to end
  r.member->drop();
  // Where nobody has asked for it, it is an error.
  ending how{.aborted = true, .error = as_exception(asio::error::operation_aborted)};
  classify(how);
  if (how.error) r.member->fail(how.error);
  todo t;
  std::unique_ptr<group_member> gone;
  {
    const std::lock_guard lock(mutex_);
    retire_member(r, how, gone);
    // Whatever the policy: the context may be about to go, and this runner is lost to those who
    // wait.
    if (goes_on()) halt(stop::error, t);
    settle(t);
  }
  gone.reset();
  perform(t);
}

}  // namespace weir::detail
