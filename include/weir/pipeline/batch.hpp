// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_BATCH_HPP
#define WEIR_PIPELINE_BATCH_HPP

#include <weir/clock.hpp>
#include <weir/detail/flow_batch.hpp>
#include <weir/detail/require.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weir {

/// What a `batch` does with what it has gathered when the pipeline is cancelled.
enum class on_cancel : std::uint8_t {
  /// It is dropped with everything else.
  drop,
  /// The stages above are ended, and the batch goes on as the last one: the stages below run to
  /// their
  /// end, uncancelled, and then the pipeline ends with `operation_aborted`. A second cancellation
  /// ends
  /// these too. For a sink that writes what must not be lost.
  flush,
};

/// Gathers items into `std::vector`s of `size`, or fewer when `wait` has passed since the first of
/// them came, or no more come. Never an empty one.
///
/// Where the next stage is slow a batch that is complete waits for it, and the stages above wait
/// too.
///
/// \throws system_error with `invalid_argument` if `size` is below 1 or `wait` not above zero.
inline auto batch(std::ptrdiff_t size, duration wait = duration::max(),
                  on_cancel tail = on_cancel::drop) {
  detail::require(size >= 1 && wait > duration::zero(), "weir::batch");
  return detail::stage_of([size, wait, tail]<detail::flow Up>(Up up) {
    return detail::batch_flow<Up>(std::move(up), static_cast<std::size_t>(size), wait,
                                  tail == on_cancel::flush);
  });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_BATCH_HPP
