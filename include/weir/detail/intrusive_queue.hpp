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
  queue_hook head_;
  std::size_t size_ = 0;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_INTRUSIVE_QUEUE_HPP
