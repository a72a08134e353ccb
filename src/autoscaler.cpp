// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/autoscaler.hpp>
#include <weir/detail/pool_core.hpp>
#include <weir/detail/ticker.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir {

namespace detail {

class autoscaler_state final : public ticker {
 public:
  autoscaler_state(pool_core& core, autoscaler_options options)
      : ticker(core.keeper().executor(),
               std::max<duration>(options.every, std::chrono::milliseconds(1))),
        core_(core.weak_from_this()),
        policy_(options.scale),
        on_change_(std::move(options.on_change)),
        seen_(core.metrics().queue_wait) {}

 private:
  void tick(time_point now) override {
    const auto core = core_.lock();
    if (!core || core->ended()) {
      stop();
      return;
    }
    const pool_metrics m = core->metrics();
    const duration recent = m.queue_wait.since(seen_).quantile(0.9);
    seen_ = m.queue_wait;
    const auto change = policy_.on_load(now, {.workers = m.workers,
                                              .active = m.active,
                                              .queued = m.queued,
                                              .wait = std::max(m.oldest_wait, recent)});
    if (!change) return;
    core->resize(change->to);
    if (on_change_) on_change_(*change);
  }

  const std::weak_ptr<pool_core> core_;
  scale_policy policy_;
  const std::function<void(const scale_change&)> on_change_;
  histogram seen_;  ///< the waits as of the last look
};

}  // namespace detail

autoscaler::autoscaler(worker_pool& pool, autoscaler_options options)
    : state_(std::make_shared<detail::autoscaler_state>(*detail::pool_access::core(pool),
                                                        std::move(options))) {
  state_->attach();
  state_->start();
}

autoscaler::~autoscaler() { state_->stop(); }

void autoscaler::pause() { state_->stop(); }

void autoscaler::resume() { state_->start(); }

bool autoscaler::paused() const { return !state_->ticks(); }

}  // namespace weir
