// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// A source that brings a price each millisecond, a consumer that takes three for each, and a queue
// of four between them. You will see what each of the six overflow policies makes of that: who
// pays, whether what is received is old, and what was never received at all, which is counted.

// expect: ^policy +source ready at +received +oldest +last received +never received$
// expect: ^block +106 ms +40 +14 ms +39 +nothing$
// expect: ^reject +40 ms +17 +11 ms +37 +23 refused$
// expect: ^drop_newest +40 ms +17 +11 ms +37 +23 dropped$
// expect: ^drop_oldest +40 ms +17 +9 ms +39 +23 dropped$
// expect: ^coalesce +40 ms +16 +6 ms +39 +24 merged$
// expect: ^spill +40 ms +40 +78 ms +39 +nothing$

#include <weir/bounded_queue.hpp>
#include <weir/clock.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct price {
  int stock = 0;
  int number = 0;
  weir::time_point made{};
};

/// Keeps what a queue has no room for. One on disk has the same two functions.
class store {
 public:
  void push(price&& p) { prices_.push_back(p); }
  std::optional<price> pop() {
    if (prices_.empty()) return std::nullopt;
    const price first = prices_.front();
    prices_.pop_front();
    return first;
  }

 private:
  std::deque<price> prices_;
};

asio::awaitable<void> pause_for(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(asio::deferred);
}

void show(const char* name, weir::overflow_policy<price> policy) {
  // Virtual time, so that the example takes none. A program has an executor of its own here.
  weir::test::virtual_time time;
  weir::bounded_queue<price> prices(time.get_executor(), 4, std::move(policy), "prices");
  weir::duration ready{};
  weir::duration oldest{};
  int last = 0;

  time.spawn("source", [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 40; ++i) {
      co_await pause_for(1ms);
      const price p{i % 3, i, time.now()};
      co_await prices.async_send(p, asio::as_tuple(asio::use_awaitable));
    }
    ready = time.elapsed();
    prices.close();
  });
  time.spawn("consumer", [&]() -> asio::awaitable<void> {
    for (;;) {
      const auto [ended, p] = co_await prices.async_receive(asio::as_tuple(asio::use_awaitable));
      if (ended) co_return;  // queue_closed: all that was inside has been received
      oldest = std::max(oldest, time.now() - p.made);
      last = p.number;
      co_await pause_for(3ms);
    }
  });
  time.run();

  const weir::queue_metrics m = prices.metrics();
  const auto lost = m.rejected + m.dropped_newest + m.dropped_oldest + m.merged;
  const char* const how = m.rejected != 0 ? "refused" : m.merged != 0 ? "merged" : "dropped";
  std::printf("%-12s %12d ms %9d %5d ms %14d  %s\n", name, static_cast<int>(ready / 1ms),
              static_cast<int>(m.received), static_cast<int>(oldest / 1ms), last,
              lost == 0 ? "nothing" : (std::to_string(lost) + ' ' + how).c_str());
}

}  // namespace

int main() {
  std::printf("policy       source ready at  received   oldest  last received  never received\n");
  show("block", weir::block);
  show("reject", weir::reject);
  show("drop_newest", weir::drop_newest);
  show("drop_oldest", weir::drop_oldest);
  show("coalesce", weir::coalesce(&price::stock,
                                  [](price& queued, price&& newer) { std::swap(queued, newer); }));
  show("spill", weir::spill(store()));
}
