// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/pool_closer.hpp>
#include <weir/detail/pool_core.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

void pool_closer::join(const std::shared_ptr<pool_core>& core, shutdown_options options,
                       std::shared_ptr<shutdown_joiner> joiner) {
  // What a shutdown promises at once happens here: a submission after this call is refused.
  const time_point asked = steady_clock::now();
  if (core->context_gone()) {
    if (joiner) joiner->complete({}, core->report());
    return;
  }
  core->close();
  if (options.abandon) core->abandon_queue();
  boost::asio::post(keeper_, [core, options, asked, joiner = std::move(joiner)]() mutable {
    pool_closer& closer = core->closer();
    if (joiner) closer.joiners_.push_back(std::move(joiner));
    closer.enter(*core, options, asked);
    closer.step(core);
  });
}

void pool_closer::leave(const std::shared_ptr<pool_core>& core,
                        std::shared_ptr<shutdown_joiner> joiner) {
  if (core->context_gone()) return;
  boost::asio::post(keeper_, [core, joiner = std::move(joiner)] {
    if (std::erase(core->closer().joiners_, joiner) != 0)
      joiner->complete(boost::asio::error::operation_aborted, {});
  });
}

void pool_closer::drained(const std::shared_ptr<pool_core>& core) {
  boost::asio::post(keeper_, [core] { core->closer().step(core); });
}

void pool_closer::abandon_context() {
  timer_.reset();
  keeper_ = {};
  for (const auto& joiner : std::exchange(joiners_, {}))
    joiner->complete(boost::asio::error::operation_aborted, {});
}

void pool_closer::enter(pool_core& core, const shutdown_options& options, time_point asked) {
  const duration deadline = std::max(options.deadline, duration::zero());
  const duration grace = std::max(options.grace.value_or(core.options().grace), duration::zero());
  if (stage_ == stage::open) {
    stage_ = stage::draining;
    began_ = asked;
    grace_ = grace;
  }
  deadline_ = std::min(deadline_, saturating_add(asked, deadline));
  if (options.grace || stage_ == stage::draining) grace_ = std::min(grace_, grace);
}

void pool_closer::step(const std::shared_ptr<pool_core>& core) {
  if (stage_ == stage::open) return;  // the pool was closed, but nobody has asked for the stages
  const time_point now = steady_clock::now();
  if (stage_ == stage::draining && now >= deadline_) {
    stage_ = stage::cancelling;
    cancelled_ = now;
    core->abandon_queue();
    core->cancel_running(cancel_cause::shutdown);
  }
  const time_point limit =
      stage_ == stage::draining ? deadline_ : saturating_add(cancelled_, grace_);
  if (stage_ == stage::ended || core->live() == 0 ||
      (stage_ == stage::cancelling && now >= limit)) {
    finish(*core);
    return;
  }
  if (!timer_) timer_.emplace(keeper_);
  timer_->expires_at(limit);
  timer_->async_wait([core](const error_code& ec) {
    if (!ec) core->closer().step(core);
  });
}

void pool_closer::finish(pool_core& core) {
  if (stage_ != stage::ended) {
    stage_ = stage::ended;
    timer_.reset();
    report_ = core.report();
    report_.took = steady_clock::now() - began_;
  }
  for (const auto& joiner : std::exchange(joiners_, {})) joiner->complete({}, report_);
}

}  // namespace weir::detail
