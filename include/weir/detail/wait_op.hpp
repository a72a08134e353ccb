// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_WAIT_OP_HPP
#define WEIR_DETAIL_WAIT_OP_HPP

#include <weir/clock.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/pending_handler.hpp>
#include <weir/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace weir::detail {

/// Somebody who waits, as the object that is waited on sees it. Each kind of wait derives from
/// it.
template <typename... Results>
class waiter : public queue_hook {
 public:
  using results = void(error_code, Results...);

  /// Whether what was won is handed back where a cancellation comes before the handler has run.
  static constexpr bool revocable = true;

  /// Ends the wait. Called once, with no lock held, by whoever has taken this out of the queue.
  virtual void complete(error_code ec, Results... results) = 0;

  /// Ends the wait with nothing won.
  void refuse(error_code why) { complete(why, Results()...); }

  /// What was won is taken back; for what does not go back by being destroyed.
  virtual void revoke() noexcept {}

  /// The executor of whoever waits; empty where it cannot be asked.
  virtual boost::asio::any_io_executor caller() const = 0;

  time_point since{};
  bool queued = false;  ///< guarded by the lock of the object; see `wait_op::start`

 protected:
  ~waiter() = default;
};

/// The one way in which weir's operations wait: a waiter with its completion handler.
///
/// It is made with the handler's allocator, keeps the handler's executor busy, is posted and never
/// called inline, clears the cancellation slot before the handler runs, and is freed by then. It
/// belongs to the object that is waited on from its start until it completes.
///
/// Where a `Waiter` is revocable, a cancellation that comes when the wait has been won, and before
/// its handler has run, still counts: the handler hears `operation_aborted`, and what was won is
/// destroyed, which hands it back to its owner.
template <typename Waiter, typename Handler, typename Results = typename Waiter::results>
class wait_op;

template <typename Waiter, typename Handler, typename... Results>
class wait_op<Waiter, Handler, void(error_code, Results...)> final : public Waiter {
 public:
  wait_op(Handler handler, const boost::asio::any_io_executor& fallback)
      : handler_(std::move(handler), fallback) {}

  /// Hands a new waiter over to `state->enter(waiter)`, which either completes it or keeps it.
  /// `state->leave(waiter)` takes it out again, and says whether it was still in.
  template <typename State, typename... Args>
  static void start(const std::shared_ptr<State>& state, Handler handler,
                    const boost::asio::any_io_executor& fallback, Args&&... args) {
    fault_point();
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op = std::allocate_shared<wait_op>(memory, std::move(handler), fallback);
    // Before it is handed over: it may be served, and its slot cleared, before this returns.
    if (auto slot = op->handler_.slot(); slot.is_connected())
      // Weakly: the slot may belong to the coroutine that waits, which the handler owns, and a wait
      // that is dropped instead of completed would keep itself.
      slot.assign([state, weak = std::weak_ptr(op)](boost::asio::cancellation_type) {
        const auto waiting = weak.lock();
        if (!waiting) return;
        waiting->cancelled_.store(true, std::memory_order_relaxed);
        if (state->leave(*waiting)) waiting->refuse(boost::asio::error::operation_aborted);
      });
    op->self_ = op;
    state->enter(*op, std::forward<Args>(args)...);
  }

  void complete(error_code ec, Results... results) override {
    results_.emplace(ec, std::move(results)...);
    handler_.post([self = std::move(self_)]() mutable {
      auto handler = std::move(self->handler_);
      auto won = *std::move(self->results_);
      const bool revoked = Waiter::revocable && !std::get<0>(won) &&
                           self->cancelled_.load(std::memory_order_relaxed);
      if (revoked) self->revoke();
      self.reset();
      if (revoked) won = {boost::asio::error::operation_aborted, Results()...};
      std::apply(
          [&](error_code code, Results&... r) { std::move(handler).call(code, std::move(r)...); },
          won);
    });
  }

  boost::asio::any_io_executor caller() const override { return handler_.executor(); }

 private:
  pending_handler<Handler, boost::asio::any_io_executor> handler_;
  std::optional<std::tuple<error_code, Results...>> results_;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<wait_op> self_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_WAIT_OP_HPP
