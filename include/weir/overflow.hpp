// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_OVERFLOW_HPP
#define WEIR_OVERFLOW_HPP

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

namespace detail {
template <typename T>
class coalescer;
template <typename T>
class spiller;
}  // namespace detail

/// What a `bounded_queue` does with an item for which it has no room. These four can be chosen for
/// a queue and for a single send; `coalesce` and `spill`, below, for a queue.
enum class overflow {
  /// `async_send` waits for room, first come, first served. `try_send` gets `queue_full`.
  block,
  /// The send gets `queue_full`.
  reject,
  /// The new item is dropped, and the send succeeds. For what is sent again soon anyway.
  drop_newest,
  /// The oldest items are dropped, as many as it takes, and the new one goes in. For what ages.
  drop_oldest,
};
using enum overflow;

/// Why nobody has received an item.
enum class drop_kind {
  dropped_newest,
  dropped_oldest,
  /// What `merge` has left of the newer of two items.
  merged,
  /// What an `async_send` had brought that ended with an error.
  rejected,
};

/// What `coalesce` asks of its arguments, for a queue of `T`.
template <typename Key, typename Merge, typename T>
concept coalesces = std::invocable<const Key&, const T&> && std::invocable<Merge&, T&, T&&> &&
    requires(const std::decay_t<std::invoke_result_t<const Key&, const T&>>& key) {
  {
    std::hash<std::decay_t<std::invoke_result_t<const Key&, const T&>>>()(key)
    } -> std::convertible_to<std::size_t>;
  { key == key } -> std::convertible_to<bool>;
};

/// Takes what a queue of `T` has no room for. Where `push` throws it leaves its argument as it was.
///
/// One call at a time, from the thread that sends or receives, with no lock of the queue held that
/// other sends and receives need while there is room. A sink must not call its queue.
template <typename Sink, typename T>
concept spill_sink = requires(Sink& sink, T&& item) {
  sink.push(std::move(item));
};

/// One that can be read back: `pop` gives the oldest, or nothing when there is none. Where it
/// throws, it has taken nothing out.
template <typename Sink, typename T>
concept readable_spill_sink = spill_sink<Sink, T> && requires(Sink& sink) {
  { sink.pop() } -> std::convertible_to<std::optional<T>>;
};

template <typename Key, typename Merge>
struct coalesce_policy {
  Key key;
  Merge merge;
};

template <typename Sink>
struct spill_policy {
  Sink sink;
};

/// At most one item of each key: one whose key is queued is merged into that one, which keeps its
/// place. Always, not only when the queue is full, so that what is received is the freshest of its
/// key; waiting for "full" was turned down, since what a receiver gets would then depend on
/// how far behind it is. A new key for which there is no room: as `reject`. An item is found in
/// O(1).
///
/// \param key a function of `const T&`, or a pointer to a member. Called by each sender with no
/// lock held, so by several at once. The key, hashed by `std::hash`, is copied. \param merge
/// `void(T& queued, T&& newer)`. It leaves the key alone. What it leaves in `newer` goes to
/// `on_drop`: swap the two, and what is superseded is heard of. Called with the queue's lock held:
/// be short, and do not call the queue.
///
/// What either throws, the send fails with.
template <typename Key, typename Merge>
coalesce_policy<std::decay_t<Key>, std::decay_t<Merge>> coalesce(Key&& key, Merge&& merge) {
  return {std::forward<Key>(key), std::forward<Merge>(merge)};
}

/// Items for which there is no room go to `sink`, in order, and the send fails with what `push`
/// throws. From a sink that can be read back they come back in order: until it is empty,
/// what is sent goes there too, and receives take from it when the queue has run empty. A receive
/// fails with what `pop` throws, and the item stays in the sink.
///
/// \param sink a `spill_sink`, kept by value, or by `std::ref`. Empty at first, if it can be read.
template <typename Sink>
spill_policy<std::unwrap_ref_decay_t<Sink>> spill(Sink&& sink) {
  return {std::forward<Sink>(sink)};
}

/// One of the six, for a queue of `T`.
template <typename T>
class overflow_policy {
 public:
  // Meant to convert. NOLINTBEGIN(google-explicit-constructor)
  overflow_policy(overflow when_full);

  template <typename Key, typename Merge>
  requires coalesces<Key, Merge, T> overflow_policy(coalesce_policy<Key, Merge> policy);

  template <typename Sink>
  requires spill_sink<std::remove_reference_t<Sink>, T> overflow_policy(spill_policy<Sink> policy);
  // NOLINTEND(google-explicit-constructor)

  overflow_policy(overflow_policy&&) noexcept;
  overflow_policy& operator=(overflow_policy&&) noexcept;
  ~overflow_policy();

 private:
  template <typename>
  friend class bounded_queue;

  overflow when_full_ = reject;
  std::unique_ptr<detail::coalescer<T>> coalescer_;
  std::unique_ptr<detail::spiller<T>> spiller_;
};

}  // namespace weir

#include <weir/impl/overflow.hpp>

#endif  // WEIR_OVERFLOW_HPP
