// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_CHILD_WATCH_HPP
#define WEIR_DETAIL_CHILD_WATCH_HPP

#include <weir/clock.hpp>
#include <weir/detail/inspection.hpp>
#include <weir/detail/pending_handler.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace weir::detail {

/// The coroutine that waits on a `child_watch`.
class watch_waiter {
 public:
  virtual void complete(error_code ec) = 0;

  /// Destroys the handler, and with it this.
  virtual void drop() noexcept = 0;

  virtual boost::asio::any_io_executor caller() const = 0;

 protected:
  ~watch_waiter() = default;
};

/// Where one coroutine waits until something has happened to the children that it started, or until
/// a time.
///
/// Like every wait of weir but for one thing, for which it is not a `wait_op`: it can be dropped.
/// Children die unfinished where their context is destroyed. Nobody must be resumed then; but the
/// waiting frame owns what owns it, and somebody has to let go.
///
/// The timer is touched under the lock alone, so that no strand is needed and work that blocks
/// its thread does not hold up its deadline.
///
/// Thread safety: safe.
class child_watch : public std::enable_shared_from_this<child_watch> {
 public:
  /// \param what the operation, as reports call it
  child_watch(boost::asio::any_io_executor ex, const char* what);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  /// A child was added, has ended, or will never end.
  void add() noexcept;
  void ended();
  void lost() noexcept;

  /// Completes when a child has ended since the last wait, or with `deadline_exceeded` at `until`,
  /// or with `operation_aborted`; `void(error_code)`.
  template <typename Token>
  auto async_wait(time_point until, Token&& token);

  void enter(watch_waiter& w, time_point until);
  void give_up(watch_waiter& w);
  void inspect(inspector& to) const;

 private:
  void arm();
  void on_timer();

  const boost::asio::any_io_executor executor_;
  const char* const what_;

  mutable spin_mutex mutex_;
  watch_waiter* waiting_ = nullptr;
  time_point since_{};
  time_point until_{};
  int children_ = 0;
  bool rung_ = false;  ///< a child ended while nobody waited
  std::optional<steady_timer> timer_;

  inspectable inspectable_{*this};
};

template <typename Handler>
class watch_op final : public watch_waiter {
 public:
  watch_op(Handler handler, const boost::asio::any_io_executor& fallback)
      : handler_(std::move(handler), fallback) {}

  static void start(const std::shared_ptr<child_watch>& watch, Handler handler, time_point until) {
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op = std::allocate_shared<watch_op>(memory, std::move(handler), watch->executor());
    if (auto slot = op->handler_.slot(); slot.is_connected())
      slot.assign([watch, weak = std::weak_ptr(op)](boost::asio::cancellation_type) {
        if (const auto waiting = weak.lock()) watch->give_up(*waiting);
      });
    op->self_ = op;
    watch->enter(*op, until);
  }

  void complete(error_code ec) override {
    const auto keep = std::move(self_);
    std::move(handler_).complete(ec);
  }

  void drop() noexcept override { const auto last = std::move(self_); }

  boost::asio::any_io_executor caller() const override { return handler_.executor(); }

 private:
  pending_handler<Handler, boost::asio::any_io_executor> handler_;
  std::shared_ptr<watch_op> self_;
};

template <typename Token>
auto child_watch::async_wait(time_point until, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      [](auto handler, std::shared_ptr<child_watch> watch, time_point t) {
        watch_op<decltype(handler)>::start(watch, std::move(handler), t);
      },
      token, shared_from_this(), until);
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_CHILD_WATCH_HPP
