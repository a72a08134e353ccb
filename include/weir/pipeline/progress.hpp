// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_PROGRESS_HPP
#define WEIR_PIPELINE_PROGRESS_HPP

#include <weir/clock.hpp>
#include <weir/detail/flow_fused.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir {

/// How far a stage is.
struct progress {
  std::uint64_t count = 0;
  std::optional<double> share;   ///< of the total, from 0 to 1; empty where none is known
  double per_second = 0;         ///< on average since the start
  std::optional<duration> left;  ///< at that rate; empty where the total or the rate is not known
};

/// Counts what goes by.
///
/// Thread safety: safe, so that a display may read it from another thread.
class progress_meter {
 public:
  /// \param total how many will come; 0: not known
  explicit progress_meter(std::uint64_t total = 0, time_point start = steady_clock::now()) noexcept
      : total_(total), start_(start) {}

  void add(std::uint64_t n = 1) noexcept { count_.fetch_add(n, std::memory_order_relaxed); }

  progress read(time_point now = steady_clock::now()) const noexcept;

 private:
  const std::uint64_t total_;
  const time_point start_;
  std::atomic<std::uint64_t> count_{0};
};

/// Counts the items that go by in `meter`, which anybody may read. For more than one stage, one
/// each.
///
/// Lifetime: `meter` outlives the pipeline.
inline auto tap_progress(progress_meter& meter) {
  return detail::stage_of([&meter]<detail::flow Up>(Up up) {
    auto count = [&meter](const typename Up::value_type&) { meter.add(); };
    return detail::tap_flow<Up, decltype(count)>(std::move(up), std::move(count));
  });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_PROGRESS_HPP
