// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_WORKER_POOL_HPP
#define WEIR_IMPL_WORKER_POOL_HPP

#include <weir/detail/awaited.hpp>
#include <weir/detail/fault_point.hpp>
#include <weir/detail/pending_handler.hpp>
#include <weir/detail/pool_core.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// A submission that waits for room, with its handler.
template <typename Handler>
struct submit_op {
  static void start(const std::shared_ptr<pool_core>& core, Handler handler, task t,
                    std::source_location where) {
    wait_op<room_waiter, Handler>::start(core, std::move(handler), core->executor(), std::move(t),
                                         where);
  }
};

/// A wait for room for a task still to come, with its handler.
template <typename Handler>
struct reserve_op {
  static void start(const std::shared_ptr<pool_core>& core, Handler handler) {
    wait_op<reserve_waiter, Handler>::start(core, std::move(handler), core->executor());
  }
};

/// A wait for the end of a shutdown, with its handler.
template <typename Handler>
class join_op final : public shutdown_joiner {
 public:
  join_op(Handler handler, const boost::asio::any_io_executor& fallback)
      : handler_(std::move(handler), fallback) {}

  static void start(const std::shared_ptr<pool_core>& core, Handler handler,
                    shutdown_options options) {
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op = std::allocate_shared<join_op>(memory, std::move(handler), core->executor());
    if (auto slot = op->handler_.slot(); slot.is_connected())
      slot.assign([core, weak = std::weak_ptr(op)](boost::asio::cancellation_type) {
        if (auto waiting = weak.lock()) core->closer().leave(core, std::move(waiting));
      });
    core->closer().join(core, options, std::move(op));
  }

  void complete(error_code ec, shutdown_report report) override {
    std::move(handler_).complete(ec, std::move(report));
  }

 private:
  pending_handler<Handler, boost::asio::any_io_executor> handler_;
};

/// A task somebody waits for: the callable, its result and the handler in one allocation.
template <typename R, typename F, typename Handler>
class spawn_op final : public task_record {
  static constexpr bool returns_awaitable =
      awaited<std::invoke_result_t<F&, task_context&>>::is_awaitable;
  struct nothing {};
  using result_type = std::conditional_t<std::is_void_v<R>, nothing, R>;

 public:
  spawn_op(Handler handler, F f, const boost::asio::any_io_executor& fallback)
      : callable_(std::move(f)), handler_(std::in_place, std::move(handler), fallback) {}

  static void start(const std::shared_ptr<pool_core>& core, Handler handler, std::string id,
                    std::string user, int priority, std::optional<duration> timeout,
                    std::string lane, F f, std::source_location where) {
    fault_point();
    const auto memory = boost::asio::get_associated_allocator(handler);
    auto op =
        std::allocate_shared<spawn_op>(memory, std::move(handler), std::move(f), core->executor());
    op->id = std::move(id);
    op->user = std::move(user);
    op->priority = priority;
    op->spawned = where;
    if (auto slot = op->handler_->slot(); slot.is_connected())
      slot.assign([core, weak = std::weak_ptr(op)](boost::asio::cancellation_type) {
        if (const auto waiting = weak.lock()) core->give_up(*waiting);
      });
    op->self_ = op;
    error_code ec;
    std::exception_ptr error;
    try {
      ec = core->submit(*op, timeout, std::move(lane));
    } catch (const std::bad_alloc&) {
      error = std::current_exception();
    }
    if (!ec && !error) return;
    op->drop();
    op->finish(ec, std::move(error));
  }

  boost::asio::awaitable<void> start(task_context& context) override {
    if constexpr (!returns_awaitable) {
      if constexpr (std::is_void_v<R>)
        std::invoke(*callable_, context);
      else
        result_.emplace(std::invoke(*callable_, context));
      return {};
    } else if constexpr (std::is_void_v<R>) {
      return std::invoke(*callable_, context);
    } else {
      return store(std::invoke(*callable_, context));
    }
  }

  void drop() noexcept override { callable_.reset(); }

  void finish(error_code why, std::exception_ptr error) noexcept override {
    const auto keep = std::move(self_);
    if (handler_) deliver(why, std::move(error));
  }

  void answer_early(error_code why) noexcept override {
    if (handler_) deliver(why, nullptr);
  }

  bool has_caller() const noexcept override { return true; }
  boost::asio::any_io_executor caller() const override {
    return handler_ ? handler_->executor() : boost::asio::any_io_executor();
  }

 private:
  boost::asio::awaitable<void> store(boost::asio::awaitable<R> work) requires(!std::is_void_v<R>) {
    result_.emplace(co_await std::move(work));
  }

  void deliver(error_code why, std::exception_ptr error) {
    if (why) error = std::make_exception_ptr(boost::system::system_error(why));
    auto handler = std::move(*handler_);
    handler_.reset();
    if constexpr (std::is_void_v<R>)
      std::move(handler).complete(std::move(error));
    else
      std::move(handler).complete(std::move(error), error ? R() : std::move(*result_));
  }

  std::optional<F> callable_;
  std::optional<result_type> result_;
  std::optional<pending_handler<Handler, boost::asio::any_io_executor>> handler_;
  std::shared_ptr<spawn_op> self_;  ///< held by the pool until the frame has ended
};

/// What those who are not members may have of a pool.
struct pool_access {
  static const std::shared_ptr<pool_core>& core(worker_pool& pool) noexcept { return pool.core_; }
};

/// What starts an operation of a pool once its handler is known.
template <template <typename...> class Op, typename... Head>
struct pool_initiation {
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const noexcept { return core->executor(); }

  template <typename Handler, typename... Args>
  void operator()(Handler&& handler, Args&&... args) const {
    Op<Head..., std::decay_t<Handler>>::start(core, std::forward<Handler>(handler),
                                              std::forward<Args>(args)...);
  }

  std::shared_ptr<pool_core> core;
};

}  // namespace detail

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto worker_pool::async_submit(task t, Token&& token, std::source_location where) {
  return boost::asio::async_initiate<Token, void(error_code)>(
      detail::pool_initiation<detail::submit_op>{core_}, token, std::move(t), where);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, pool_room)) Token>
auto worker_pool::async_reserve(Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, pool_room)>(
      detail::pool_initiation<detail::reserve_op>{core_}, token);
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, shutdown_report)) Token>
auto worker_pool::async_shutdown(shutdown_options options, Token&& token) {
  return boost::asio::async_initiate<Token, void(error_code, shutdown_report)>(
      detail::pool_initiation<detail::join_op>{core_}, token, options);
}

template <typename F, typename Token>
auto co_spawn(worker_pool& pool, run_options options, F&& f, Token&& token,
              std::source_location where) {
  using callable = std::decay_t<F>;
  static_assert(std::invocable<callable&, task_context&>,
                "weir::co_spawn: the callable takes a weir::task_context&");
  using R = detail::awaited_t<std::invoke_result_t<callable&, task_context&>>;
  if constexpr (std::is_void_v<R>) {
    return boost::asio::async_initiate<Token, void(std::exception_ptr)>(
        detail::pool_initiation<detail::spawn_op, R, callable>{detail::pool_access::core(pool)},
        token, std::string(options.id), std::string(options.user), options.priority,
        options.timeout, std::string(options.lane), callable(std::forward<F>(f)), where);
  } else {
    static_assert(std::default_initializable<R>,
                  "weir::co_spawn: the result is default-constructible; wrap it in std::optional");
    return boost::asio::async_initiate<Token, void(std::exception_ptr, R)>(
        detail::pool_initiation<detail::spawn_op, R, callable>{detail::pool_access::core(pool)},
        token, std::string(options.id), std::string(options.user), options.priority,
        options.timeout, std::string(options.lane), callable(std::forward<F>(f)), where);
  }
}

}  // namespace weir

#endif  // WEIR_IMPL_WORKER_POOL_HPP
