// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/pipeline/options.hpp>
#include <weir/pipeline/progress.hpp>

#include <algorithm>
#include <chrono>

namespace weir {

void error_rule::apply(std::size_t failures, const std::exception_ptr& failure) const {
  if (tell_)
    tell_(target_, failure);
  else if (failures >= static_cast<std::size_t>(tolerated_))
    std::rethrow_exception(failure);
}

error_rule collect_errors(std::vector<std::exception_ptr>& into) noexcept {
  error_rule rule;
  rule.target_ = &into;
  rule.tell_ = [](void* target, const std::exception_ptr& failure) {
    static_cast<std::vector<std::exception_ptr>*>(target)->push_back(failure);
  };
  return rule;
}

progress progress_meter::read(time_point now) const noexcept {
  using seconds = std::chrono::duration<double>;
  progress p;
  p.count = count_.load(std::memory_order_relaxed);
  const auto count = static_cast<double>(p.count);
  if (const double elapsed = seconds(now - start_).count(); elapsed > 0)
    p.per_second = count / elapsed;
  if (total_ == 0) return p;
  const auto total = static_cast<double>(total_);
  p.share = std::min(1.0, count / total);
  if (p.per_second > 0) {
    const double left = std::max(0.0, total - count) / p.per_second;
    // Further away than can be told: not known.
    if (left < seconds(duration::max()).count())
      p.left = std::chrono::duration_cast<duration>(seconds(left));
  }
  return p;
}

}  // namespace weir
