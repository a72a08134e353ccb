// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_TASK_GROUP_HPP
#define WEIR_IMPL_TASK_GROUP_HPP

#include <weir/detail/fault_point.hpp>
#include <weir/detail/group_core.hpp>
#include <weir/detail/pending_handler.hpp>
#include <weir/detail/wait_op.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <optional>
#include <utility>

namespace weir {
namespace detail {

/// A member of a group whose members yield `T`.
template <typename T>
class member_of : public group_member {
 public:
  virtual boost::asio::awaitable<T> start() = 0;
  void fail(std::exception_ptr error) noexcept final { outcome.emplace(std::move(error)); }

  std::optional<member_outcome<T>> outcome;  ///< empty: it was cancelled
};

template <typename T, typename F>
class member_function final : public member_of<T> {
 public:
  template <typename G>
  explicit member_function(G&& f) : callable_(std::in_place, std::forward<G>(f)) {}

  boost::asio::awaitable<T> start() override { return std::invoke(*callable_); }
  void drop() noexcept override { callable_.reset(); }

 private:
  std::optional<F> callable_;
};

template <typename T, typename F>
std::unique_ptr<group_member> make_member(F&& f) {
  fault_point();
  return std::make_unique<member_function<T, std::decay_t<F>>>(std::forward<F>(f));
}

/// Completes the coroutine of a runner, which it keeps until then. Not a lambda with a slot bound
/// to it: `co_spawn` would then post emissions once more, without owning the signal.
struct end_of_runner {
  using cancellation_slot_type = boost::asio::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept { return runner->signal.slot(); }
  void operator()(const std::exception_ptr& e) const {
    if (e) std::rethrow_exception(e);
  }
  std::shared_ptr<group_runner> runner;
};

template <typename T>
class group_core_of final : public group_core {
 public:
  group_core_of(boost::asio::any_io_executor ex, const group_options& options)
      : group_core(std::move(ex), options, !std::is_void_v<T>) {}

  /// What the group has come to. Once, and when no member is left.
  group_result<T> take_result() {
    group_result<T> result{succeeded_, failed_, cancelled_, first_error_};
    result.outcomes.reserve(kept_.size());
    kept_.for_each([&](group_member& m) {
      auto& outcome = static_cast<member_of<T>&>(m).outcome;
      result.outcomes.push_back(outcome ? std::move(*outcome) : member_outcome<T>());
    });
    return result;
  }

 private:
  void launch(std::shared_ptr<group_core> self, std::shared_ptr<group_runner> r) override {
    const boost::asio::any_io_executor executor = member_executor(r);
    end_of_runner at_end{r};
    boost::asio::co_spawn(
        executor, run(std::static_pointer_cast<group_core_of>(std::move(self)), std::move(r)),
        std::move(at_end));
  }

  /// Stands in a runner's frame while a member runs, in case the frame is destroyed.
  struct unfinished {
    group_core& core;
    group_runner* runner;
    ~unfinished() {
      if (runner) core.unwound(*runner);
    }
  };

  static boost::asio::awaitable<void> run(std::shared_ptr<group_core_of> core,
                                          std::shared_ptr<group_runner> self) {
    namespace this_coro = boost::asio::this_coro;
    while (self->member) {
      // Whatever the last member did to it, or it to that one, the next has a clean state.
      co_await this_coro::reset_cancellation_state(boost::asio::enable_total_cancellation());
      co_await this_coro::throw_if_cancelled(true);
      auto& member = static_cast<member_of<T>&>(*self->member);
      ending how;
      // Not begun where the group stops: a cancellation before the beginning would not be seen.
      if (core->goes_on()) {
        unfinished guard{*core, self.get()};
        try {
          if constexpr (std::is_void_v<T>) {
            co_await member.start();
            member.outcome.emplace(std::in_place);
          } else {
            member.outcome.emplace(std::in_place, co_await member.start());
          }
          how.value = true;
        } catch (const boost::system::system_error& e) {
          how.error = std::current_exception();
          how.aborted = e.code() == boost::asio::error::operation_aborted;
        } catch (...) {
          how.error = std::current_exception();
        }
        guard.runner = nullptr;
      }
      member.drop();
      if (!self->running_in_this_thread()) {
        // The member came back on some other executor; a cancellation must not stop us going home.
        co_await this_coro::throw_if_cancelled(false);
        co_await boost::asio::dispatch(boost::asio::deferred);
      }
      core->classify(how);
      if (how.error) member.fail(how.error);
      const auto next = core->finish(*self, std::move(how));
      if (next == group_core::next::end) co_return;
      if (next == group_core::next::park) co_await self->async_park();
    }
  }
};

/// The wait for the end of a group, with its handler.
template <typename T, typename Handler>
class group_wait_op final : public group_waiter {
 public:
  group_wait_op(std::shared_ptr<group_core_of<T>> core, Handler handler)
      : core_(std::move(core)), handler_(std::move(handler), core_->executor()) {}

  static void start(const std::shared_ptr<group_core_of<T>>& core, Handler handler) {
    fault_point();
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op = std::allocate_shared<group_wait_op>(memory, core, std::move(handler));
    if (auto slot = op->handler_.slot(); slot.is_connected())
      // Weakly, as in `wait_op`.
      slot.assign([weak = std::weak_ptr(op)](boost::asio::cancellation_type) {
        if (const auto waiting = weak.lock()) waiting->core_->cancel_wait(*waiting);
      });
    op->self_ = op;
    core->wait(*op);
  }

  void complete(std::exception_ptr error) noexcept override {
    try {
      result_ = core_->take_result();
      error_ = std::move(error);
    } catch (...) {
      error_ = std::current_exception();
    }
    post();
  }

  void refuse(const error_code& why) noexcept override {
    error_ = std::make_exception_ptr(boost::system::system_error(why));
    post();
  }

  boost::asio::any_io_executor caller() const override { return handler_.executor(); }

 private:
  void post() {
    handler_.post([self = std::move(self_)]() mutable {
      auto handler = std::move(self->handler_);
      auto error = std::move(self->error_);
      auto result = std::move(self->result_);
      self.reset();
      std::move(handler).call(std::move(error), std::move(result));
    });
  }

  std::shared_ptr<group_core_of<T>> core_;
  pending_handler<Handler, boost::asio::any_io_executor> handler_;
  std::exception_ptr error_;
  group_result<T> result_;
  std::shared_ptr<group_wait_op> self_;  ///< from its start until it completes
};

/// Posts a handler whose operation is over before it has begun. `pending_handler` does that too, at
/// twice the cost: it keeps the executor busy until then, which what is queued does by itself.
template <typename Handler>
void complete_soon(Handler handler, const boost::asio::any_io_executor& fallback, error_code ec) {
  namespace execution = boost::asio::execution;
  using executor = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
  if constexpr (boost::asio::can_require_v<executor, execution::blocking_t::never_t>) {
    const auto memory = boost::asio::get_associated_allocator(handler);
    const auto to = boost::asio::prefer(
        boost::asio::require(boost::asio::get_associated_executor(handler, fallback),
                             execution::blocking.never),
        execution::allocator(memory));
    to.execute([handler = std::move(handler), ec]() mutable { std::move(handler)(ec); });
  } else {
    pending_handler<Handler, boost::asio::any_io_executor>(std::move(handler), fallback)
        .complete(ec);
  }
}

/// What starts an operation of a group once its handler is known.
template <typename T>
struct group_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return core->executor(); }

  std::shared_ptr<group_core_of<T>> core;
};

template <typename T>
struct group_spawn_initiation : group_initiation<T> {
  template <typename Handler>
  void operator()(Handler&& handler, std::unique_ptr<group_member> m) const {
    using op = wait_op<spawn_waiter, std::decay_t<Handler>>;
    const auto group = this->core;  // the initiation goes when the handler is called
    // Where there is room nobody waits, and an operation that can would cost more than the member.
    if (error_code ec; group->spawn_now(m, ec)) {
      m.reset();
      complete_soon(std::decay_t<Handler>(std::forward<Handler>(handler)), group->executor(), ec);
    } else {
      op::start(std::static_pointer_cast<group_core>(group), std::forward<Handler>(handler),
                group->executor(), std::move(m));
    }
  }
};

template <typename T>
struct group_wait_initiation : group_initiation<T> {
  template <typename Handler>
  void operator()(Handler&& handler) const {
    group_wait_op<T, std::decay_t<Handler>>::start(this->core, std::forward<Handler>(handler));
  }
};

}  // namespace detail

template <typename T>
task_group<T>::task_group(boost::asio::any_io_executor ex, group_options options)
    : core_(std::make_shared<detail::group_core_of<T>>(std::move(ex), options)) {}

template <typename T>
task_group<T>::~task_group() {
  core_->abandon();
}

template <typename T>
typename task_group<T>::executor_type task_group<T>::get_executor() const noexcept {
  return core_->executor();
}

template <typename T>
template <detail::member_callable<T> F>
error_code task_group<T>::try_spawn(F&& f) {
  return core_->try_spawn(detail::make_member<T>(std::forward<F>(f)));
}

template <typename T>
void task_group<T>::cancel() {
  core_->cancel();
}

template <typename T>
std::size_t task_group<T>::limit() const noexcept {
  return core_->limit();
}

template <typename T>
std::size_t task_group<T>::members() const {
  return core_->members();
}

template <typename T>
std::size_t task_group<T>::waiters() const {
  return core_->waiters();
}

template <typename T>
template <detail::member_callable<T> F, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto task_group<T>::async_spawn(F&& f, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::group_spawn_initiation<T>{{core_}}, token,
      detail::make_member<T>(std::forward<F>(f)));
}

template <typename T>
template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(std::exception_ptr, group_result<T>)) Token>
auto task_group<T>::async_wait(Token&& token) {
  return boost::asio::async_initiate<Token, void(std::exception_ptr, group_result<T>)>(
      detail::group_wait_initiation<T>{{core_}}, token);
}

}  // namespace weir

#endif  // WEIR_IMPL_TASK_GROUP_HPP
