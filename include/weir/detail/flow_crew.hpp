// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_CREW_HPP
#define WEIR_DETAIL_FLOW_CREW_HPP

#include <weir/clock.hpp>
#include <weir/detail/flow_alarm.hpp>
#include <weir/detail/flow_run.hpp>
#include <weir/detail/intrusive_queue.hpp>
#include <weir/pipeline/options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace weir::detail {

/// A coroutine of a stage, which takes item after item.
struct flow_worker : queue_hook {
  boost::asio::cancellation_signal signal;
  time_point due = time_point::max();  ///< of its item
  std::uint64_t ticket = 0;            ///< of its item, where input order is kept
  std::size_t lane = no_lane;          ///< which it holds, where order is kept by key
  bool begun = false;                  ///< until then it must not be cancelled
  bool busy = false;                   ///< has an item
  bool told = false;                   ///< cancelled: it ends after this item
  bool late = false;                   ///< its item has been given up
  bool left = false;                   ///< works no more

  static constexpr std::size_t no_lane = static_cast<std::size_t>(-1);
};

/// Throws system_error with `invalid_argument` for what cannot work.
void require_valid(const map_options& options);

/// A stage that waits, without the types of its items: who works, for how long, and when to stop.
///
/// A worker is a coroutine that takes items while there are any and there is a place for its
/// result, and then ends; it is started anew when both are there again. One that parks was turned
/// down: it would have to be found and resumed where a stage or a context ends, to save what is
/// shared by all items that are taken in a row.
class flow_crew : public flow_node {
 public:
  flow_crew(flow_crew&& other) noexcept : flow_crew(other.options_, other.places_) {}

 protected:
  /// \param places how many items are in the stage at most
  flow_crew(const map_options& options, std::size_t places) noexcept;
  ~flow_crew() = default;

  void connect_crew(flow_run& run, flow_node& down) noexcept {
    run_ = &run;
    down_ = &down;
  }

  /// Starts as many workers as can work.
  void pump();

  /// Nobody wants results any more.
  void stop_crew() noexcept;

  bool may_take() const noexcept {
    return !stopped_ && !input_ended_ && !input_waits_ && taken() < places_;
  }

  /// A worker has taken an item.
  void begin_item(flow_worker& w);

  /// Its function has ended. \returns whether anybody still wants to know what it came to.
  bool end_item(flow_worker& w) noexcept;

  /// Its function has failed: the item is dropped, or the pipeline ends.
  void fail_item(const std::exception_ptr& failure) noexcept;

  bool idle() const noexcept { return busy_ == late_; }

  const map_options options_;
  const std::size_t places_;
  flow_run* run_ = nullptr;
  flow_node* down_ = nullptr;
  std::size_t busy_ = 0;      ///< workers that have an item
  std::size_t late_ = 0;      ///< of these, those whose item has been given up
  bool input_waits_ = false;  ///< the stage above has said "not yet"
  bool input_ended_ = false;
  bool stopped_ = false;
  std::size_t backlog_ = 0;  ///< items that were taken and that a worker could begin with

 private:
  class end_of_work;

  /// Items that are in the stage, those that have been given up included.
  virtual std::size_t taken() const noexcept = 0;
  virtual boost::asio::awaitable<void> work(flow_worker& w) = 0;
  /// The item of `w` is given up: nobody waits for it any more.
  virtual void give_up(flow_worker& w) noexcept = 0;

  void on_wake() final;
  void start_worker();
  void leave(flow_worker& w) noexcept;
  void cancel(flow_worker& w);
  void look_at_deadlines();
  boost::asio::awaitable<void> body(flow_worker& w);

  intrusive_queue<flow_worker> workers_;
  intrusive_queue<flow_worker> told_;
  const duration deadline_;  ///< of an item; zero: none
  std::size_t failures_ = 0;
  flow_alarm alarm_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_CREW_HPP
