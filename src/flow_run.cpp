// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/flow_run.hpp>

#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

namespace {

std::exception_ptr aborted() {
  return std::make_exception_ptr(
      boost::system::system_error(asio::error::operation_aborted, "weir::pipeline"));
}

}  // namespace

flow_run::~flow_run() = default;

void flow_run::wake(flow_node& n) noexcept {
  if (std::exchange(n.woken_, true)) return;
  n.next_woken_ = nullptr;
  (last_woken_ ? last_woken_->next_woken_ : first_woken_) = &n;
  last_woken_ = &n;
  resume();
}

void flow_run::fail(std::exception_ptr why) noexcept {
  if (over_) return;  // what comes of ending it is not the cause of its end
  error_ = std::move(why);
  finish();
}

void flow_run::finish() noexcept {
  over_ = true;
  resume();
}

void flow_run::resume() noexcept {
  if (const auto waiting = std::exchange(waiting_, nullptr)) waiting->complete();
}

void flow_run::on_cancel() noexcept {
  if (over_) return;
  // The first one lets a batch be flushed, if there is one that asks for it; the second does not.
  if (cancelled_ || !drain()) fail(aborted());
  cancelled_ = true;
  resume();
}

void flow_run::process() noexcept {
  turns_ = turns_in_a_row;
  while (first_woken_ && turns_ != 0) {
    flow_node& n = *first_woken_;
    first_woken_ = n.next_woken_;
    if (!first_woken_) last_woken_ = nullptr;
    n.woken_ = false;
    try {
      n.on_wake();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

asio::awaitable<void> flow_run::drive(std::shared_ptr<flow_run> self) {
  // A cancellation ends the parts first, then the driver.
  co_await asio::this_coro::throw_if_cancelled(false);
  try {
    self->connect();
  } catch (...) {
    self->fail(std::current_exception());
  }
  for (;;) {
    // First, so that nothing is begun any more.
    if (self->over_ && !std::exchange(self->closing_, true)) self->stop();
    self->process();
    if (self->over_ && !self->closing_) continue;
    if (self->closing_ && !self->first_woken_ && self->held_ == 0) break;
    if (self->first_woken_) {
      auto others = asio::post(self->executor_, asio::deferred);
      co_await std::move(others);
    } else {
      auto wait = self->async_wait(asio::deferred);
      co_await std::move(wait);
    }
    if (!self->cancelled_ && !self->over_ &&
        (co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none)
      self->on_cancel();
  }
  // What was flushed has been taken to the end; that it was cut short is still to be told.
  if (self->cancelled_ && !self->error_) self->error_ = aborted();
}

void flow_run::hold::give_back() noexcept {
  const auto run = std::move(run_);
  if (--run->held_ == 0 && run->closing_) run->resume();
}

void flow_run::hold::lose() noexcept {
  if (run_->launching_ == 0) run_->fail(aborted());
  give_back();
}

}  // namespace weir::detail
