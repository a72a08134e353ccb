// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// An HTTP server that runs the work of each request on a `weir::worker_pool`, for the user named
// in its X-User header:
//
//   gateway --port 8080 --workers 4 --queue-size 8 --per-user 3 &
//   curl -H 'X-User: ada' --data-binary @file 'http://127.0.0.1:8080/work/hash?rounds=10'
//   curl -H 'X-User: ada' -X POST 'http://127.0.0.1:8080/work/sleep?ms=100'
//   curl -H 'X-User: ada' -d 'http://127.0.0.1:8080/healthz' http://127.0.0.1:8080/work/fetch
//   curl -H 'X-User: ada' -d hello 'http://127.0.0.1:8080/jobs?kind=hash'   202, with an id
//   curl -H 'X-User: ada' http://127.0.0.1:8080/jobs/1
//   curl http://127.0.0.1:8080/metrics
//   gateway --admin 9090 &                                    a page at http://127.0.0.1:9090/
//   kill -TERM %1
//
// You will see 200 with the result, 429 beyond three tasks of one user, 503 beyond four that run
// and eight that wait, 504 past the deadline; and, at the end, who was told what. Jobs wait in a
// file, gateway-jobs.db unless --queue says otherwise, and are done whatever becomes of the
// gateway.

#include "options.hpp"
#include "server.hpp"

#include "../common/open_queue.hpp"

#include <weir/shutdown_on_signal.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

namespace {

namespace asio = boost::asio;

/// Tells the operator what a client is not told.
class failure_log : public weir::pool_observer {
 public:
  void on_task_failed(std::string_view id, std::string_view user,
                      const std::exception_ptr& error) noexcept override {
    const auto print = [&](const char* what) {
      std::fprintf(stderr, "gateway: task %.*s of %.*s failed: %s\n", static_cast<int>(id.size()),
                   id.data(), static_cast<int>(user.size()), user.data(), what);
    };
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      print(e.what());
    } catch (...) {
      print("unknown exception");
    }
  }
};

/// Allows this process as many descriptors as it may allow itself, and says how many that is.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::system_error(errno, std::generic_category(), "getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::system_error(errno, std::generic_category(), "setrlimit");
  return limit.rlim_cur;
}

/// As many connections as there are descriptors for, beside those that the work needs.
std::size_t affordable(std::size_t connections, std::size_t descriptors, std::size_t workers) {
  const std::size_t rest = 128 + workers;
  return std::min(connections, descriptors > 2 * rest ? descriptors - rest : descriptors / 2);
}

void write_accounts(const gateway::accounts& books, const std::string& file) {
  if (file.empty()) {
    std::cout << books.to_json() << std::flush;
    return;
  }
  std::ofstream out(file);
  out << books.to_json() << std::flush;
  if (!out) throw std::runtime_error("cannot write " + file);
}

asio::awaitable<void> serve(weir::worker_pool& pool, weir::task_queue& queue,
                            gateway::server& server, const gateway::options& o) {
  server.start();
  std::cout << "listening on " << server.local_endpoint() << std::endl;
  if (const auto admin = server.admin_endpoint())
    std::cout << "administrators on " << *admin << std::endl;
  const weir::shutdown_report report =
      co_await weir::shutdown_on_signal(pool, server, o.shutdown_deadline);
  co_await server.async_close(asio::use_awaitable);
  queue.close();  // what it was told is carried out; a connection to a server ends
  if (!report.drained)
    std::cerr << "gateway: shut down with " << report.abandoned.size() << " tasks abandoned and "
              << report.stuck.size() << " stuck\n";
  write_accounts(server.books(), o.accounts_file);
}

}  // namespace

int main(int argc, char** argv) try {
  gateway::options o;
  const common::flags flags = gateway::make_flags(o);
  if (!flags.parse(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)))) {
    std::cout << "usage: gateway [flags]\n";
    flags.print_help(std::cout);
    return EXIT_SUCCESS;
  }
  std::signal(SIGPIPE, SIG_IGN);  // a client that has gone is an error code, not a signal
  o.limits.connections = affordable(o.limits.connections, raise_descriptor_limit(),
                                    static_cast<std::size_t>(std::max(o.pool.workers, 1)));
  o.pool.observer = std::make_shared<failure_log>();

  asio::io_context io(1);
  weir::worker_pool pool(o.pool);
  const std::unique_ptr<weir::task_queue> queue =
      common::open_queue(io.get_executor(), {.text = o.jobs.queue, .capacity = o.jobs.capacity});
  gateway::server server(io.get_executor(), pool, *queue, o);
  int status = EXIT_SUCCESS;
  asio::co_spawn(io, serve(pool, *queue, server, o), [&](const std::exception_ptr& error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      std::cerr << "gateway: " << e.what() << '\n';
    }
    status = EXIT_FAILURE;
    io.stop();
  });
  io.run();
  return status;
} catch (const std::exception& e) {
  std::cerr << "gateway: " << e.what() << '\n';
  return EXIT_FAILURE;
}
