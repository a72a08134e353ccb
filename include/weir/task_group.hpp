// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TASK_GROUP_HPP
#define WEIR_TASK_GROUP_HPP

#include <weir/error.hpp>
#include <weir/group_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>

namespace weir {

namespace detail {
template <typename T>
class group_core_of;

template <typename F, typename T>
concept member_callable = std::is_invocable_r_v < boost::asio::awaitable<T>,
        std::decay_t<F>
& > ;
}  // namespace detail

/// Structured concurrency: coroutines that start together, end together, and fail as one.
///
/// At most `limit` members run at once. Each is a callable `awaitable<T>()`, which is moved in and
/// lives until its coroutine has ended; each runs on a strand of its own and can be cancelled
/// there. What ends a group early (an error that its policy does not let pass, a quorum, `cancel`)
/// cancels those that run, keeps those that have not begun from beginning, and closes the group.
///
/// \code
/// weir::task_group group(executor, {.limit = 8});
/// for (const std::string& url : urls) {
///   auto member = [&url]() -> asio::awaitable<void> { co_await fetch(url); };
///   if (auto [ec] = co_await group.async_spawn(std::move(member), as_tuple); ec) break;
/// }
/// co_await group.async_wait(asio::use_awaitable);  // throws what ended the group
/// \endcode
///
/// A group is waited for, once. One that has had members and is destroyed without it is a mistake
/// of the program: stderr is told, and `group_options::unwaited` says whether that is the end. It
/// is not where an exception passes by, which would be hidden, nor where the context is being
/// destroyed. The members are cancelled in each case, and own what they need of the group; what
/// else they refer to has to outlive them, which only a wait ensures.
///
/// Lifetime: the context of the executor outlives the group.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
///
/// Source: N. J. Smith, "Notes on structured concurrency, or: Go statement considered harmful"
/// (2018).
template <typename T = void>
class task_group {
 public:
  using executor_type = boost::asio::any_io_executor;
  using value_type = T;

  /// \param ex where members run, and handlers that have no executor of their own
  /// \throws system_error with `invalid_argument` if the limit is below 1, a quorum is below 1, or
  /// a number of tolerated errors is below 0.
  task_group(boost::asio::any_io_executor ex, group_options options);
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  ~task_group();

  executor_type get_executor() const noexcept;

  /// Starts a member if there is room; never waits. \returns `group_limit` where there is none or
  /// others wait for it, `group_closed` as for `async_spawn`; `f` is dropped then.
  template <detail::member_callable<T> F>
  error_code try_spawn(F&& f);

  /// Cancels the members and closes the group: for good. The wait then ends with
  /// `operation_aborted`, under `collect_all` with the outcomes.
  void cancel();

  /// Members at once.
  std::size_t limit() const noexcept;

  /// Members that have been spawned and have not ended.
  std::size_t members() const;

  /// Those who wait for room in `async_spawn`.
  std::size_t waiters() const;

  /// Starts a member, waiting for room where there is none: first come, first served. This is how a
  /// producer is told that it is too fast. The member never runs inside this call.
  ///
  /// Completion signature: `void(error_code)`, once the member is accepted.
  ///
  /// Errors: `group_closed` once the group has failed, has its quorum, or is cancelled, also for
  /// those who wait already; and once `async_wait` has begun, except to members (to them too under
  /// `quorum`, for then it has to be known who is still to come). Members may spawn members: where
  /// all who hold a slot would wait for one, the last to ask gets `group_limit`, as no slot could
  /// come free.
  ///
  /// Cancellation: all three types end the wait for room with `operation_aborted`, and `f` is
  /// dropped. Once accepted, the member is not affected.
  ///
  /// Executor: completes by way of the handler's executor, else the group's; never inside this
  /// call.
  ///
  /// Lifetime: `f` is a lambda with a name that is moved in, not one written inside a `co_await`
  /// (see README).
  template <detail::member_callable<T> F, BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_spawn(F&& f, Token&& token);

  /// Waits until no member is left, whatever happens: when it completes, each has ended and all
  /// that it held is destroyed.
  ///
  /// Completion signature: `void(std::exception_ptr, group_result<T>)`.
  ///
  /// Errors: what ended the group early: the error of a member that came first in time, and never
  /// a cancellation that followed from it; `operation_aborted` after `cancel`. None under
  /// `collect_all`. `invalid_argument` for a quorum of more members than there are, for a second
  /// wait, and in a member of this group, which would wait for itself.
  ///
  /// Cancellation: all three types cancel the members; the wait still lasts until they have ended,
  /// and then gives `operation_aborted`, also where a member has failed: that error is in the
  /// result.
  ///
  /// Executor: completes by way of the handler's executor, else the group's; never inside this
  /// call.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(std::exception_ptr, group_result<T>)) Token>
  auto async_wait(Token&& token);

 private:
  std::shared_ptr<detail::group_core_of<T>> core_;
};

task_group(boost::asio::any_io_executor, group_options)->task_group<>;

}  // namespace weir

#include <weir/impl/task_group.hpp>

#endif  // WEIR_TASK_GROUP_HPP
