// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/consumer.hpp>
#include <weir/detail/require.hpp>

#include <utility>

namespace weir {

namespace {

bool valid(const consumer_options& o) noexcept {
  return o.lease_for > duration::zero() && o.max_leased >= 0 &&
         o.timeout.value_or(duration()) >= duration::zero() && o.retry.valid() &&
         o.snooze > duration::zero() && o.snooze <= duration::max() / 2 && o.queue_backoff.valid();
}

}  // namespace

consumer::consumer(task_queue& queue, worker_pool& pool, job_handlers handlers,
                   consumer_options options) {
  detail::require(!handlers.empty() && valid(options), "weir::consumer");
  core_ = std::make_shared<detail::consumer_core>(detail::queue_access::backend(queue),
                                                  detail::pool_access::core(pool),
                                                  std::move(handlers), std::move(options));
}

consumer::~consumer() { core_->stop(); }

consumer::executor_type consumer::get_executor() const noexcept { return core_->executor(); }

void consumer::start() { core_->start(); }

void consumer::pause() { core_->pause(true); }

void consumer::resume() { core_->pause(false); }

consumer_metrics consumer::metrics() const { return core_->metrics(); }

}  // namespace weir
