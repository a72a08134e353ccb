// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_MEMBER_STRAND_HPP
#define WEIR_DETAIL_MEMBER_STRAND_HPP

#include <weir/detail/intrusive_queue.hpp>
#include <weir/detail/spin_mutex.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// Runs what it is given one after another, on an executor that may have many threads.
///
/// An `asio::strand` does so too, and was turned down: over an `any_io_executor` it allocates four
/// times for each post, which is half of what a small member costs; it has no way to run the one
/// thing that its owner has to run without a post; and it must not outlive its context.
///
/// Owned by a `shared_ptr`, which what is queued shares with it. When the context is
/// destroyed, what is queued is destroyed, and from then on what it is given is destroyed at once:
/// it can only be frames on their way out.
class member_strand : public std::enable_shared_from_this<member_strand> {
 public:
  /// \param owner for those who look at `current`
  /// \param never the same executor, required never to block
  member_strand(const void* owner, const boost::asio::any_io_executor& inner,
                const boost::asio::any_io_executor& never)
      : owner_(owner), inner_(inner), never_(never) {}
  member_strand(const member_strand&) = delete;
  member_strand& operator=(const member_strand&) = delete;

  const void* owner() const noexcept { return owner_; }
  const boost::asio::any_io_executor& inner() const noexcept { return inner_; }

  /// The innermost strand whose function runs on this thread, or null.
  static member_strand* current() noexcept { return current_; }
  bool running_in_this_thread() const noexcept { return current_ == this; }

  /// Runs `f` after all that is queued; where nothing is, on the spot if it may and the inner
  /// executor does.
  template <typename F>
  void execute(F&& f, bool never) {
    if (!never && running_in_this_thread()) {
      std::decay_t<F> function(std::forward<F>(f));
      std::move(function)();
    } else {
      add(std::make_unique<queued<std::decay_t<F>>>(std::forward<F>(f)), never);
    }
  }

  /// Queues a call of `on_turn`, without an allocation. Not again before that has been called.
  void post_turn();

 protected:
  virtual ~member_strand();

 private:
  struct op : queue_hook {
    virtual ~op() = default;
    virtual void run() = 0;
  };
  template <typename F>
  struct queued final : op {
    template <typename G>
    explicit queued(G&& g) : f(std::forward<G>(g)) {}
    void run() override { std::move(f)(); }
    F f;
  };
  class drain;

  /// What the owner has to do, on this strand.
  virtual void on_turn() = 0;

  /// In place of that, where the context was destroyed first.
  virtual void on_turn_lost() noexcept = 0;

  void add(std::unique_ptr<op> o, bool never);
  void schedule(bool never);
  void run_queued();
  void drop_queued() noexcept;

  const void* const owner_;
  const boost::asio::any_io_executor inner_;
  const boost::asio::any_io_executor never_;

  spin_mutex mutex_;
  intrusive_queue<op> queue_;
  bool turn_ = false;
  bool busy_ = false;  ///< runs, or is going to
  bool dead_ = false;

  static inline thread_local member_strand* current_ = nullptr;
};

/// A `member_strand` as an executor.
///
/// It never tracks work: one that is parked is not to keep its context from running out of work.
/// Whoever owns the strand does that.
class member_executor {
 public:
  explicit member_executor(std::shared_ptr<member_strand> strand, bool never = false) noexcept
      : strand_(std::move(strand)), never_(never) {}
  // Written out, since an executor's copy is noexcept and that of the pointer does not say so.
  member_executor(const member_executor& other) noexcept
      : strand_(other.strand_), never_(other.never_) {}
  member_executor(member_executor&& other) noexcept = default;
  member_executor& operator=(const member_executor&) = delete;
  ~member_executor() = default;

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return boost::asio::query(strand_->inner(), boost::asio::execution::context);
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return never_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.never)
                  : boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly);
  }
  member_executor require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return member_executor(strand_, true);
  }
  member_executor require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return member_executor(strand_, false);
  }

  const member_strand& strand() const noexcept { return *strand_; }

  template <typename F>
  void execute(F&& f) const {
    strand_->execute(std::forward<F>(f), never_);
  }

  friend bool operator==(const member_executor& a, const member_executor& b) noexcept {
    return a.strand_ == b.strand_ && a.never_ == b.never_;
  }

 private:
  std::shared_ptr<member_strand> strand_;
  bool never_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_MEMBER_STRAND_HPP
