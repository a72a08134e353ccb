// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Work that computes and so cannot be cancelled at an await: it looks for perfect numbers. You will
// see the search for the fourth succeed; and two searches for an odd one, of which none is known,
// end at their deadlines: the first asks its stop token as it goes along, the second has an engine
// with a switch of its own, which a std::stop_callback on the same token throws.

// expect: the fourth perfect number: 8128
// expect: an odd one, by polling: 504, the task outlived its run deadline
// expect: an odd one, by stop_callback: 504, the task outlived its run deadline
// expect: 1 completed, 2 timed out, 0 active

#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <optional>
#include <stop_token>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

bool is_perfect(std::uint64_t n) {
  std::uint64_t sum = 1;
  for (std::uint64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) sum += d + (d * d == n ? 0 : n / d);
  return n > 1 && sum == n;
}

/// A library that knows nothing of tokens: it runs until somebody else throws its switch.
class engine {
 public:
  void halt() { halted_ = true; }

  std::optional<std::uint64_t> find_odd() {
    for (std::uint64_t n = 1; !halted_; n += 2)
      if (is_perfect(n)) return n;
    return std::nullopt;
  }

 private:
  std::atomic<bool> halted_{false};
};

// None of the three is a coroutine: a task that awaits nothing needs no frame.

std::uint64_t fourth(weir::task_context&) {
  std::uint64_t n = 0;
  for (int found = 0; found < 4; ++found)
    while (!is_perfect(++n)) {
    }
  return n;
}

std::uint64_t odd_by_polling(weir::task_context& context) {
  const weir::stop_token stop = context.stop_token();
  for (std::uint64_t n = 1; !stop.stop_requested(); n += 2)
    if (is_perfect(n)) return n;
  return 0;  // its caller gets the error instead
}

std::uint64_t odd_by_callback(weir::task_context& context) {
  engine search;
  const std::stop_callback on_stop(std::stop_token(context.stop_token()), [&] { search.halt(); });
  return search.find_odd().value_or(0);
}

template <typename F>
void show(weir::worker_pool& pool, const char* what, weir::run_options options, F work) {
  std::future<std::uint64_t> result = weir::co_spawn(pool, options, work, asio::use_future);
  std::cout << what << ": ";
  try {
    std::cout << result.get() << '\n';
  } catch (const boost::system::system_error& e) {
    std::cout << weir::http_status(e.code()) << ", " << e.code().message() << '\n';
  }
}

}  // namespace

int main() {
  weir::worker_pool pool({.workers = 2, .answer_after = weir::duration::max()});
  show(pool, "the fourth perfect number", {.user = "ada"}, fourth);
  show(pool, "an odd one, by polling", {.user = "ada", .timeout = 100ms}, odd_by_polling);
  show(pool, "an odd one, by stop_callback", {.user = "ada", .timeout = 100ms}, odd_by_callback);

  const weir::pool_metrics m = pool.metrics();
  std::cout << m.completed << " completed, " << m.timed_out << " timed out, " << m.active
            << " active\n";
}
