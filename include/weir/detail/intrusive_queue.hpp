// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_INTRUSIVE_QUEUE_HPP
#define WEIR_DETAIL_INTRUSIVE_QUEUE_HPP

#include <cstddef>
#include <utility>

namespace weir::detail {

/// The links of an object that waits in an `intrusive_queue`.
struct queue_hook {
  queue_hook* next = nullptr;
  queue_hook* prev = nullptr;
};

template <typename T>
class queue_cursor;

/// First in, first out. An intrusive list, so that one who gives up leaves from
/// the middle at once, and queueing allocates nothing.
///
/// A pure policy: no clock, no lock. `T` derives from `queue_hook`. It does not own.
template <typename T>
class intrusive_queue {
 public:
  intrusive_queue() noexcept { head_.next = head_.prev = &head_; }
  intrusive_queue(const intrusive_queue&) = delete;
  intrusive_queue& operator=(const intrusive_queue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  /// The next in turn. Not where it is empty.
  T& front() noexcept { return static_cast<T&>(*head_.next); }
  const T& front() const noexcept { return static_cast<const T&>(*head_.next); }

  /// Who joined last. Not where it is empty.
  T& back() noexcept { return static_cast<T&>(*head_.prev); }

  void push(T& item) noexcept {
    queue_hook& hook = item;
    hook.prev = head_.prev;
    hook.next = &head_;
    head_.prev->next = &hook;
    head_.prev = &hook;
    ++size_;
  }

  /// The one whose turn it is, taken out; null if there is none.
  T* pop() noexcept {
    if (empty()) return nullptr;
    T* const first = static_cast<T*>(head_.next);
    erase(*first);
    return first;
  }

  /// Calls `f` with each, the next to run first.
  template <typename F>
  void for_each(F&& f) const {
    for (const queue_hook* hook = head_.next; hook != &head_; hook = hook->next)
      f(static_cast<const T&>(*hook));
  }

  template <typename F>
  void for_each(F&& f) {
    for (queue_hook* hook = head_.next; hook != &head_; hook = hook->next)
      f(static_cast<T&>(*hook));
  }

  /// Takes out one that is in this queue.
  void erase(T& item) noexcept {
    queue_hook& hook = item;
    hook.prev->next = hook.next;
    hook.next->prev = hook.prev;
    hook.next = hook.prev = nullptr;
    --size_;
  }

 private:
  friend class queue_cursor<T>;

  queue_hook head_;
  std::size_t size_ = 0;
};

/// Where somebody has come to who looks at one of a queue after another, and lets others push and
/// erase in between. It has to be told of those that leave. Once it has come to the end it is done,
/// whoever joins after that.
///
/// To be forgotten in the middle does it no harm, so it may live where it is told, and nobody need
/// end it.
template <typename T>
class queue_cursor {
 public:
  void start(const intrusive_queue<T>& queue) noexcept {
    end_ = &queue.head_;
    next_ = queue.head_.next;
  }

  /// Null at the end.
  const T* next() noexcept {
    if (next_ == end_) return nullptr;
    const queue_hook* const found = next_;
    next_ = found->next;
    return static_cast<const T*>(found);
  }

  /// Before it is erased.
  void leaves(const T& item) noexcept {
    const queue_hook& hook = item;
    if (next_ == &hook) next_ = hook.next;
  }

 private:
  const queue_hook* next_ = nullptr;
  const queue_hook* end_ = nullptr;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_INTRUSIVE_QUEUE_HPP
