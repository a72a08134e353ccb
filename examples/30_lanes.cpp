// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Payments of one account have to be made in order; those of different accounts need not wait for
// each other. You will see two shops with a hundred payments each have them made in order, one at a
// time, with no lock around the account though two workers share the work; a payment that fails
// hold up none after it; a customer with one payment wait for one of a shop's and not for all; and
// a shop that sends more than its share told so. The clock is virtual, so the figures are exact.

// expect: north: 99 made, 1 failed, in order, one at a time
// expect: south: 99 made, 1 failed, in order, one at a time
// expect: ann: 1 made, 0 failed, in order, one at a time; it waited for 3 ms
// expect: all of it took 505 ms
// expect: 300 more for north: 50 refused with 429, the lane has as many tasks as one lane may have

#include <weir/test/virtual_time.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct account {
  std::string name;
  int made = 0;
  int failed = 0;
  int last = 0;
  weir::time_point started{};  ///< the last one
  bool busy = false;
  bool in_order = true;
};

auto milliseconds(weir::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

/// One payment. Whatever it does to the account it does alone, for its task is in the account's
/// lane.
weir::task payment(account& of, int number) {
  auto pay = [&of, number](weir::task_context&) -> asio::awaitable<void> {
    if (of.busy || number < of.last) of.in_order = false;
    of.last = number;
    of.started = weir::steady_clock::now();
    of.busy = true;
    weir::steady_timer bank(co_await asio::this_coro::executor, 5ms);
    co_await bank.async_wait(asio::use_awaitable);
    of.busy = false;
    if (number == 50) {
      ++of.failed;
      throw std::runtime_error("the bank says no");
    }
    ++of.made;
  };
  return {.fn = pay, .lane = of.name};
}

std::ostream& operator<<(std::ostream& out, const account& a) {
  return out << a.name << ": " << a.made << " made, " << a.failed << " failed, "
             << (a.in_order ? "in order, one at a time" : "in disorder");
}

}  // namespace

int main() {
  weir::test::virtual_time time;
  weir::worker_pool pool(time.get_executor(),
                         {.workers = 2, .queue_size = 500, .max_per_user = 0, .max_per_lane = 250});
  account north{"north"}, south{"south"}, ann{"ann"};
  const auto accept = [&pool](weir::task t) {
    if (const auto ec = pool.submit(std::move(t))) throw boost::system::system_error(ec);
  };
  const weir::time_point began = time.now();
  for (int i = 1; i <= 100; ++i) {
    accept(payment(north, i));
    accept(payment(south, i));
  }
  time.run_for(2ms);
  accept(payment(ann, 1));
  time.run();
  std::cout << north << '\n' << south << '\n' << ann << "; it waited for ";
  std::cout << milliseconds(ann.started - began - 2ms) << " ms\n";
  std::cout << "all of it took " << milliseconds(time.now() - began) << " ms\n";

  int refused = 0;
  weir::error_code why;
  for (int i = 101; i <= 400; ++i)
    if (const auto ec = pool.submit(payment(north, i))) {
      ++refused;
      why = ec;
    }
  std::cout << "300 more for north: " << refused << " refused with " << weir::http_status(why)
            << ", " << why.message() << '\n';
  time.run();
}
