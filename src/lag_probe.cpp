// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/fault_point.hpp>
#include <weir/detail/ticker.hpp>
#include <weir/lag_probe.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace weir {

namespace asio = boost::asio;

namespace detail {

class lag_probe_state final : public ticker {
 public:
  lag_probe_state(asio::any_io_executor probed, asio::any_io_executor timers, duration every)
      : ticker(std::move(timers), every), every_(every), probed_(std::move(probed)) {}

  void attach() {
    ticker::attach();
    context_watch::add(asio::query(probed_, asio::execution::context), weak_from_this());
  }

  lag_snapshot snapshot() const {
    const std::lock_guard lock(mutex_);
    return {lag_, posted_ ? steady_clock::now() - *posted_ : last_};
  }

  void on_context_end(const asio::execution_context& context) noexcept override {
    ticker::on_context_end(context);
    const std::lock_guard lock(mutex_);
    if (!probed_ || &asio::query(probed_, asio::execution::context) != &context) return;
    probed_ = {};
    posted_.reset();  // it will not come back
  }

 private:
  void tick(time_point now) override {
    const std::lock_guard lock(mutex_);  // held while it posts: the context cannot end meanwhile
    if (!probed_ || posted_) return;
    posted_ = now;
    try {
      fault_point();
      asio::post(probed_, [self = std::static_pointer_cast<lag_probe_state>(shared_from_this())] {
        self->come_back();
      });
    } catch (const std::bad_alloc&) {
      posted_.reset();  // the next tick tries again
    }
  }

  void come_back() {
    const std::lock_guard lock(mutex_);
    if (!posted_) return;
    last_ = steady_clock::now() - *std::exchange(posted_, std::nullopt);
    lag_.record(last_);
    duration held_back = last_ - every_;
    for (int n = 1; n < max_counted && held_back > duration::zero(); ++n, held_back -= every_)
      lag_.record(held_back);
  }

  static constexpr int max_counted = 10'000;

  const duration every_;
  mutable std::mutex mutex_;
  asio::any_io_executor probed_;      ///< empty once its context is gone
  std::optional<time_point> posted_;  ///< of the one that is out
  duration last_{};
  histogram lag_;
};

/// Where the ticks come from.
class lag_probe_thread {
 public:
  lag_probe_thread() : work_(timers_.get_executor()), thread_([this] { timers_.run(); }) {}
  lag_probe_thread(const lag_probe_thread&) = delete;
  lag_probe_thread& operator=(const lag_probe_thread&) = delete;
  ~lag_probe_thread() {
    timers_.stop();
    thread_.join();
  }

  asio::any_io_executor executor() { return timers_.get_executor(); }

 private:
  asio::io_context timers_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace detail

namespace {

std::shared_ptr<detail::lag_probe_state> started_probe(asio::any_io_executor probed,
                                                       asio::any_io_executor timers,
                                                       const lag_probe_options& options) {
  auto state = std::make_shared<detail::lag_probe_state>(
      std::move(probed), std::move(timers),
      std::max<duration>(options.every, std::chrono::milliseconds(1)));
  state->attach();
  state->start();
  return state;
}

}  // namespace

lag_probe::lag_probe(asio::any_io_executor probed, lag_probe_options options)
    : thread_(std::make_unique<detail::lag_probe_thread>()),
      state_(started_probe(std::move(probed), thread_->executor(), options)) {}

lag_probe::lag_probe(asio::any_io_executor probed, asio::any_io_executor timers,
                     lag_probe_options options)
    : state_(started_probe(std::move(probed), std::move(timers), options)) {}

lag_probe::~lag_probe() { state_->stop(); }

lag_snapshot lag_probe::snapshot() const { return state_->snapshot(); }

}  // namespace weir
