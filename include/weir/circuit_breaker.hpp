// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_CIRCUIT_BREAKER_HPP
#define WEIR_CIRCUIT_BREAKER_HPP

#include <weir/breaker_state.hpp>
#include <weir/error.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {
class circuit_breaker_core;
}  // namespace detail

/// A call that a breaker has let through. It ends once: by `success`, by `failure`, or by being
/// destroyed, which counts as neither and gives a probe's place back. What follows does nothing.
///
/// It may outlive the breaker.
///
/// Thread safety: distinct objects: safe, also those of one breaker. Shared object: unsafe.
class breaker_call {
 public:
  /// None: it was refused.
  breaker_call() noexcept = default;
  breaker_call(breaker_call&& other) noexcept = default;
  breaker_call& operator=(breaker_call&& other) noexcept {
    breaker_call taken(std::move(other));
    std::swap(core_, taken.core_);
    std::swap(call_, taken.call_);
    return *this;
  }
  ~breaker_call();

  /// Whether it was let through and has not ended.
  explicit operator bool() const noexcept { return core_ != nullptr; }

  /// The dependency did what it was asked, or said no for good reason. It may still be slow.
  void success();

  /// The dependency failed.
  void failure();

 private:
  friend class detail::circuit_breaker_core;
  breaker_call(std::shared_ptr<detail::circuit_breaker_core> core, breaker_state::call c) noexcept
      : core_(std::move(core)), call_(c) {}

  std::shared_ptr<detail::circuit_breaker_core> core_;
  breaker_state::call call_;
};

/// A breaker has changed its state.
struct breaker_change {
  circuit from = circuit::closed;
  circuit to = circuit::closed;
  time_point at{};
  std::uint64_t number = 0;  ///< 1 for the first, and so on
};

/// What a breaker asks of its user.
struct breaker_hooks {
  /// Told of each change, with no lock held, by the call that brought it about; the breaker may be
  /// used in it. Two changes that follow each other closely may be told of on two threads at once,
  /// or in the wrong order: see `breaker_change::number`. What it throws comes out of that call.
  std::function<void(const breaker_change&)> on_change;

  /// For `run`: whether an exception is a failure of the dependency. If not, the call is a success:
  /// there was an answer. Not asked of `operation_aborted`, which is neither. Empty: all are.
  std::function<bool(const std::exception_ptr&)> is_failure;
};

/// Stops calling a dependency that fails, and finds out by a few calls when it is well again:
/// callers get an error at once instead of a timeout each, and the dependency gets the peace to
/// recover. \see breaker_state for the rules.
///
/// \code
/// weir::circuit_breaker breaker({.failure_rate = 0.5, .open_for = 5s}, {}, "accounts");
/// const auto reply = co_await breaker.run([&] { return fetch(url); });
/// \endcode
///
/// A breaker is for one dependency. It limits neither rate nor concurrency, and repeats nothing.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class circuit_breaker {
 public:
  /// \param name what reports call it
  /// \throws system_error with `invalid_argument` if `options` are not valid.
  explicit circuit_breaker(const breaker_options& options, breaker_hooks hooks = {},
                           std::string name = {});
  circuit_breaker(const circuit_breaker&) = delete;
  circuit_breaker& operator=(const circuit_breaker&) = delete;
  ~circuit_breaker();

  /// A call, or an empty one if it is refused. Never waits.
  breaker_call try_acquire();

  /// Opens, for the usual time or for `d`; `duration::max()`: until `reset`.
  ///
  /// \throws system_error with `invalid_argument` if `d` is not above zero.
  void trip();
  void trip(duration d);

  /// Closes, with an empty window. Calls that have not ended will not count.
  void reset();

  /// Lets everything through and counts nothing, until `reset` or `trip`.
  void disable();

  const breaker_options& options() const noexcept;

  /// No timer runs: it is half open from the first call after `retry_at()` on.
  circuit state() const;

  /// From when a call may be let through, which is what to tell a client. Now, unless it is open.
  time_point retry_at() const;

  breaker_metrics metrics() const;

  /// Runs `f`, a callable that returns an `awaitable<T>`, as a call, and yields what it yields.
  ///
  /// Returns `awaitable<T>`. Nothing is asked of the breaker before that is awaited.
  ///
  /// Errors: `system_error` with `breaker_open` if the call is refused; else what `f` throws, which
  /// is a failure unless `breaker_hooks::is_failure` says otherwise.
  ///
  /// Cancellation: `f`'s. A call that ends with `operation_aborted` is neither a success nor a
  /// failure, since whoever cancels says nothing of the dependency: turn a timeout of `f`'s own
  /// into `deadline_exceeded`.
  ///
  /// Executor: the awaiting coroutine's.
  ///
  /// Lifetime: the breaker may be destroyed meanwhile.
  template <typename F>
  std::invoke_result_t<F&> run(F f);

 private:
  std::shared_ptr<detail::circuit_breaker_core> core_;
};

}  // namespace weir

#include <weir/impl/circuit_breaker.hpp>

#endif  // WEIR_CIRCUIT_BREAKER_HPP
