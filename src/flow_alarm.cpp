// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/flow_alarm.hpp>

#include <boost/system/error_code.hpp>

namespace weir::detail {

void flow_alarm::set(flow_run& run, flow_node& node, time_point at) {
  if (armed_for_ <= at) return;  // also where neither is ever
  if (timer_)
    timer_->expires_at(at);
  else
    timer_.emplace(run.executor(), at);
  armed_for_ = at;
  timer_->async_wait(
      [this, &run, &node, at, hold = flow_run::hold(run)](boost::system::error_code) mutable {
        // Whatever it was that ended the wait: an earlier `set` has a handler of its own.
        if (armed_for_ == at) {
          armed_for_ = time_point::max();
          run.wake(node);
        }
        hold.give_back();
      });
}

void flow_alarm::cancel() noexcept {
  if (timer_) timer_->cancel();
}

}  // namespace weir::detail
