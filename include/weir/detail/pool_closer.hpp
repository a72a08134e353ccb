// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_POOL_CLOSER_HPP
#define WEIR_DETAIL_POOL_CLOSER_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/shutdown.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace weir::detail {

class pool_core;

/// Somebody who waits for the end of a shutdown.
class shutdown_joiner {
 public:
  virtual ~shutdown_joiner() = default;
  virtual void complete(error_code ec, shutdown_report report) = 0;
};

/// The stages of a shutdown: drain, cancel, report.
///
/// Thread safety: `join` and `leave` from any thread, the rest on the keeper's executor.
class pool_closer {
 public:
  explicit pool_closer(const boost::asio::any_io_executor& keeper) : keeper_(keeper) {}

  /// Begins the shutdown or hastens it, and brings `joiner` its report.
  void join(const std::shared_ptr<pool_core>& core, shutdown_options options,
            std::shared_ptr<shutdown_joiner> joiner);

  /// `joiner` waits no longer: it gets `operation_aborted`, if it has not got its report.
  void leave(const std::shared_ptr<pool_core>& core, std::shared_ptr<shutdown_joiner> joiner);

  /// The last task has ended.
  void drained(const std::shared_ptr<pool_core>& core);

  /// The context is being destroyed: nobody will get a report.
  void abandon_context();

 private:
  enum class stage : std::uint8_t { open, draining, cancelling, ended };

  void enter(pool_core& core, const shutdown_options& options, time_point asked);
  void step(const std::shared_ptr<pool_core>& core);
  void finish(pool_core& core);

  boost::asio::any_io_executor keeper_;
  std::optional<steady_timer> timer_;
  stage stage_ = stage::open;
  time_point began_;
  time_point deadline_ = time_point::max();  ///< when to cancel
  time_point cancelled_;                     ///< when that was done
  duration grace_{};
  std::vector<std::shared_ptr<shutdown_joiner>> joiners_;
  shutdown_report report_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_POOL_CLOSER_HPP
