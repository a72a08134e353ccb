// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A user may hold two slots, queued and running together. You will see ada send three requests at
// once and have the third refused, while grace, who comes after her, is served. The refusal has a
// name, and what an HTTP server would answer for it. Once ada's requests have ended, her slots are
// back.

// expect: ada: 429, retry after 1 s \(the user holds as many slots as one user may\)
// expect: while they run: 2 users, 3 active
// expect: ada: 200
// expect: ada: 200
// expect: grace: 200
// expect: afterwards: 0 users, 0 active
// expect: ada: 200
// expect: turned away at the cap: 1

#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;

namespace {

/// Something slow that a request depends on; here it answers when it is told to.
class backend {
 public:
  explicit backend(asio::io_context& context)
      : reply_(context, asio::steady_timer::time_point::max()) {}

  asio::awaitable<void> query() {
    const auto [ec] = co_await reply_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!answered_) throw boost::system::system_error(ec);  // cancelled
  }

  void answer() {
    answered_ = true;
    reply_.expires_at(asio::steady_timer::time_point::min());
  }

 private:
  asio::steady_timer reply_;
  bool answered_ = false;
};

asio::awaitable<void> request(weir::worker_pool& pool, backend& source, std::string user) {
  boost::system::error_code ec;
  try {
    auto work = [&source](weir::task_context&) { return source.query(); };
    co_await weir::co_spawn(pool, {.user = user}, std::move(work), asio::use_awaitable);
  } catch (const boost::system::system_error& e) {
    ec = e.code();
    if (ec != weir::errc::user_limit_reached) throw;
  }
  std::cout << user << ": " << weir::http_status(ec);
  if (const auto wait = weir::retry_after(ec))
    std::cout << ", retry after " << wait->count() << " s (" << ec.message() << ')';
  std::cout << '\n';
}

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

void print_use(const char* when, const weir::worker_pool& pool) {
  const weir::pool_metrics m = pool.metrics();
  std::cout << when << ": " << m.users << " users, " << m.active << " active\n";
}

}  // namespace

int main() {
  asio::io_context context(1);
  backend source(context);
  weir::worker_pool pool(context.get_executor(), {.workers = 8, .max_per_user = 2});

  for (const char* user : {"ada", "ada", "ada", "grace"})
    asio::co_spawn(context, request(pool, source, user), rethrow);
  context.poll();  // up to where everybody waits for the backend
  print_use("while they run", pool);

  source.answer();
  context.run();
  print_use("afterwards", pool);

  context.restart();
  asio::co_spawn(context, request(pool, source, "ada"), rethrow);
  context.run();
  std::cout << "turned away at the cap: " << pool.metrics().rejected.user_limit << '\n';
}
