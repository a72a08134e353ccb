// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_RUN_HPP
#define WEIR_DETAIL_FLOW_RUN_HPP

#include <weir/detail/pending_handler.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace weir::detail {

class flow_run;

/// A part of a pipeline that acts by itself when it is told that something has changed above it.
class flow_node {
 public:
  /// Called by the driver, never inside another part's doing.
  virtual void on_wake() = 0;

 protected:
  flow_node() noexcept = default;
  /// A part may be moved until the pipeline runs.
  flow_node(flow_node&&) noexcept {}
  ~flow_node() = default;

 private:
  friend class flow_run;
  flow_node* next_woken_ = nullptr;
  bool woken_ = false;
};

/// A pipeline that runs. All of it happens on one strand, so nothing here is locked.
///
/// Items are pulled: a part asks the one above it, which answers with an item, "not yet" or "no
/// more", and where it was "not yet" wakes who asked. Calls go up only; what goes down is a
/// wake-up, and it is the driver that carries it out. So no part is ever called while it is in the
/// middle of something.
class flow_run : public std::enable_shared_from_this<flow_run> {
 public:
  class hold;

  explicit flow_run(boost::asio::any_io_executor strand) noexcept : executor_(std::move(strand)) {}
  flow_run(const flow_run&) = delete;
  flow_run& operator=(const flow_run&) = delete;
  virtual ~flow_run();

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Has `n` called soon.
  void wake(flow_node& n) noexcept;

  /// Ends the pipeline. The first error is the one that comes out.
  void fail(std::exception_ptr why) noexcept;

  /// The sink has ended.
  void finish() noexcept;

  /// For whoever can give an item without waiting, before it does: whether it is still its turn. If
  /// not it says "not yet", and `down` is woken when others on the executor have had theirs.
  bool take_turn(flow_node& down) noexcept {
    if (turns_ != 0) {
      --turns_;
      return true;
    }
    wake(down);
    return false;
  }

  /// The driver: returns when the pipeline has ended and nothing of it is left.
  static boost::asio::awaitable<void> drive(std::shared_ptr<flow_run> self);

  /// A coroutine is being started. Until it runs, the loss of its `hold` means that this has
  /// failed, and not that the context is gone.
  class launching {
   public:
    explicit launching(flow_run& run) noexcept : run_(run) { ++run.launching_; }
    launching(const launching&) = delete;
    launching& operator=(const launching&) = delete;
    ~launching() { --run_.launching_; }

   private:
    flow_run& run_;
  };

 protected:
  const std::exception_ptr& error() const noexcept { return error_; }

 private:
  class driver_wait;
  template <typename Handler>
  class driver_wait_op;

  /// So many items are given without a pause: enough to make the pause cheap, few enough for
  /// others on the executor not to notice.
  static constexpr int turns_in_a_row = 256;

  virtual void connect() = 0;
  virtual void stop() noexcept = 0;
  /// Ends what is above a batch that is to be flushed. \returns false if there is none.
  virtual bool drain() noexcept = 0;

  void process() noexcept;
  void resume() noexcept;
  void on_cancel() noexcept;

  /// Completes when there is something to do.
  template <typename Token>
  auto async_wait(Token&& token);

  const boost::asio::any_io_executor executor_;
  flow_node* first_woken_ = nullptr;
  flow_node* last_woken_ = nullptr;
  std::shared_ptr<driver_wait> waiting_;
  std::exception_ptr error_;
  std::size_t held_ = 0;
  int launching_ = 0;
  int turns_ = turns_in_a_row;
  bool cancelled_ = false;
  bool over_ = false;     ///< nothing more goes to the sink
  bool closing_ = false;  ///< all parts have been told
};

/// Held by whatever is under way for a pipeline on its executor: the pipeline has not ended until
/// all have been given back.
///
/// One that is destroyed instead was destroyed with a context. If that is another one than the
/// pipeline's, the pipeline ends; else what is posted to the driver then is destroyed too, and with
/// it the driver.
class flow_run::hold {
 public:
  explicit hold(flow_run& run) : run_(run.shared_from_this()) { ++run_->held_; }
  hold(hold&&) noexcept = default;
  hold& operator=(hold&&) = delete;
  ~hold() {
    if (run_) lose();
  }

  void give_back() noexcept;

 private:
  void lose() noexcept;

  std::shared_ptr<flow_run> run_;
};

class flow_run::driver_wait {
 public:
  virtual ~driver_wait() = default;
  virtual void complete() = 0;
};

template <typename Handler>
class flow_run::driver_wait_op final : public driver_wait {
 public:
  driver_wait_op(Handler handler, const boost::asio::any_io_executor& fallback)
      : handler_(std::move(handler), fallback) {}

  static void start(const std::shared_ptr<flow_run>& run, Handler handler) {
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op = std::allocate_shared<driver_wait_op>(memory, std::move(handler), run->executor_);
    if (auto slot = op->handler_.slot(); slot.is_connected())
      // Weakly: the slot is the driver's, whose frame owns the run.
      slot.assign([weak = std::weak_ptr(run)](boost::asio::cancellation_type) {
        if (const auto self = weak.lock()) self->on_cancel();
      });
    run->waiting_ = std::move(op);
  }

  void complete() override { std::move(handler_).complete(); }

 private:
  pending_handler<Handler, boost::asio::any_io_executor> handler_;
};

template <typename Token>
auto flow_run::async_wait(Token&& token) {
  return boost::asio::async_initiate<Token, void()>(
      [](auto handler, std::shared_ptr<flow_run> run) {
        driver_wait_op<decltype(handler)>::start(run, std::move(handler));
      },
      token, shared_from_this());
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_RUN_HPP
