// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_RUN_QUEUE_HPP
#define WEIR_DETAIL_RUN_QUEUE_HPP

#include <cstddef>
#include <utility>

namespace weir::detail {

/// The links of an object that waits in a `run_queue`.
struct queue_hook {
  queue_hook* next = nullptr;
  queue_hook* prev = nullptr;
};

/// Who runs next: first in, first out. An intrusive list, so that one who gives up leaves from
/// the middle at once, and queueing allocates nothing.
///
/// A pure policy: no clock, no lock. `T` derives from `queue_hook`. It does not own.
template <typename T>
class run_queue {
 public:
  run_queue() noexcept { head_.next = head_.prev = &head_; }
  run_queue(const run_queue&) = delete;
  run_queue& operator=(const run_queue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

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

#endif  // WEIR_DETAIL_RUN_QUEUE_HPP
