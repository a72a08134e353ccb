// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/owned_threads.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/strand.hpp>

#include <future>
#include <thread>
#include <utility>

namespace weir {

namespace {

/// Whoever destroys a pool waits like anybody else, only not in a coroutine.
class blocking_joiner final : public detail::shutdown_joiner {
 public:
  void complete(error_code, shutdown_report) override { ended_.set_value(); }
  std::future<void> future() { return ended_.get_future(); }

 private:
  std::promise<void> ended_;
};

void end(std::unique_ptr<detail::owned_threads> threads, std::shared_ptr<detail::pool_core> core) {
  const auto joiner = std::make_shared<blocking_joiner>();
  auto ended = joiner->future();
  core->closer().join(core, {.deadline = duration::zero(), .abandon = true}, joiner);
  ended.wait();
  core->retire();
  threads->flush(core->options().grace);
  threads.reset();  // what is still suspended is destroyed here, and then the core
}

}  // namespace

worker_pool::worker_pool(pool_options options) {
  const int threads = options.threads < 1 ? std::max(options.workers, 1) : options.threads;
  // The threads of those who may stand in are started now: to start one when it is needed can fail.
  threads_ =
      std::make_unique<detail::owned_threads>(threads + std::max(options.stuck_replacements, 0));
  core_ = std::make_shared<detail::pool_core>(threads_->tasks().get_executor(),
                                              threads_->timers().get_executor(), std::move(options),
                                              false);
  core_->attach();
}

worker_pool::worker_pool(boost::asio::any_io_executor ex, pool_options options)
    : core_(std::make_shared<detail::pool_core>(ex, boost::asio::make_strand(ex),
                                                std::move(options), true)) {
  core_->attach();
}

worker_pool::~worker_pool() {
  if (!threads_) {
    core_->closer().join(core_, {.deadline = duration::zero(), .abandon = true}, nullptr);
    core_->retire();
  } else if (threads_->contains_this_thread()) {
    // A task holds the last handle. Its thread cannot join itself.
    std::thread(end, std::move(threads_), std::move(core_)).detach();
  } else {
    end(std::move(threads_), std::move(core_));
  }
}

worker_pool::executor_type worker_pool::get_executor() const noexcept { return core_->executor(); }

error_code worker_pool::submit(task t, std::source_location where) {
  return core_->submit(t, where);
}

error_code worker_pool::submit(pool_room& room, task t, std::source_location where) {
  return core_->submit(room, t, where);
}

void worker_pool::resize(int workers) { core_->resize(workers); }

task_dump worker_pool::dump() const { return core_->dump(); }

bool worker_pool::closed() const noexcept { return core_->closed(); }

pool_metrics worker_pool::metrics() const { return core_->metrics(); }

const pool_options& worker_pool::options() const noexcept { return core_->options(); }

}  // namespace weir
