// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_WAIT_LIST_HPP
#define WEIR_DETAIL_WAIT_LIST_HPP

#include <weir/clock.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/error.hpp>

#include <cstddef>
#include <utility>

namespace weir::detail {

/// Those who wait on an object, first come, first served. Guarded by the lock of the object.
///
/// Whoever is taken out is completed by whoever took it, after the lock has been given up: hence
/// the queue that the functions fill.
template <typename Waiter>
class wait_list {
 public:
  using queue = intrusive_queue<Waiter>;

  bool empty() const noexcept { return queue_.empty(); }
  std::size_t size() const noexcept { return queue_.size(); }
  Waiter& front() noexcept { return queue_.front(); }

  void push(Waiter& w) noexcept {
    w.since = steady_clock::now();
    w.queued = true;
    queue_.push(w);
  }

  /// Takes out `w`, who gives up. \returns whether it was in.
  bool erase(Waiter& w) noexcept {
    if (!std::exchange(w.queued, false)) return false;
    queue_.erase(w);
    return true;
  }

  /// The first, taken out. Not where it is empty.
  Waiter& pop() noexcept {
    Waiter& w = *queue_.pop();
    w.queued = false;
    return w;
  }

  /// Moves all for whom `gone` holds to `out`.
  template <typename Predicate>
  void pop_if(queue& out, Predicate gone) {
    for (std::size_t n = queue_.size(); n != 0; --n) {
      Waiter& w = *queue_.pop();
      w.queued = !gone(std::as_const(w));
      (w.queued ? queue_ : out).push(w);
    }
  }

  template <typename F>
  void for_each(F&& f) const {
    queue_.for_each(std::forward<F>(f));
  }
  template <typename F>
  void for_each(F&& f) {
    queue_.for_each(std::forward<F>(f));
  }

 private:
  queue queue_;
};

/// Tells all of `out` that they wait in vain.
template <typename Waiter>
void refuse(intrusive_queue<Waiter>& out, const error_code& why) {
  while (Waiter* w = out.pop()) w->refuse(why);
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_WAIT_LIST_HPP
