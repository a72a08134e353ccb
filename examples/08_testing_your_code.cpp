// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A client that sends a deposit, waits a while for the receipt, and sends it again if none has
// come. It has worked in every test so far. You will see the one order of events in which it pays
// twice, as a number that fails again; that the mended client survives every order that was drawn;
// and what a test says of a program that is stuck, or that leaves something behind.

// expect: ^found: seed [0-9]+: paid 20 for 10
// expect: ^Run it alone with WEIR_SEED=[0-9]+
// expect: ^[0-9]+ at \+100.000 ms: #1 client \(08_testing_your_code.cpp:[0-9]+\), made ready by a timer
// expect: ^2000 orders of the mended client: 10 for 10
// expect: ^deadlock at \+86400000.000 ms: work is left
// expect: #1 night guard \(08_testing_your_code.cpp:[0-9]+\) \[semaphore acquire\] of 'vault' since
// expect: held: 1 permit of 'vault'

#include <weir/semaphore.hpp>
#include <weir/test/for_each_seed.hpp>
#include <weir/test/leak_check.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::test::simulation;

namespace {

/// Books a deposit a tenth of a second after it was sent, unless it has one of that key already.
struct bank {
  int balance = 0;
  std::set<int> keys;

  asio::awaitable<void> book(int amount, int key) {
    weir::steady_timer line(co_await asio::this_coro::executor, 100ms);
    co_await line.async_wait(asio::deferred);
    if (keys.insert(key).second) balance += amount;
  }
};

/// What is under test. It gives the bank a tenth of a second as well.
asio::awaitable<void> deposit(bank& b, int amount, bool same_key_again) {
  const auto executor = co_await asio::this_coro::executor;
  const auto patience = std::make_shared<weir::steady_timer>(executor);
  const auto booked = std::make_shared<bool>(false);
  for (int attempt = 0; !*booked; ++attempt) {
    auto sending = b.book(amount, same_key_again ? 0 : attempt);
    asio::co_spawn(executor, std::move(sending), [patience, booked](const std::exception_ptr&) {
      *booked = true;
      patience->cancel();
    });
    patience->expires_after(100ms);
    co_await patience->async_wait(asio::as_tuple(asio::deferred));
  }
}

void test_deposit(simulation& sim, bool same_key_again) {
  const weir::test::leak_check nothing_left(sim);
  bank b;
  sim.spawn("client", deposit(b, 10, same_key_again));
  sim.run();
  if (b.balance != 10) throw std::runtime_error("paid " + std::to_string(b.balance) + " for 10");
}

}  // namespace

int main() {
  try {
    weir::test::for_each_seed(2000, [](simulation& sim) { test_deposit(sim, false); });
    std::cout << "the fault was not found\n";
    return 1;
  } catch (const weir::test::seed_failure& failure) {
    std::cout << "found: " << failure.what() << '\n';
  }

  weir::test::for_each_seed(2000, [](simulation& sim) { test_deposit(sim, true); });
  std::cout << "2000 orders of the mended client: 10 for 10\n";

  // A day of virtual time takes no time, and a program that can never go on says who waits for
  // what.
  weir::test::virtual_time time;
  weir::semaphore vault(time.get_executor(), 1, "vault");
  weir::permit forgotten = vault.try_acquire();
  time.spawn("night guard", [&]() -> asio::awaitable<void> {
    weir::steady_timer shift(co_await asio::this_coro::executor, 24h);
    co_await shift.async_wait(asio::deferred);
    const weir::permit key = co_await vault.async_acquire(asio::use_awaitable);
  });
  try {
    time.run();
  } catch (const weir::test::deadlock_error& stuck) {
    std::cout << stuck.what() << '\n';
  }
}
