// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/member_strand.hpp>

#include <mutex>

namespace weir::detail {

/// What stands in the queue of the inner executor for a strand that has something to run.
class member_strand::drain {
 public:
  explicit drain(std::shared_ptr<member_strand> strand) noexcept : strand_(std::move(strand)) {}
  drain(drain&&) noexcept = default;
  drain& operator=(drain&&) = delete;
  ~drain() {
    if (strand_) strand_->drop_queued();
  }

  void operator()() {
    const auto strand = std::move(strand_);
    strand->run_queued();
  }

 private:
  std::shared_ptr<member_strand> strand_;
};

member_strand::~member_strand() {
  while (const op* o = queue_.pop()) delete o;
}

void member_strand::schedule(bool never) {
  (never ? never_ : inner_).execute(drain(shared_from_this()));
}

void member_strand::post_turn() {
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    lost = dead_;
    if (!lost) {
      turn_ = true;
      if (std::exchange(busy_, true)) return;
    }
  }
  if (lost)
    on_turn_lost();
  else
    schedule(true);
}

void member_strand::add(std::unique_ptr<op> o, bool never) {
  {
    const std::lock_guard lock(mutex_);
    if (dead_) return;  // and `o` is destroyed when the lock has been given up
    queue_.push(*o.release());
    if (std::exchange(busy_, true)) return;
  }
  schedule(never);
}

void member_strand::run_queued() {
  struct running {
    explicit running(member_strand& s) noexcept : strand(s), outer(std::exchange(current_, &s)) {}
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() { current_ = outer; }
    member_strand& strand;
    member_strand* outer;
  };
  /// Also where a function throws: the rest is for another time.
  struct more {
    member_strand& strand;
    ~more() noexcept(false) {
      {
        const std::lock_guard lock(strand.mutex_);
        strand.busy_ = strand.turn_ || !strand.queue_.empty();
        if (!strand.busy_) return;
      }
      strand.schedule(true);
    }
  } const at_end{*this};
  const running here(*this);
  // What is there now, and no more: others want the thread too.
  bool turn = false;
  std::size_t n = 0;
  {
    const std::lock_guard lock(mutex_);
    turn = std::exchange(turn_, false);
    n = queue_.size();
  }
  if (turn) on_turn();
  for (; n != 0; --n) {
    std::unique_ptr<op> next;
    {
      const std::lock_guard lock(mutex_);
      next.reset(queue_.pop());
    }
    next->run();
  }
}

void member_strand::drop_queued() noexcept {
  bool turn = false;
  intrusive_queue<op> dropped;
  {
    const std::lock_guard lock(mutex_);
    dead_ = true;
    turn = std::exchange(turn_, false);
    while (op* o = queue_.pop()) dropped.push(*o);
  }
  while (const op* o = dropped.pop()) delete o;
  if (turn) on_turn_lost();
}

}  // namespace weir::detail
