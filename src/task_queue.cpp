// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/task_queue.hpp>

#include <utility>

namespace weir {

std::string_view to_string(job_state s) noexcept {
  switch (s) {
    case job_state::ready:
      return "ready";
    case job_state::leased:
      return "leased";
    case job_state::scheduled:
      return "scheduled";
    case job_state::done:
      return "done";
    case job_state::cancelled:
      return "cancelled";
    case job_state::dead:
      return "dead";
  }
  return "unknown";
}

namespace detail {

enqueue_request own(std::span<const job_request> requests) {
  enqueue_request owned;
  owned.jobs.reserve(requests.size());
  for (const job_request& r : requests)
    owned.jobs.push_back({.job = {.kind = std::string(r.kind),
                                  .payload = std::string(r.payload),
                                  .user = std::string(r.user),
                                  .priority = r.priority,
                                  .run_at = r.run_at.value_or(wall_time()),
                                  .max_attempts = r.max_attempts,
                                  .unique_key = std::string(r.unique_key),
                                  .keep = r.keep,
                                  .headers = {r.headers.begin(), r.headers.end()}},
                          .timed = r.run_at.has_value(),
                          .delay = r.delay,
                          .unique_for = r.unique_for});
  return owned;
}

lease_request own(const lease_options& options) {
  return {.max = options.max,
          .wait = options.wait,
          .lease_for = options.lease_for,
          .kinds = {options.kinds.begin(), options.kinds.end()}};
}

}  // namespace detail

task_queue::task_queue(std::shared_ptr<queue_backend> backend) noexcept
    : backend_(std::move(backend)) {}

task_queue::~task_queue() { backend_->close(); }

task_queue::executor_type task_queue::get_executor() const noexcept { return backend_->executor(); }

void task_queue::close() { backend_->close(); }

}  // namespace weir
