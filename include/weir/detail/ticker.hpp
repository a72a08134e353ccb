// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_TICKER_HPP
#define WEIR_DETAIL_TICKER_HPP

#include <weir/clock.hpp>
#include <weir/detail/context_watch.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace weir::detail {

/// Does something at regular times, on an executor whose context may end before it.
///
/// Ticks do not overlap. One that comes late does not move those after it; those that were missed
/// are left out.
///
/// Owned by a `shared_ptr`. Whoever made it calls `stop`, for it holds itself while it ticks.
///
/// Thread safety: all members may be called from any thread.
class ticker : public context_listener, public std::enable_shared_from_this<ticker> {
 public:
  ticker(boost::asio::any_io_executor timers, duration every);
  ticker(const ticker&) = delete;
  ticker& operator=(const ticker&) = delete;

  /// Lets it hear of the end of its context. Called once, after construction.
  void attach();

  /// The first tick is `every` from now. Nothing happens where it ticks already, or the context is
  /// gone.
  void start();

  /// No tick begins after this, and none still runs on another thread when it returns.
  void stop() noexcept;

  bool ticks() const;

  void on_context_end(const boost::asio::execution_context& context) noexcept override;

 private:
  virtual void tick(time_point now) = 0;

  void arm();  // under the lock
  void on_timer(std::uint64_t turn);

  const duration every_;
  mutable std::mutex mutex_;
  boost::asio::any_io_executor timers_;  ///< empty once its context is gone
  std::optional<steady_timer> timer_;    ///< while it ticks
  std::uint64_t turn_ = 0;               ///< counts the starts: a handler of an earlier one is late
  time_point due_{};
  std::atomic<std::thread::id> ticking_{};  ///< the thread that is inside `tick`
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_TICKER_HPP
