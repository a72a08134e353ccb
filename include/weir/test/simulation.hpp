// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_SIMULATION_HPP
#define WEIR_TEST_SIMULATION_HPP

#include <weir/detail/fault_point.hpp>
#include <weir/test/bell.hpp>
#include <weir/test/driver.hpp>
#include <weir/test/random.hpp>

#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::test {

/// How a simulation treats a program. Probabilities are from 0 to 1; faults are off by default.
struct simulation_options {
  /// That a handler which could run inside the one that dispatches it is queued instead.
  double preempt = 0.5;

  /// That a step first cancels a coroutine of `spawn`, of any that is suspended, with any
  /// cancellation type. It is done at most once to each.
  double cancel = 0;

  /// That an allocation of weir's own fails with `std::bad_alloc`.
  double fail_allocation = 0;

  /// That a handler becomes ready up to `max_delay` late.
  double delay = 0;
  duration max_delay = std::chrono::milliseconds(10);

  /// How many of the last steps are kept for `trace`.
  std::size_t trace = 0;
};

/// Runs a program on virtual time with its ready handlers in an order drawn from a seed: the same
/// seed gives the same run, always, so that an interleaving which fails is a number which fails
/// again.
///
/// Coroutines, strands, channels, timers (`weir::steady_timer`) and cancellation work on its
/// executor as on any other, and so does every part of weir that can borrow one. Handlers run one
/// at a time, each to its end: what threads do inside a handler is for ThreadSanitizer to find.
///
/// What the program draws at random it should draw from `random()`.
///
/// Thread safety: one thread.
class simulation final : public driver, private weir::detail::fault_source {
  class op;

 public:
  class executor_type;

  explicit simulation(std::uint64_t seed, simulation_options options = {});

  /// Destroys what is left, running nothing.
  ~simulation();

  std::uint64_t seed() const noexcept { return seed_; }
  executor_type get_executor() noexcept;

  /// Draws for the program, from the same seed. They do not depend on how the program runs.
  random& draw() noexcept { return program_random_; }

  /// Handlers run so far.
  std::uint64_t steps() const noexcept { return steps_; }

  /// The last steps, a line each: number, virtual time, which coroutine ran, and what made it
  /// ready.
  std::string trace() const;

 private:
  struct traced;
  struct delayed;

  /// A handler runs, perhaps inside another.
  struct nesting {
    explicit nesting(simulation& s) noexcept : sim(s) { ++sim.depth_; }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;
    ~nesting() { --sim.depth_; }
    simulation& sim;
  };

  std::size_t run_ready() override;
  std::size_t look_again() override;
  bool cancels() const noexcept override { return options_.cancel > 0; }
  boost::asio::any_io_executor base() override;
  bool work_left() const override;
  std::string outside() const override;
  void before_allocation() override;

  bool may_run_inline() noexcept;
  void add(std::unique_ptr<op> made);
  void collect();
  bool step();
  void perform(op& ready);
  void cancel_one();
  void drop_all() noexcept;

  std::uint64_t seed_;
  simulation_options options_;
  random order_random_;
  random program_random_;

  std::vector<std::unique_ptr<op>> ready_;
  std::vector<delayed> delayed_;  ///< a heap, the earliest on top
  std::deque<traced> trace_;
  std::uint64_t steps_ = 0;
  std::uint64_t delayed_count_ = 0;
  std::uint64_t running_step_ = 0;
  std::size_t work_ = 0;
  int depth_ = 0;
  bool closing_ = false;
  weir::detail::fault_source* outer_faults_ = nullptr;
  std::optional<boost::asio::io_context> context_;  ///< for its timers
  std::optional<bell> bell_;
};

/// A handler that is ready or will be.
class simulation::op {
 public:
  explicit op(std::uint64_t b) noexcept
      : tag(tags::handed_tag ? *tags::handed_tag : nullptr), by(b) {}
  op(const op&) = delete;
  op& operator=(const op&) = delete;
  virtual ~op() = default;
  virtual void run() = 0;

  tag_pointer tag;
  std::uint64_t by;  ///< the step that made it ready; 0: a timer, or the program from outside
};

/// Executor of a simulation. Meets the requirements of an Asio executor; tracks work.
class simulation::executor_type {
 public:
  executor_type(const executor_type& other) noexcept
      : simulation_(other.simulation_), never_(other.never_), tracked_(other.tracked_) {
    if (tracked_) ++simulation_->work_;
  }
  executor_type& operator=(const executor_type&) = delete;
  ~executor_type() {
    if (tracked_) --simulation_->work_;
  }

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return *simulation_->context_;
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return never_ ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.never)
                  : boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly);
  }
  boost::asio::execution::outstanding_work_t query(
      boost::asio::execution::outstanding_work_t) const noexcept {
    namespace execution = boost::asio::execution;
    return tracked_ ? execution::outstanding_work_t(execution::outstanding_work.tracked)
                    : execution::outstanding_work_t(execution::outstanding_work.untracked);
  }
  executor_type require(boost::asio::execution::blocking_t::never_t) const noexcept {
    return {*simulation_, true, tracked_};
  }
  executor_type require(boost::asio::execution::blocking_t::possibly_t) const noexcept {
    return {*simulation_, false, tracked_};
  }
  executor_type require(boost::asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return {*simulation_, never_, true};
  }
  executor_type require(boost::asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return {*simulation_, never_, false};
  }

  template <typename F>
  void execute(F&& f) const {
    using function = std::decay_t<F>;
    class function_op final : public op {
     public:
      function_op(std::uint64_t b, F&& f) : op(b), f_(std::forward<F>(f)) {}
      void run() override { std::move(f_)(); }

     private:
      function f_;
    };
    if (!never_ && simulation_->may_run_inline()) {
      const nesting deeper(*simulation_);
      function here(std::forward<F>(f));
      std::move(here)();
      return;
    }
    simulation_->add(std::make_unique<function_op>(simulation_->running_step_, std::forward<F>(f)));
  }

  friend bool operator==(const executor_type& a, const executor_type& b) noexcept {
    return a.simulation_ == b.simulation_ && a.never_ == b.never_ && a.tracked_ == b.tracked_;
  }

 private:
  friend class simulation;
  executor_type(simulation& s, bool never, bool tracked) noexcept
      : simulation_(&s), never_(never), tracked_(tracked) {
    if (tracked_) ++simulation_->work_;
  }

  simulation* simulation_;
  bool never_;
  bool tracked_;
};

inline simulation::executor_type simulation::get_executor() noexcept {
  return {*this, false, false};
}

}  // namespace weir::test

#endif  // WEIR_TEST_SIMULATION_HPP
