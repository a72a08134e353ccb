// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/histogram.hpp>

#include <algorithm>
#include <cmath>

namespace weir {

namespace {

duration nanoseconds(std::uint64_t n) noexcept { return duration(static_cast<duration::rep>(n)); }

}  // namespace

std::uint64_t histogram::top(std::size_t bucket) noexcept {
  constexpr std::size_t linear = std::size_t{2} << static_cast<unsigned>(sub_bits);
  if (bucket < linear) return bucket;
  const std::size_t shift = (bucket >> sub_bits) - 1;
  const std::uint64_t first = bucket - (shift << sub_bits);
  return ((first + 1) << shift) - 1;
}

duration histogram::mean() const noexcept {
  return count_ == 0 ? duration::zero() : nanoseconds(sum_ / count_);
}

duration histogram::quantile(double q) const noexcept {
  if (count_ == 0) return duration::zero();
  const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const std::uint64_t rank =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < buckets - 1; ++b) {
    seen += counts_[b];
    if (seen >= rank) return nanoseconds(std::min(top(b), max_));
  }
  return max();
}

std::uint64_t histogram::at_most(duration d) const noexcept {
  if (d < duration::zero()) return 0;
  const std::size_t last = bucket(static_cast<std::uint64_t>(d.count()));
  std::uint64_t n = 0;
  for (std::size_t b = 0; b <= last; ++b) n += counts_[b];
  return n;
}

histogram& histogram::operator+=(const histogram& other) noexcept {
  for (std::size_t b = 0; b < buckets; ++b) counts_[b] += other.counts_[b];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  return *this;
}

histogram histogram::since(const histogram& earlier) const noexcept {
  histogram h;
  for (std::size_t b = 0; b < buckets; ++b) {
    h.counts_[b] = counts_[b] - earlier.counts_[b];
    if (h.counts_[b] != 0) h.max_ = b + 1 == buckets ? max_ : std::min(top(b), max_);
  }
  h.count_ = count_ - earlier.count_;
  h.sum_ = sum_ - earlier.sum_;
  return h;
}

}  // namespace weir
