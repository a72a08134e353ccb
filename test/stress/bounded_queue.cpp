// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/bounded_queue.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using weir::error_code;

BOOST_AUTO_TEST_SUITE(bounded_queue_stress)

namespace {

struct item {
  int producer = 0;
  int number = 0;
};

/// Says whether what it is shown comes once and, of each producer, in order. For several threads.
class ledger {
 public:
  explicit ledger(bool in_order) : in_order_(in_order) {}

  void enter(const item& i) {
    const std::lock_guard lock(mutex_);
    if (++seen_[{i.producer, i.number}] != 1) wrong_ = true;
  }

  /// From one thread for each queue.
  void enter_in_order(const item& i) {
    enter(i);
    const std::lock_guard lock(mutex_);
    if (in_order_ && last_[i.producer] >= i.number) wrong_ = true;
    last_[i.producer] = i.number;
  }

  std::size_t size() const { return seen_.size(); }
  bool right() const { return !wrong_; }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, int> seen_;
  std::map<int, int> last_;
  bool in_order_;
  bool wrong_ = false;
};

struct shelf {
  std::deque<item> items;  // without a lock: the queue calls it by one thread at a time
  void push(item&& i) { items.push_back(i); }
  std::optional<item> pop() {
    if (items.empty()) return std::nullopt;
    const item first = items.front();
    items.pop_front();
    return first;
  }
};

weir::overflow_policy<item> policy_number(int n) {
  if (n == 4)
    return weir::coalesce([](const item& i) { return i.number % 5; },
                          [](item& queued, item&& newer) { std::swap(queued, newer); });
  if (n == 5) return weir::spill(shelf());
  return static_cast<weir::overflow>(n);
}

bool balanced(const weir::queue_metrics& m) {
  return m.offered == m.sent + m.rejected && m.sent == m.received + m.dropped_newest +
                                                           m.dropped_oldest + m.merged +
                                                           (m.spilled - m.read_back) + m.size;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_item_ends_once_under_each_policy) {
  constexpr int producers = 4;
  constexpr int each = 1000;
  for (int policy = 0; policy < 6; ++policy) {
    ledger books(policy != 4);
    asio::thread_pool threads(4);
    weir::bounded_queue<item> q(
        threads.get_executor(),
        {.capacity = 8, .on_drop = [&](item&& i, weir::drop_kind) { books.enter(i); }},
        policy_number(policy));
    std::vector<std::future<void>> ended;
    for (int p = 0; p < producers; ++p)
      ended.push_back(asio::co_spawn(
          asio::make_strand(threads),
          [&, p]() -> asio::awaitable<void> {
            for (int n = 1; n <= each; ++n) {
              item i{p, n};
              if (n % 3 == 0) {
                if (q.try_send(std::move(i))) books.enter(i);
              } else {
                co_await q.async_send(i, asio::as_tuple(asio::use_awaitable));
              }
            }
          },
          asio::use_future));
    // One consumer, so that order can be seen; it takes items in all three ways.
    auto consumer = asio::co_spawn(
        asio::make_strand(threads),
        [&]() -> asio::awaitable<void> {
          for (;;) {
            while (auto i = q.try_receive()) books.enter_in_order(*i);
            auto [ec, some] =
                co_await q.async_receive_batch(5, asio::as_tuple(asio::use_awaitable));
            for (const item& i : some) books.enter_in_order(i);
            auto [ec2, one] = co_await q.async_receive(asio::as_tuple(asio::use_awaitable));
            if (ec2) co_return;
            books.enter_in_order(one);
          }
        },
        asio::use_future);
    for (auto& e : ended) e.get();
    q.close();
    consumer.get();
    threads.join();
    BOOST_TEST(books.size() == static_cast<std::size_t>(producers * each));
    BOOST_TEST(books.right());
    BOOST_TEST(balanced(q.metrics()));
  }
}

BOOST_AUTO_TEST_CASE(cancellations_race_items_and_nothing_is_lost) {
  asio::thread_pool threads(4);
  weir::bounded_queue<std::unique_ptr<int>> q(threads.get_executor(), 4);
  int sent = 0;
  std::atomic<int> received{0};
  for (int round = 0; round < 300; ++round) {
    // Each receiver and its signal live on a strand: a signal is not for several threads.
    struct receiver {
      explicit receiver(asio::thread_pool& t) : strand(asio::make_strand(t)) {}
      asio::strand<asio::thread_pool::executor_type> strand;
      asio::cancellation_signal signal;
      std::promise<void> ended;
    };
    std::deque<receiver> receivers;
    for (int i = 0; i < 4; ++i) {
      receiver& r = receivers.emplace_back(threads);
      asio::co_spawn(
          r.strand,
          [&]() -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            co_await asio::this_coro::throw_if_cancelled(false);
            auto [ec, p] = co_await q.async_receive(asio::as_tuple(asio::use_awaitable));
            if (!ec && p) received.fetch_add(1);
          },
          asio::bind_cancellation_slot(r.signal.slot(),
                                       [&r](const std::exception_ptr&) { r.ended.set_value(); }));
    }
    std::thread sender([&] {
      for (int i = 0; i < 2; ++i)
        if (!q.try_send(std::make_unique<int>(i))) ++sent;
    });
    std::vector<std::future<void>> emitted;
    for (receiver& r : receivers)
      emitted.push_back(asio::post(
          r.strand, asio::use_future([&r] { r.signal.emit(asio::cancellation_type::total); })));
    sender.join();
    for (auto& e : emitted) e.get();
    for (receiver& r : receivers) r.ended.get_future().get();
    BOOST_TEST_REQUIRE(q.metrics().in_flight == 0U);
    while (q.try_receive()) received.fetch_add(1);
  }
  threads.join();
  BOOST_TEST(received == sent);
  BOOST_TEST(sent == 600);
}

BOOST_AUTO_TEST_CASE(close_races_senders_and_receivers) {
  for (int round = 0; round < 200; ++round) {
    asio::thread_pool threads(3);
    weir::bounded_queue<int> q(threads.get_executor(), 2,
                               round % 2 == 0 ? weir::block : weir::drop_oldest);
    std::atomic<int> told_sent{0};
    std::atomic<int> received{0};
    for (int i = 0; i < 6; ++i) {
      asio::post(threads, [&] {
        q.async_send(1, [&](error_code ec) {
          if (!ec) told_sent.fetch_add(1);
        });
      });
      asio::post(threads, [&] {
        q.async_receive([&](error_code ec, int) {
          if (!ec) received.fetch_add(1);
        });
      });
    }
    asio::post(threads, [&] { q.close(); });
    threads.join();
    while (q.try_receive()) received.fetch_add(1);
    const auto m = q.metrics();
    BOOST_TEST_REQUIRE(m.waiting_receivers + m.waiting_senders == 0U);
    BOOST_TEST_REQUIRE(static_cast<std::uint64_t>(received) + m.dropped_oldest ==
                       static_cast<std::uint64_t>(told_sent));
  }
}

BOOST_AUTO_TEST_CASE(contexts_of_receivers_end_the_moment_they_are_served) {
  asio::thread_pool threads(1);
  weir::bounded_queue<int> q(threads.get_executor(), 1);
  int served = 0;
  for (int i = 0; i < 2000; ++i) {
    // Destroyed when it has run out of work, while the other thread may still be waking it.
    asio::io_context context(1);
    q.async_receive(asio::bind_executor(context, [&](error_code, int) { ++served; }));
    asio::post(threads, [&] { q.try_send(1); });
    context.run();
  }
  threads.join();
  BOOST_TEST(served == 2000);
}

BOOST_AUTO_TEST_SUITE_END()
