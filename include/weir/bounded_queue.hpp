// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BOUNDED_QUEUE_HPP
#define WEIR_BOUNDED_QUEUE_HPP

#include <weir/error.hpp>
#include <weir/overflow.hpp>
#include <weir/queue_metrics.hpp>
#include <weir/queue_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir {

namespace detail {
template <typename T>
class bounded_queue_state;
}  // namespace detail

/// Items on their way from senders to receivers, so many at most, first in, first out. What happens
/// to more than that is the queue's `overflow_policy`, and is counted; nothing is lost in silence.
///
/// Which item a receive gets is settled when its handler runs: items are handed out in the order
/// in which they were sent, whoever was cancelled meanwhile. Until then the item is `in_flight` and
/// takes no room. To bind the item to the receive when it is granted was turned down: one that
/// comes back from a cancelled receive would come after those that were sent later.
///
/// The lock: moves of `T`, the destructor of what was moved from, `merge`, `weigh` after a merge,
/// and what a key needs to be found (hash, comparison, destructor) run with the queue's lock held,
/// and must not call the queue. Nothing else of yours does: no destructor of an item, not
/// `on_drop`, `key`, or `weigh`, no sink, and no handler.
///
/// Destroying it closes it, and destroys what is inside.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
template <typename T>
class bounded_queue {
 public:
  using value_type = T;
  using executor_type = boost::asio::any_io_executor;

  /// \param ex where handlers run that have no executor of their own
  /// \param policy what happens to an item for which there is no room
  /// \param name what reports call it
  /// \throws system_error with `invalid_argument` if the capacity is below 1, or if there is a
  /// limit on the weight and no `weigh`.
  bounded_queue(boost::asio::any_io_executor ex, std::ptrdiff_t capacity,
                overflow_policy<T> policy = block, std::string name = {});
  bounded_queue(boost::asio::any_io_executor ex, queue_options<T> options,
                overflow_policy<T> policy = block, std::string name = {});
  bounded_queue(const bounded_queue&) = delete;
  bounded_queue& operator=(const bounded_queue&) = delete;
  ~bounded_queue();

  executor_type get_executor() const noexcept;

  /// Sends `item`, which is moved from if this succeeds, and untouched otherwise. Never waits:
  /// where the policy is `block`, a full queue is `queue_full`. It is full too while others wait
  /// for room, and while the sink is not empty.
  ///
  /// Errors: `queue_full`; `queue_closed`; `invalid_argument` for an item that is heavier than the
  /// limit, which could never go in.
  ///
  /// What a key, a merge or a sink throws comes out of here, and nothing has changed but what a
  /// merge did before it threw.
  error_code try_send(T&& item);

  /// The same, with `when_full` in place of the queue's policy. On a queue that coalesces, an item
  /// whose key is queued is merged all the same. On one that spills, `drop_oldest` is
  /// `invalid_argument`, since the new item would overtake what is in the sink.
  error_code try_send(T&& item, overflow when_full);

  /// The oldest item that is not promised to a receiver, if there is one. Never waits. What a sink
  /// throws comes out of here.
  std::optional<T> try_receive();

  /// Takes no more items: waiting senders get `queue_closed`. What is inside is still received, and
  /// then receivers get it too. Final.
  void close();

  std::size_t size() const;
  queue_metrics metrics() const;

  /// Sends `item`; waits for room where the policy is `block`.
  ///
  /// Completion signature: `void(error_code)`.
  ///
  /// Errors: as `try_send`, at once; `queue_closed` also for one that waits. What a key, a merge or
  /// a sink throws: the code of a system_error, else `not_enough_memory` or `io_error`. The
  /// item of a send that fails goes to `on_drop`.
  ///
  /// Cancellation: all three types, with `operation_aborted`, while it waits. What has gone in is
  /// sent.
  ///
  /// Executor: completes by way of the handler's executor, else the queue's; never inside this
  /// call.
  ///
  /// Lifetime: close or destroy the queue before the contexts of those who wait.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_send(T item, Token&& token);

  /// The same, with `when_full` in place of the queue's policy, as for `try_send`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_send(T item, overflow when_full, Token&& token);

  /// Waits for an item. `T` is default-constructible, for the sake of a receive that fails; items
  /// of other types are received by `try_receive` and `async_receive_batch`.
  ///
  /// Completion signature: `void(error_code, T)`.
  ///
  /// Errors: `queue_closed` when it is closed and empty; what a sink throws, as for `async_send`.
  ///
  /// Cancellation: all three types, with `operation_aborted`, until the handler runs. The item
  /// stays in the queue, in its old place, which may be beyond the capacity by now, or goes to the
  /// next who waits. So `a.async_receive(...) || b.async_receive(...)` loses nothing on one strand.
  ///
  /// Executor: completes by way of the handler's executor, else the queue's; never inside this
  /// call.
  ///
  /// Lifetime: close or destroy the queue before the contexts of those who wait.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, T)) Token>
  auto async_receive(Token&& token);

  /// Waits for an item, and takes all that are there when its handler runs, `max` at most.
  /// `invalid_argument` if `max` is below 1. Otherwise as `async_receive`.
  ///
  /// Completion signature: `void(error_code, std::vector<T>)`.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<T>)) Token>
  auto async_receive_batch(std::ptrdiff_t max, Token&& token);

 private:
  std::shared_ptr<detail::bounded_queue_state<T>> state_;
};

}  // namespace weir

#include <weir/impl/bounded_queue.hpp>

#endif  // WEIR_BOUNDED_QUEUE_HPP
