// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A program that ends in order on SIGTERM, which it sends to itself here while jobs are running and
// queued. You will see what brings the jobs stop first, then the pool run all that it had accepted,
// and the report say so.

// expect: source: 6 jobs handed over
// expect: source: stopped
// expect: drained: yes, abandoned: 0, stuck: 0
// expect: accepted: 6, completed: 6
// expect: a job that comes now: the pool is closed

#include <weir/shutdown_on_signal.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/channel.hpp>

#include <chrono>
#include <csignal>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> job(weir::task_context&) {
  asio::steady_timer io(co_await asio::this_coro::executor, 20ms);
  co_await io.async_wait(asio::use_awaitable);
}

/// Brings work to the pool; in a server this would be the acceptor.
class job_source {
 public:
  job_source(asio::io_context& context, weir::worker_pool& pool)
      : pool_(pool),
        upstream_(context, asio::steady_timer::time_point::max()),
        ended_(context, 1) {}

  asio::awaitable<void> run() {
    for (int i = 0; i < 6; ++i) {
      weir::task next{.fn = job};
      auto handed_over = pool_.async_submit(std::move(next), asio::use_awaitable);
      co_await std::move(handed_over);
    }
    std::cout << "source: 6 jobs handed over\n";
    std::raise(SIGTERM);
    // There is no seventh: only being told to stop ends this wait.
    co_await upstream_.async_wait(asio::as_tuple(asio::use_awaitable));
    std::cout << "source: stopped\n";
    ended_.try_send(weir::error_code{});
  }

  /// What `weir::shutdown_on_signal` asks of a source: completes when it brings no more.
  template <typename Token>
  auto async_stop(Token&& token) {
    upstream_.expires_at(asio::steady_timer::time_point::min());
    return ended_.async_receive(std::forward<Token>(token));
  }

 private:
  weir::worker_pool& pool_;
  asio::steady_timer upstream_;
  asio::experimental::channel<void(weir::error_code)> ended_;
};

asio::awaitable<void> serve(weir::worker_pool& pool, job_source& source) {
  const weir::shutdown_report report = co_await weir::shutdown_on_signal(pool, source, 30s);
  std::cout << "drained: " << (report.drained ? "yes" : "no")
            << ", abandoned: " << report.abandoned.size() << ", stuck: " << report.stuck.size()
            << '\n';
}

}  // namespace

int main() {
  asio::io_context context(1);
  weir::worker_pool pool({.workers = 2, .max_per_user = 0});
  job_source source(context, pool);

  // First the one that listens for the signal, or the signal would end the program.
  auto served = asio::co_spawn(context, serve(pool, source), asio::use_future);
  auto ran = asio::co_spawn(context, source.run(), asio::use_future);
  context.run();
  ran.get();
  served.get();

  const weir::pool_metrics m = pool.metrics();
  std::cout << "accepted: " << m.submitted << ", completed: " << m.completed << '\n';
  std::cout << "a job that comes now: " << pool.submit({.fn = job}).message() << '\n';
}
