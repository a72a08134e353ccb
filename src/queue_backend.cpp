// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/queue_backend.hpp>

#include <algorithm>

namespace weir {

void lease_op::revoke() noexcept {
  if (!granted_.empty()) from_->give_back(granted_);
}

void lease_op::grant(std::shared_ptr<queue_backend> from) {
  for (const lease& l : std::get<0>(answer)) granted_.push_back(l.key);
  from_ = std::move(from);
  finish();
}

bool queue_backend::valid(const enqueue_request& r) noexcept {
  return std::all_of(r.jobs.begin(), r.jobs.end(), [](const new_job& n) {
    return !n.job.kind.empty() && n.job.max_attempts >= 1 && n.job.keep >= duration::zero() &&
           n.delay >= duration::zero() && n.unique_for >= duration::zero();
  });
}

bool queue_backend::valid(const lease_request& r) noexcept {
  return r.max >= 1 && r.wait >= duration::zero() && r.lease_for > duration::zero();
}

bool queue_backend::valid(const settle_request& r) noexcept {
  return r.time >= duration::zero() && (r.how != settlement::extend || r.time > duration::zero());
}

bool queue_backend::valid(const dead_letters_request& r) noexcept { return r.limit >= 1; }

}  // namespace weir
