// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_SERVER_HPP
#define WEIR_EXAMPLES_GATEWAY_SERVER_HPP

#include "options.hpp"
#include "service.hpp"
#include "session.hpp"

#include <weir/admin.hpp>
#include <weir/consumer_metrics.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gateway {

/// Takes connections, so many and no more, and ends them in order.
///
/// Thread safety: one thread, that of the executor: a server's own input and output are cheap, and
/// its work is done on the pool's threads. Lifetime: outlives what it has started; `async_close`
/// tells when that is so.
class server {
 public:
  /// Listens at the address of `o`; nothing is accepted until `start`.
  ///
  /// \throws boost::system::system_error where it cannot be listened at, std::invalid_argument for
  /// a bad entry in `o.allow` or a port that is none.
  server(boost::asio::any_io_executor ex, weir::worker_pool& pool, weir::task_queue& queue,
         options o);
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Where it listens.
  boost::asio::ip::tcp::endpoint local_endpoint() const { return endpoint_; }

  /// Where an administrator looks; nothing where nobody may.
  std::optional<boost::asio::ip::tcp::endpoint> admin_endpoint() const;

  /// Begins to accept, and to run jobs.
  void start();

  /// Accepts no more, and takes no more jobs from the queue. What is connected already is served
  /// on, one request each, and told that it is the last: a `weir::work_source`. Ends when the jobs
  /// that run have ended, and those that do not are back in the queue.
  ///
  /// Completion signature: `void(std::exception_ptr)`.
  template <typename Token>
  auto async_stop(Token&& token) {
    return boost::asio::co_spawn(executor_, stop(), std::forward<Token>(token));
  }

  /// Ends every connection, after the request at hand, within four times the linger time.
  /// Call it when the pool has shut down.
  ///
  /// Completion signature: `void(std::exception_ptr)`.
  template <typename Token>
  auto async_close(Token&& token) {
    return boost::asio::co_spawn(executor_, close(), std::forward<Token>(token));
  }

  const gateway::accounts& books() const noexcept { return service_.books; }
  weir::consumer_metrics jobs() const { return service_.jobs().metrics(); }
  const connection_counts& connections() const noexcept { return service_.connections; }

 private:
  boost::asio::awaitable<void> accept();
  boost::asio::awaitable<void> stop();
  void stop_accepting();
  boost::asio::awaitable<void> close();
  boost::asio::awaitable<void> wait_for_ends(weir::duration within);
  void admit(boost::asio::ip::tcp::socket socket);
  void refuse(boost::asio::ip::tcp::socket socket);
  void spawn(boost::asio::awaitable<void> routine, std::function<void()> at_end);
  std::vector<std::shared_ptr<session>> open_sessions() const;

  boost::asio::any_io_executor executor_;
  options options_;
  service service_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint endpoint_;
  weir::steady_timer pause_;
  weir::steady_timer ended_;  // cancelled each time a routine ends
  std::unordered_map<session*, std::shared_ptr<session>> sessions_;
  std::size_t refusals_ = 0;  // that linger
  std::size_t routines_ = 0;  // of any kind
  std::optional<weir::admin_server> admin_;
};

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_SERVER_HPP
