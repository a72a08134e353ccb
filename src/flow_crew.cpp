// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/flow_crew.hpp>
#include <weir/detail/require.hpp>
#include <weir/error.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

void require_valid(const map_options& o) {
  constexpr const char* who = "weir::map";
  require(o.concurrency >= 1, who);
  require(o.buffer >= 1, who);
  require(o.order.window >= 1, who);
  require(o.order.item_deadline >= duration::zero(), who);
  require(o.timeout >= duration::zero(), who);
  require(o.errors.valid(), who);
}

namespace {

/// The one that comes first; zero where there is none.
duration first_deadline(const map_options& o) noexcept {
  const duration a = o.order.item_deadline;
  const duration b = o.timeout;
  if (a == duration::zero() || b == duration::zero()) return a + b;
  return std::min(a, b);
}

}  // namespace

flow_crew::flow_crew(const map_options& options, std::size_t places) noexcept
    : options_(options), places_(places), deadline_(first_deadline(options)) {}

/// Completes a worker's coroutine; by then the frames of the stage's function are gone.
class flow_crew::end_of_work {
 public:
  using cancellation_slot_type = asio::cancellation_slot;

  end_of_work(flow_crew& crew, std::unique_ptr<flow_worker> worker)
      : crew_(crew), hold_(*crew.run_), worker_(std::move(worker)) {}
  end_of_work(end_of_work&&) noexcept = default;
  end_of_work& operator=(end_of_work&&) = delete;
  ~end_of_work() {
    if (worker_) crew_.leave(*worker_);
  }

  cancellation_slot_type get_cancellation_slot() const noexcept { return worker_->signal.slot(); }

  void operator()(const std::exception_ptr&) {
    worker_.reset();
    hold_.give_back();
  }

 private:
  flow_crew& crew_;
  flow_run::hold hold_;
  // Asio may still clear the slot when the coroutine has ended, so that the next worker cannot have
  // the same signal before this has been called.
  std::unique_ptr<flow_worker> worker_;
};

void flow_crew::pump() {
  while (((backlog_ != 0 && !stopped_) || may_take()) &&
         workers_.size() + told_.size() < static_cast<std::size_t>(options_.concurrency))
    start_worker();
}

void flow_crew::start_worker() {
  fault_point();
  const flow_run::launching scope(*run_);  // outlives `end` where this fails
  auto made = std::make_unique<flow_worker>();
  flow_worker& w = *made;
  workers_.push(w);
  end_of_work end(*this, std::move(made));
  asio::co_spawn(run_->executor(), body(w), std::move(end));
}

void flow_crew::leave(flow_worker& w) noexcept {
  if (w.left) return;
  w.left = true;
  (w.told ? told_ : workers_).erase(w);
}

asio::awaitable<void> flow_crew::body(flow_worker& w) {
  w.begun = true;
  co_await work(w);
  leave(w);
  run_->wake(*down_);
}

void flow_crew::begin_item(flow_worker& w) {
  ++busy_;
  w.busy = true;
  if (deadline_ == duration::zero()) return;
  w.due = saturating_add(steady_clock::now(), deadline_);
  alarm_.set(*run_, *this, w.due);
}

bool flow_crew::end_item(flow_worker& w) noexcept {
  --busy_;
  w.busy = false;
  w.due = time_point::max();
  run_->wake(*down_);
  if (!w.late) return !stopped_;
  --late_;
  w.late = false;
  return false;
}

void flow_crew::fail_item(const std::exception_ptr& failure) noexcept {
  try {
    options_.errors.apply(failures_++, failure);
  } catch (...) {
    run_->fail(std::current_exception());
  }
}

void flow_crew::stop_crew() noexcept {
  if (std::exchange(stopped_, true)) return;
  alarm_.cancel();
  run_->wake(*this);
}

void flow_crew::on_wake() {
  if (stopped_) {
    // What is cancelled may end at once, so the list is taken from its front each time. Those that
    // have not begun see for themselves.
    for (std::size_t n = workers_.size(); n != 0 && !workers_.empty(); --n) {
      flow_worker& w = workers_.front();
      if (w.begun) {
        cancel(w);
      } else {
        workers_.erase(w);
        workers_.push(w);
      }
    }
    return;
  }
  if (deadline_ != duration::zero()) look_at_deadlines();
  input_waits_ = false;
  pump();
}

void flow_crew::cancel(flow_worker& w) {
  workers_.erase(w);
  told_.push(w);
  w.told = true;
  w.signal.emit(asio::cancellation_type::terminal);
}

void flow_crew::look_at_deadlines() {
  const time_point now = steady_clock::now();
  time_point next = time_point::max();
  const auto overdue = [&]() -> flow_worker* {
    flow_worker* found = nullptr;
    next = time_point::max();
    workers_.for_each([&](flow_worker& w) {
      if (!w.busy) return;
      if (w.due <= now)
        found = found ? found : &w;
      else
        next = std::min(next, w.due);
    });
    return found;
  };
  // From the beginning each time: what is cancelled may end at once, and change the list.
  while (flow_worker* const w = overdue()) {
    w->late = true;
    ++late_;
    give_up(*w);
    if (!(deadline_ == options_.order.item_deadline && options_.order.when_late == skip))
      fail_item(std::make_exception_ptr(
          boost::system::system_error(errc::deadline_exceeded, "weir::map")));
    run_->wake(*down_);
    cancel(*w);
  }
  if (next != time_point::max()) alarm_.set(*run_, *this, next);
}

}  // namespace weir::detail
