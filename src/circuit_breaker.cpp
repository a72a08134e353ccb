// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/circuit_breaker.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/require.hpp>
#include <weir/detail/spin_mutex.hpp>

#include <atomic>
#include <mutex>
#include <optional>

namespace weir {

namespace {

constexpr const char* self = "weir::circuit_breaker";

}  // namespace

namespace detail {

/// What a circuit breaker is. Calls share it, so that they may outlive the breaker.
///
/// Thread safety: safe.
class circuit_breaker_core : public std::enable_shared_from_this<circuit_breaker_core> {
 public:
  circuit_breaker_core(const breaker_options& options, breaker_hooks hooks, std::string name)
      : hooks_(std::move(hooks)),
        name_(std::move(name)),
        state_((require(options.valid(), self), options), steady_clock::now()),
        slow_call_(options.slow_call > duration::zero()),
        timed_(state_.timed()),
        free_generation_(state_.free_generation()) {}

  const breaker_options& options() const noexcept { return state_.options(); }

  breaker_call try_acquire() {
    // While it is closed a call needs no lock, and the clock, which costs more than a lock, only
    // where somebody will look at the time.
    if (const auto free = free_generation_.load(std::memory_order_acquire))
      return {shared_from_this(), {free, slow_call_ ? steady_clock::now() : time_point()}};
    std::optional<breaker_state::call> call;
    change([&](time_point now) { call = state_.try_begin(now); });
    if (!call) return {};
    return {shared_from_this(), *call};
  }

  void succeed(const breaker_state::call& c) {
    if (!timed_ && succeed_untimed(c)) return;
    change([&](time_point now) { state_.succeed(c, now); });
  }

  void fail(const breaker_state::call& c) {
    change([&](time_point now) { state_.fail(c, now); });
  }

  void drop(const breaker_state::call& c) noexcept {
    const std::lock_guard lock(mutex_);
    state_.drop(c);
  }

  void trip(duration d) {
    require(d > duration::zero(), self);
    change([&](time_point now) { state_.trip(d, now); });
  }

  void reset() {
    change([&](time_point now) { state_.reset(now); });
  }

  void disable() {
    change([&](time_point now) { state_.disable(now); });
  }

  circuit state() const {
    const std::lock_guard lock(mutex_);
    return state_.state();
  }

  time_point retry_at() const {
    const std::lock_guard lock(mutex_);
    return state_.retry_at(steady_clock::now());
  }

  breaker_metrics metrics() const {
    const std::lock_guard lock(mutex_);
    return state_.metrics(steady_clock::now());
  }

  bool is_failure(const std::exception_ptr& e) const {
    return !hooks_.is_failure || hooks_.is_failure(e);
  }

  void inspect(inspector& to) const {
    const int probing = metrics().probing;
    if (probing != 0) to.on_hold(this, name_, "probe", static_cast<std::size_t>(probing));
  }

 private:
  /// Counts a success of the closed state without a look at the clock.
  bool succeed_untimed(const breaker_state::call& c) noexcept {
    const std::lock_guard lock(mutex_);
    if (state_.free_generation() != c.generation) return false;
    state_.succeed(c, {});
    return true;
  }

  /// Does `f(now)`, and tells of the change of state that it brings about, if any.
  template <typename F>
  void change(F f) {
    // Outside the lock: it is the longest part. The policy bears times that are out of order.
    const time_point now = steady_clock::now();
    breaker_change made;
    {
      const std::lock_guard lock(mutex_);
      made.from = state_.state();
      const std::uint64_t before = state_.transitions();
      f(now);
      free_generation_.store(state_.free_generation(), std::memory_order_release);
      if (state_.transitions() == before) return;
      made.to = state_.state();
      made.at = now;
      made.number = before + 1;
    }
    if (hooks_.on_change) hooks_.on_change(made);
  }

  const breaker_hooks hooks_;
  const std::string name_;

  mutable spin_mutex mutex_;
  mutable breaker_state state_;
  const bool slow_call_;
  const bool timed_;
  std::atomic<std::uint64_t> free_generation_;  ///< written under the lock

  inspectable inspectable_{*this};
};

breaker_call begin_call(const std::shared_ptr<circuit_breaker_core>& core) {
  if (breaker_call call = core->try_acquire()) return call;
  throw boost::system::system_error(errc::breaker_open);
}

void end_call(const circuit_breaker_core& core, breaker_call& call, const std::exception_ptr& e) {
  if (!call) return;  // it had ended well, and `on_change` has thrown
  if (core.is_failure(e))
    call.failure();
  else
    call.success();
}

}  // namespace detail

breaker_call::~breaker_call() {
  if (core_) core_->drop(call_);
}

void breaker_call::success() {
  if (const auto core = std::exchange(core_, nullptr)) core->succeed(call_);
}

void breaker_call::failure() {
  if (const auto core = std::exchange(core_, nullptr)) core->fail(call_);
}

circuit_breaker::circuit_breaker(const breaker_options& options, breaker_hooks hooks,
                                 std::string name)
    : core_(std::make_shared<detail::circuit_breaker_core>(options, std::move(hooks),
                                                           std::move(name))) {}

circuit_breaker::~circuit_breaker() = default;

breaker_call circuit_breaker::try_acquire() { return core_->try_acquire(); }

void circuit_breaker::trip() { core_->trip(core_->options().open_for); }

void circuit_breaker::trip(duration d) { core_->trip(d); }

void circuit_breaker::reset() { core_->reset(); }

void circuit_breaker::disable() { core_->disable(); }

const breaker_options& circuit_breaker::options() const noexcept { return core_->options(); }

circuit circuit_breaker::state() const { return core_->state(); }

time_point circuit_breaker::retry_at() const { return core_->retry_at(); }

breaker_metrics circuit_breaker::metrics() const { return core_->metrics(); }

}  // namespace weir
