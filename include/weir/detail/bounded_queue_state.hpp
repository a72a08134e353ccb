// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_BOUNDED_QUEUE_STATE_HPP
#define WEIR_DETAIL_BOUNDED_QUEUE_STATE_HPP

#include <weir/detail/inspection.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_list.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/error.hpp>
#include <weir/overflow.hpp>
#include <weir/queue_metrics.hpp>
#include <weir/queue_options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <any>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

class bounded_queue_core;

/// A receiver's right to an item, which goes back to the queue if it is not used.
class item_claim {
 public:
  item_claim() noexcept = default;
  explicit item_claim(std::shared_ptr<bounded_queue_core> queue) noexcept
      : queue_(std::move(queue)) {}
  item_claim(item_claim&& other) noexcept = default;
  item_claim& operator=(item_claim&& other) noexcept {
    item_claim(std::move(other)).queue_.swap(queue_);
    return *this;
  }
  ~item_claim();

  bounded_queue_core& queue() const noexcept { return *queue_; }

  /// An item has been taken for it.
  void used() noexcept { queue_.reset(); }

 private:
  std::shared_ptr<bounded_queue_core> queue_;
};

/// Somebody who waits for an item.
class receive_waiter : public waiter<item_claim> {};

/// Somebody who waits for room.
class send_waiter : public waiter<> {
 public:
  static constexpr bool revocable = false;  // what has gone in may have been received
};

/// What needs no type of item: the books, and those who wait.
class bounded_queue_core : public std::enable_shared_from_this<bounded_queue_core> {
 public:
  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Takes back what was granted to a receiver.
  virtual void unclaim() noexcept = 0;

  bool leave(receive_waiter& w);
  std::size_t size() const;
  queue_metrics metrics() const;
  void inspect(inspector& to) const;

  /// The error of an operation that fails with the exception that is being handled.
  static error_code current_error() noexcept;

 protected:
  bounded_queue_core(boost::asio::any_io_executor ex, std::ptrdiff_t capacity,
                     std::size_t max_weight, bool weighs, std::string name);
  ~bounded_queue_core() = default;

  // The rest with the lock held.

  bool can_ever_fit(std::size_t weight) const noexcept {
    return max_weight_ == 0 || weight <= max_weight_;
  }
  bool fits(std::size_t weight) const noexcept {
    return books_.size < capacity_ &&
           (max_weight_ == 0 || (weight <= max_weight_ && books_.weight <= max_weight_ - weight));
  }
  /// For one who has not waited.
  bool has_room(std::size_t weight) const noexcept {
    return fits(weight) && senders_.empty() && books_.in_sink == 0;
  }
  bool drained() const noexcept {
    return books_.closed && books_.size == 0 && books_.in_flight == 0 && books_.in_sink == 0;
  }

  void book_in(std::size_t weight) noexcept;
  void book_out(std::size_t weight) noexcept;

  const boost::asio::any_io_executor executor_;
  const std::string name_;
  const std::size_t capacity_;
  const std::size_t max_weight_;

  mutable spin_mutex mutex_;
  queue_metrics books_;
  wait_list<send_waiter> senders_;       ///< none while there is room for the first
  wait_list<receive_waiter> receivers_;  ///< none while there is anything inside or in the sink

 private:
  inspectable inspectable_{*this};
};

/// An item that is being sent.
template <typename T>
struct parcel {
  T* item;  ///< with its sender, until the queue takes it
  std::size_t weight;
  std::any key;
  std::optional<overflow> when_full;  ///< empty: as the queue's policy says
};

/// Somebody who waits for room, with what is to go in.
template <typename T>
class item_sender : public send_waiter {
 public:
  std::optional<T> item;
  parcel<T> sent{};
  error_code why;       ///< once the wait is over
  bool merged = false;  ///< and `item` is what is left
};

/// What a queue of `T` is. Claims share it, so that they may outlive the queue.
///
/// Items that are granted leave `items_` for `granted_`, one for each claim. A claim is good for
/// the first of them; one that comes back puts the last in its old place.
///
/// Thread safety: safe.
template <typename T>
class bounded_queue_state final : public bounded_queue_core {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "an item is moved under the lock, and must not be lost on the way: if its move "
                "can throw, let a std::unique_ptr hold it");

 public:
  bounded_queue_state(boost::asio::any_io_executor ex, queue_options<T> options, overflow when_full,
                      std::unique_ptr<coalescer<T>> coalescer, std::unique_ptr<spiller<T>> spiller,
                      std::string name);

  error_code try_send(T&& item, std::optional<overflow> when_full);
  void enter(item_sender<T>& w, T&& item, std::optional<overflow> when_full);
  bool leave(item_sender<T>& w);

  std::optional<T> try_receive();
  void enter(receive_waiter& w, std::ptrdiff_t wants);
  using bounded_queue_core::leave;
  T take();
  std::vector<T> take(std::size_t most);
  void unclaim() noexcept override;

  void close() { end(false); }

  /// Nobody has the queue any more, but for claims.
  void abandon() { end(true); }

 private:
  using nodes = std::list<queued_item<T>>;

  enum class fate { entered, merged, dropped, refused, waits, spills };

  /// What follows from a change, to be done without the lock.
  struct outcome {
    nodes evicted;
    typename wait_list<send_waiter>::queue sent;
    typename wait_list<receive_waiter>::queue served;
    typename wait_list<receive_waiter>::queue ended;
  };

  /// Sends where nothing has to be asked or told, as nearly always.
  bool send_at_once(T& item, std::size_t weight) noexcept;

  parcel<T> pack(T& item, std::size_t weight, std::optional<overflow> when_full) const;
  fate send(parcel<T>& p, error_code& why, item_sender<T>* waiter);
  fate attempt(parcel<T>& p, error_code& why, item_sender<T>* waiter, bool has_turn, outcome& out);
  void spill_ended(bool pushed, outcome& out) noexcept;
  std::optional<T> receive_and_settle();
  bool receive(receive_waiter& w, outcome& out) noexcept;
  void refill(std::size_t wants);
  bool wants_more(std::size_t wants) const;

  // With the lock held.
  fate decide(parcel<T>& p, error_code& why, outcome& out);
  void merge(queued_item<T>& queued, T& newer);
  void place(parcel<T>& p, outcome& out);
  void fill(T& item, std::size_t weight) noexcept;
  void admit(item_sender<T>& w, outcome& out) noexcept;
  void grant() noexcept;
  std::optional<T> take_next() noexcept;
  std::optional<T> take_granted() noexcept;
  std::optional<T> take_first(nodes& from) noexcept;
  void settle(outcome& out) noexcept;

  // Without.
  void deliver(outcome& out) noexcept;
  void drop(T&& item, drop_kind kind) const noexcept;
  std::size_t weigh(const T& item) const noexcept { return weigh_ ? weigh_(item) : 0; }
  void end(bool abandoned);

  /// So many empty nodes are kept, so that a queue that breathes does not allocate, and one that
  /// was full once does not keep its memory.
  static constexpr std::size_t max_spare = 64;

  const std::function<std::size_t(const T&)> weigh_;
  const std::function<void(T&&, drop_kind)> on_drop_;
  const overflow when_full_;
  const std::unique_ptr<coalescer<T>> coalescer_;
  const std::unique_ptr<spiller<T>> spiller_;

  // Held while the sink is called, and taken before the other lock. A sink may be a file: under
  // the other lock, or in a strand, it would hold up those who have no need of it.
  std::mutex sink_turn_;

  nodes items_;
  nodes granted_;
  nodes spare_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_BOUNDED_QUEUE_STATE_HPP
