// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_ALARM_HPP
#define WEIR_DETAIL_FLOW_ALARM_HPP

#include <weir/clock.hpp>
#include <weir/detail/flow_run.hpp>

#include <optional>

namespace weir::detail {

/// Wakes a node at a time. Early at times: the node looks at the clock.
///
/// The timer is touched only where it is not armed, or for later than is asked.
class flow_alarm {
 public:
  flow_alarm() noexcept = default;
  flow_alarm(flow_alarm&&) noexcept {}  // before the pipeline runs

  void set(flow_run& run, flow_node& node, time_point at);

  /// Until the next `set`; for the end, so that nobody waits for the time.
  void cancel() noexcept;

 private:
  std::optional<steady_timer> timer_;
  time_point armed_for_ = time_point::max();
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_ALARM_HPP
