// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_SEMAPHORE_STATE_HPP
#define WEIR_DETAIL_SEMAPHORE_STATE_HPP

#include <weir/detail/inspection.hpp>
#include <weir/detail/spin_mutex.hpp>
#include <weir/detail/wait_list.hpp>
#include <weir/detail/wait_op.hpp>
#include <weir/permit.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace weir {
struct semaphore_metrics;
}  // namespace weir

namespace weir::detail {

/// Somebody who waits for permits.
class permit_waiter : public waiter<permit> {
 public:
  std::ptrdiff_t wants = 0;
};

/// What a semaphore is. It outlives the semaphore while permits are held: their number is counted
/// here already, and a reference count in each permit would cost as much again as taking it.
///
/// Thread safety: safe.
class semaphore_state {
 public:
  semaphore_state(boost::asio::any_io_executor ex, std::ptrdiff_t limit, std::string name);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  permit try_acquire(std::ptrdiff_t n);
  void enter(permit_waiter& w, std::ptrdiff_t n);
  bool leave(permit_waiter& w);
  void release(std::ptrdiff_t n) noexcept;
  void resize(std::ptrdiff_t limit);
  void close();

  /// Closes it, and keeps `self`, which is this, until no permit is held.
  void abandon(std::shared_ptr<semaphore_state> self);

  std::ptrdiff_t limit() const;
  std::ptrdiff_t in_use() const;
  std::size_t waiters() const;
  semaphore_metrics metrics() const;
  void inspect(inspector& to) const;

 private:
  using queue = wait_list<permit_waiter>::queue;

  void grant(queue& served) noexcept;
  void serve(queue& served) noexcept;

  const boost::asio::any_io_executor executor_;
  const std::string name_;

  mutable spin_mutex mutex_;
  std::ptrdiff_t limit_;
  std::ptrdiff_t in_use_ = 0;
  bool closed_ = false;
  std::shared_ptr<semaphore_state> self_;  ///< while permits outlive the semaphore
  wait_list<permit_waiter> waiting_;

  inspectable inspectable_{*this};
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_SEMAPHORE_STATE_HPP
