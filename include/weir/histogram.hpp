// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_HISTOGRAM_HPP
#define WEIR_HISTOGRAM_HPP

#include <weir/clock.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir {

/// How long things took: counts by buckets whose width is an eighth of what they count, from a
/// nanosecond to ten hours. A value, of fixed size.
///
/// To count one takes some nanoseconds and allocates nothing. A quantile is too great by at most an
/// eighth, and never greater than the maximum; the maximum and the sum are exact.
///
/// A pure policy: no Asio, no lock.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
///
/// Source: the layout is that of HdrHistogram: G. Tene.
class histogram {
 public:
  /// Counts `d`. Less than nothing counts as nothing.
  void record(duration d) noexcept {
    const std::uint64_t ns = d.count() < 0 ? 0 : static_cast<std::uint64_t>(d.count());
    ++counts_[bucket(ns)];
    ++count_;
    sum_ += ns;
    if (ns > max_) max_ = ns;
  }

  std::uint64_t count() const noexcept { return count_; }
  duration sum() const noexcept { return duration(static_cast<duration::rep>(sum_)); }
  duration max() const noexcept { return duration(static_cast<duration::rep>(max_)); }

  /// Zero where nothing was counted.
  duration mean() const noexcept;

  /// No more than a share of `q` took longer: `quantile(0.99)` is the 99th percentile. Zero where
  /// nothing was counted.
  /// \param q from 0 to 1
  duration quantile(double q) const noexcept;

  /// How many took at most `d`; those in its bucket count in full.
  std::uint64_t at_most(duration d) const noexcept;

  /// Counts what the other has counted too.
  histogram& operator+=(const histogram& other) noexcept;

  /// What has been counted since `earlier`, a former state of this one. The maximum is that of the
  /// highest bucket, since nobody knows when it was.
  histogram since(const histogram& earlier) const noexcept;

  bool operator==(const histogram&) const = default;

 private:
  static constexpr int sub_bits = 3;
  static constexpr int top_bit = 45;  // 2^45 ns are 9.8 hours; what is longer is in the last bucket
  static constexpr std::size_t buckets = static_cast<std::size_t>(top_bit - sub_bits + 1)
                                         << static_cast<unsigned>(sub_bits);

  static std::size_t bucket(std::uint64_t ns) noexcept {
    if (ns >> top_bit != 0) return buckets - 1;
    const int width = static_cast<int>(std::bit_width(ns));
    if (width <= sub_bits + 1) return static_cast<std::size_t>(ns);
    const int shift = width - sub_bits - 1;
    return (static_cast<std::size_t>(shift) << sub_bits) + static_cast<std::size_t>(ns >> shift);
  }
  /// The greatest that a bucket counts.
  static std::uint64_t top(std::size_t bucket) noexcept;

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace weir

#endif  // WEIR_HISTOGRAM_HPP
