// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"
#include "sleep_for.hpp"

#include <weir/bounded_queue.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/random.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using weir::drop_kind;
using weir::errc;
using weir::error_code;
using weir::overflow;
using weir::test::simulation;
using weir_test::sleep_for;

BOOST_AUTO_TEST_SUITE(bounded_queue)

namespace {

template <typename T>
using queue_of = weir::bounded_queue<T>;

bool is_invalid(const boost::system::system_error& e) { return e.code() == errc::invalid_argument; }

/// What a receive came to.
template <typename T>
struct answer {
  std::optional<error_code> code;
  T item{};

  auto handler() {
    return [this](error_code ec, T received) {
      code = ec;
      item = std::move(received);
    };
  }
};

/// What a send came to.
struct told {
  std::optional<error_code> code;
  auto handler() {
    return [this](error_code ec) { code = ec; };
  }
};

template <typename T>
std::vector<T> drain(queue_of<T>& q) {
  std::vector<T> all;
  while (auto item = q.try_receive()) all.push_back(*std::move(item));
  return all;
}

template <typename T>
bool balanced(const queue_of<T>& q) {
  const auto m = q.metrics();
  return m.offered == m.sent + m.rejected + m.waiting_senders &&
         m.sent == m.received + m.dropped_newest + m.dropped_oldest + m.merged +
                       (m.spilled - m.read_back) + m.size + m.in_flight;
}

using dropped = std::vector<std::pair<int, drop_kind>>;

auto note(dropped& to) {
  return [&to](int&& item, drop_kind kind) { to.emplace_back(item, kind); };
}

struct keyed {
  int key = 0;
  int value = 0;
  friend bool operator==(const keyed&, const keyed&) = default;
};

void add(keyed& queued, keyed&& newer) { queued.value += newer.value; }

/// A sink that can be read back, and that fails when it is told to.
struct shelf {
  std::deque<int> items;
  int failures = 0;

  void push(int&& item) {
    fail();
    items.push_back(item);
  }
  std::optional<int> pop() {
    fail();
    if (items.empty()) return std::nullopt;
    const int first = items.front();
    items.pop_front();
    return first;
  }

 private:
  void fail() {
    if (failures == 0) return;
    --failures;
    throw boost::system::system_error(make_error_code(boost::system::errc::no_space_on_device));
  }
};

/// A sink that cannot.
struct hole {
  std::vector<int>* items;
  void push(int&& item) { items->push_back(item); }
};

}  // namespace

// --- one thing at a time -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(options_that_can_hold_nothing_are_invalid) {
  asio::io_context context;
  for (const int n : {0, -1})
    BOOST_CHECK_EXCEPTION(queue_of<int>(context.get_executor(), n), boost::system::system_error,
                          is_invalid);
  BOOST_CHECK_EXCEPTION(queue_of<int>(context.get_executor(), {.capacity = 1, .max_weight = 1}),
                        boost::system::system_error, is_invalid);
}

BOOST_AUTO_TEST_CASE(items_are_received_in_order_by_each_kind_of_receive) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 9);
  for (int i = 0; i < 9; ++i) BOOST_TEST(!q.try_send(int(i)));
  BOOST_TEST(*q.try_receive() == 0);
  answer<int> one;
  answer<std::vector<int>> two;
  answer<std::vector<int>> rest;
  q.async_receive(one.handler());
  q.async_receive_batch(2, two.handler());
  q.async_receive_batch(100, rest.handler());
  BOOST_TEST(!one.code);  // never inside the call
  time.run();
  BOOST_TEST(one.item == 1);
  BOOST_TEST((two.item == std::vector{2, 3}));
  BOOST_TEST((rest.item == std::vector{4, 5, 6, 7, 8}));
  BOOST_TEST(!q.try_receive());
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(item_that_try_send_refuses_stays_with_its_sender) {
  asio::io_context context;
  using item = std::unique_ptr<int>;
  int heard = 0;
  queue_of<item> q(context.get_executor(), {.capacity = 1,
                                            .max_weight = 10,
                                            .weigh = [](const item& i) { return std::size_t(*i); },
                                            .on_drop = [&](item&&, drop_kind) { ++heard; }});
  auto heavy = std::make_unique<int>(11);
  BOOST_TEST((q.try_send(std::move(heavy)) == errc::invalid_argument));
  BOOST_TEST((q.try_send(std::move(heavy), weir::drop_oldest) == errc::invalid_argument));
  BOOST_TEST(!q.try_send(std::make_unique<int>(10)));
  auto extra = std::make_unique<int>(1);
  BOOST_TEST((q.try_send(std::move(extra)) == errc::queue_full));
  BOOST_TEST((q.try_send(std::move(extra), weir::reject) == errc::queue_full));
  q.close();
  BOOST_TEST((q.try_send(std::move(extra)) == errc::queue_closed));
  BOOST_TEST(heavy != nullptr);  // NOLINT(bugprone-use-after-move): that it is there is the test
  BOOST_TEST(extra != nullptr);  // NOLINT(bugprone-use-after-move)
  BOOST_TEST(heard == 0);
  BOOST_TEST(q.metrics().rejected == 5U);
}

BOOST_AUTO_TEST_CASE(full_queue_does_what_its_policy_says_and_one_send_may_say_otherwise) {
  asio::io_context context;
  struct row {
    overflow policy;
    error_code expected;
    std::vector<int> inside;
    dropped gone;
  };
  const std::vector<row> rows{
      {weir::block, errc::queue_full, {1, 2}, {}},
      {weir::reject, errc::queue_full, {1, 2}, {}},
      {weir::drop_newest, {}, {1, 2}, {{3, drop_kind::dropped_newest}}},
      {weir::drop_oldest, {}, {2, 3}, {{1, drop_kind::dropped_oldest}}},
  };
  for (const row& r : rows) {
    for (const bool override_it : {false, true}) {
      dropped gone;
      queue_of<int> q(context.get_executor(), {.capacity = 2, .on_drop = note(gone)},
                      override_it ? weir::reject : r.policy);
      BOOST_TEST(!q.try_send(1));
      BOOST_TEST(!q.try_send(2));
      BOOST_TEST((override_it ? q.try_send(3, r.policy) : q.try_send(3)) == r.expected);
      BOOST_TEST((gone == r.gone));
      const auto m = q.metrics();
      BOOST_TEST(m.rejected == (r.expected ? 1U : 0U));
      BOOST_TEST(m.dropped_newest == (r.policy == weir::drop_newest ? 1U : 0U));
      BOOST_TEST(m.dropped_oldest == (r.policy == weir::drop_oldest ? 1U : 0U));
      BOOST_TEST((drain(q) == r.inside));
      BOOST_TEST(balanced(q));
    }
  }
}

BOOST_AUTO_TEST_CASE(senders_wait_in_order_and_nobody_overtakes_them) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 1);
  std::array<told, 3> sends;
  for (int i = 0; i < 3; ++i) q.async_send(i, sends[static_cast<std::size_t>(i)].handler());
  time.settle();
  BOOST_TEST(!*sends[0].code);
  BOOST_TEST(!sends[1].code);
  BOOST_TEST(q.metrics().waiting_senders == 2U);
  BOOST_TEST(*q.try_receive() == 0);
  BOOST_TEST((q.try_send(7) == errc::queue_full));
  time.settle();
  BOOST_TEST(!*sends[1].code);
  BOOST_TEST(!sends[2].code);
  BOOST_TEST((drain(q) == std::vector{1, 2}));
  time.run();
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(weight_is_a_limit_of_its_own) {
  weir::test::virtual_time time;
  dropped gone;
  queue_of<int> q(time.get_executor(), {.capacity = 10,
                                        .max_weight = 10,
                                        .weigh = [](int i) { return static_cast<std::size_t>(i); },
                                        .on_drop = note(gone)});
  told heavy;
  q.async_send(11, heavy.handler());
  time.settle();
  BOOST_TEST((heavy.code == errc::invalid_argument));
  BOOST_TEST((gone == dropped{{11, drop_kind::rejected}}));
  BOOST_TEST(!q.try_send(4));
  BOOST_TEST(!q.try_send(5));
  BOOST_TEST(q.metrics().weight == 9U);
  told large;
  told small;
  q.async_send(6, large.handler());
  q.async_send(1, small.handler());  // fits, but is behind one that does not
  time.settle();
  BOOST_TEST(q.metrics().waiting_senders == 2U);
  BOOST_TEST((q.try_send(1) == errc::queue_full));
  BOOST_TEST(*q.try_receive() == 4);
  time.settle();
  BOOST_TEST(!large.code);
  BOOST_TEST(*q.try_receive() == 5);
  time.settle();
  BOOST_TEST(!*large.code);
  BOOST_TEST(!*small.code);
  gone.clear();
  BOOST_TEST(!q.try_send(9, weir::drop_oldest));  // as many as it takes
  BOOST_TEST((gone == dropped{{6, drop_kind::dropped_oldest}}));
  BOOST_TEST((drain(q) == std::vector{1, 9}));
  BOOST_TEST(q.metrics().weight == 0U);
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(item_that_need_not_be_default_constructible_nor_assignable) {
  struct stiff {
    explicit stiff(int v) : value(v) {}
    const int value;
  };
  weir::test::virtual_time time;
  queue_of<stiff> q(time.get_executor(), 3, weir::drop_oldest);
  for (int i = 0; i < 5; ++i) BOOST_TEST(!q.try_send(stiff(i)));
  BOOST_TEST(q.try_receive()->value == 2);
  std::size_t received = 0;
  q.async_receive_batch(9,
                        [&](error_code, const std::vector<stiff>& all) { received = all.size(); });
  time.run();
  BOOST_TEST(received == 2U);
}

BOOST_AUTO_TEST_CASE(batch_of_none_is_invalid) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 3);
  BOOST_TEST(!q.try_send(1));
  for (const int n : {0, -1}) {
    answer<std::vector<int>> a;
    q.async_receive_batch(n, a.handler());
    time.run();
    BOOST_TEST((a.code == errc::invalid_argument));
  }
  BOOST_TEST(q.size() == 1U);
}

BOOST_AUTO_TEST_CASE(queue_that_breathes_does_not_allocate) {
  asio::io_context context;
  queue_of<int> q(context.get_executor(), 100);
  for (int i = 0; i < 10; ++i) BOOST_TEST(!q.try_send(int(i)));
  drain(q);
  bool failed = false;
  const allocation_counter allocations;
  for (int i = 0; i < 10; ++i) failed = failed || q.try_send(int(i));
  for (int i = 0; i < 10; ++i) failed = failed || !q.try_receive();
  const auto count = allocations.count();
  BOOST_TEST(count == 0U);
  BOOST_TEST(!failed);
}

// --- coalescing ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(newer_item_of_a_key_is_merged_in_place_whether_the_queue_is_full_or_not) {
  asio::io_context context;
  std::vector<std::pair<keyed, drop_kind>> gone;
  queue_of<keyed> q(
      context.get_executor(),
      {.capacity = 2, .on_drop = [&](keyed&& k, drop_kind kind) { gone.emplace_back(k, kind); }},
      weir::coalesce(&keyed::key, [](keyed& queued, keyed&& newer) {
        std::swap(queued, newer);  // so that what is superseded is heard of
      }));
  BOOST_TEST(!q.try_send({1, 10}));
  BOOST_TEST(!q.try_send({1, 11}));
  BOOST_TEST(!q.try_send({2, 20}));
  BOOST_TEST(!q.try_send({1, 12}));
  BOOST_TEST((q.try_send({3, 30}) == errc::queue_full));
  BOOST_TEST((gone.size() == 2U && gone[0] == std::pair(keyed{1, 10}, drop_kind::merged) &&
              gone[1] == std::pair(keyed{1, 11}, drop_kind::merged)));
  BOOST_TEST((*q.try_receive() == keyed{1, 12}));
  BOOST_TEST(!q.try_send({1, 13}));  // a new one: behind the other key
  BOOST_TEST((drain(q) == std::vector<keyed>{{2, 20}, {1, 13}}));
  BOOST_TEST(q.metrics().merged == 2U);
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(send_that_overrides_coalescing_does_so_for_new_keys_only) {
  weir::test::virtual_time time;
  queue_of<keyed> q(time.get_executor(), 1, weir::coalesce(&keyed::key, add));
  BOOST_TEST(!q.try_send({1, 1}));
  BOOST_TEST(!q.try_send({1, 1}, weir::drop_newest));
  told waiting;
  q.async_send({2, 1}, weir::block, waiting.handler());
  time.settle();
  BOOST_TEST(!waiting.code);
  BOOST_TEST(!q.try_send({2, 1}, weir::drop_oldest));  // {1, 2} goes, and this waits no longer
  BOOST_TEST(q.metrics().dropped_oldest == 1U);
  BOOST_TEST((*q.try_receive() == keyed{2, 1}));
  time.run();
  BOOST_TEST(!*waiting.code);
  BOOST_TEST(!q.try_send({2, 5}));
  BOOST_TEST((*q.try_receive() == keyed{2, 6}));
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(item_on_its_way_to_a_receiver_is_still_merged_into) {
  weir::test::virtual_time time;
  queue_of<keyed> q(time.get_executor(),
                    {.capacity = 1,
                     .max_weight = 100,
                     .weigh = [](const keyed& k) { return static_cast<std::size_t>(k.value); }},
                    weir::coalesce([](const keyed& k) { return std::to_string(k.key); }, add));
  answer<keyed> a;
  q.async_receive(a.handler());
  BOOST_TEST(!q.try_send({1, 1}));
  BOOST_TEST(!q.try_send({1, 2}));
  BOOST_TEST(q.metrics().in_flight == 1U);
  BOOST_TEST(!q.try_send({2, 4}));
  BOOST_TEST(!q.try_send({2, 5}));
  BOOST_TEST(q.metrics().weight == 9U);
  time.run();
  BOOST_TEST((a.item == keyed{1, 3}));
  BOOST_TEST((*q.try_receive() == keyed{2, 9}));
  BOOST_TEST(q.metrics().weight == 0U);
}

BOOST_AUTO_TEST_CASE(key_or_merge_that_throws_fails_that_send_and_no_other) {
  weir::test::virtual_time time;
  int heard = 0;
  queue_of<keyed> q(time.get_executor(),
                    {.capacity = 2, .on_drop = [&](keyed&&, drop_kind) { ++heard; }},
                    weir::coalesce(
                        [](const keyed& k) {
                          if (k.key < 0) throw std::bad_alloc();
                          return k.key;
                        },
                        [](keyed&, keyed&&) { throw std::logic_error("merge"); }));
  BOOST_TEST(!q.try_send({1, 1}));
  BOOST_CHECK_THROW(q.try_send({1, 2}), std::logic_error);
  BOOST_CHECK_THROW(q.try_send({-1, 2}), std::bad_alloc);
  told merging;
  told bad;
  q.async_send({1, 2}, merging.handler());
  q.async_send({-1, 2}, bad.handler());
  // One that waits fails when its turn comes.
  BOOST_TEST(!q.try_send({2, 1}));
  told waiting;
  q.async_send({3, 1}, weir::block, waiting.handler());
  BOOST_TEST(!q.try_send({3, 2}, weir::drop_oldest));
  BOOST_TEST((*q.try_receive() == keyed{2, 1}));
  time.run();
  BOOST_TEST((merging.code == boost::system::errc::io_error));
  BOOST_TEST((bad.code == boost::system::errc::not_enough_memory));
  BOOST_TEST((waiting.code == boost::system::errc::io_error));
  BOOST_TEST(heard == 4);  // three rejected, one dropped as the oldest
  BOOST_TEST((drain(q) == std::vector<keyed>{{3, 2}}));
  BOOST_TEST(balanced(q));
}

// --- spilling ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_is_spilled_comes_back_in_order) {
  weir::test::virtual_time time;
  shelf sink;
  queue_of<int> q(time.get_executor(), 2, weir::spill(std::ref(sink)));
  for (int i = 0; i < 5; ++i) BOOST_TEST(!q.try_send(int(i)));
  BOOST_TEST(sink.items.size() == 3U);
  BOOST_TEST(*q.try_receive() == 0);
  BOOST_TEST(!q.try_send(5));  // there is room, but it would overtake
  BOOST_TEST(sink.items.size() == 4U);
  answer<std::vector<int>> two;
  answer<std::vector<int>> more;
  q.async_receive_batch(2, two.handler());
  time.run();
  BOOST_TEST((two.item == std::vector{1}));
  q.async_receive_batch(9, more.handler());
  time.run();
  BOOST_TEST((more.item == std::vector{2, 3}));
  BOOST_TEST((drain(q) == std::vector{4, 5}));
  BOOST_TEST(!q.try_send(6));
  BOOST_TEST(sink.items.empty());
  BOOST_TEST(q.metrics().spilled == 4U);
  BOOST_TEST(q.metrics().read_back == 4U);
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(sink_that_cannot_be_read_takes_what_is_too_much) {
  asio::io_context context;
  std::vector<int> sink;
  queue_of<int> q(context.get_executor(), 2, weir::spill(hole{&sink}));
  for (int i = 0; i < 4; ++i) BOOST_TEST(!q.try_send(int(i)));
  BOOST_TEST(*q.try_receive() == 0);
  BOOST_TEST(!q.try_send(4));
  BOOST_TEST((sink == std::vector{2, 3}));
  BOOST_TEST((drain(q) == std::vector{1, 4}));
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(sink_that_throws_fails_the_send_or_the_receive_and_loses_nothing) {
  weir::test::virtual_time time;
  shelf sink;
  dropped gone;
  queue_of<int> q(time.get_executor(), {.capacity = 1, .on_drop = note(gone)},
                  weir::spill(std::ref(sink)));
  BOOST_TEST(!q.try_send(1));
  sink.failures = 2;
  BOOST_CHECK_THROW(q.try_send(2), boost::system::system_error);
  told failed;
  q.async_send(3, failed.handler());
  time.run();
  BOOST_TEST((failed.code == boost::system::errc::no_space_on_device));
  BOOST_TEST((gone == dropped{{3, drop_kind::rejected}}));
  BOOST_TEST(q.metrics().in_sink == 0U);
  BOOST_TEST(!q.try_send(4));
  BOOST_TEST(*q.try_receive() == 1);
  sink.failures = 2;
  BOOST_CHECK_THROW(q.try_receive(), boost::system::system_error);
  answer<int> a;
  q.async_receive(a.handler());
  time.run();
  BOOST_TEST((a.code == boost::system::errc::no_space_on_device));
  BOOST_TEST(*q.try_receive() == 4);
  // Half a batch is a batch.
  for (const int i : {5, 6, 7}) BOOST_TEST(!q.try_send(int(i)));
  BOOST_TEST(balanced(q));
  BOOST_TEST((drain(q) == std::vector{5, 6, 7}));
  // A sink that has lost what it was given.
  for (const int i : {8, 9}) BOOST_TEST(!q.try_send(int(i)));
  sink.items.clear();
  BOOST_TEST((drain(q) == std::vector{8}));
  BOOST_TEST(q.metrics().in_sink == 0U);
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(send_that_overrides_spilling_keeps_the_order) {
  weir::test::virtual_time time;
  shelf sink;
  queue_of<int> q(time.get_executor(), 1, weir::spill(std::ref(sink)));
  BOOST_TEST(!q.try_send(1));
  BOOST_TEST(!q.try_send(2));
  told waiting;
  q.async_send(3, weir::block, waiting.handler());
  BOOST_TEST((q.try_send(4, weir::reject) == errc::queue_full));
  BOOST_TEST(!q.try_send(5, weir::drop_newest));
  BOOST_TEST((q.try_send(6, weir::drop_oldest) == errc::invalid_argument));
  BOOST_TEST(*q.try_receive() == 1);
  time.settle();
  BOOST_TEST(!waiting.code);  // until nothing is before it
  BOOST_TEST(*q.try_receive() == 2);
  time.run();
  BOOST_TEST(!*waiting.code);
  BOOST_TEST((drain(q) == std::vector{3}));
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(what_is_spilled_is_received_after_close) {
  weir::test::virtual_time time;
  shelf sink;
  queue_of<int> q(time.get_executor(), 1, weir::spill(std::ref(sink)));
  for (int i = 0; i < 3; ++i) BOOST_TEST(!q.try_send(int(i)));
  q.close();
  std::array<answer<int>, 4> answers;
  for (auto& a : answers) q.async_receive(a.handler());
  time.run();
  for (int i = 0; i < 3; ++i) BOOST_TEST(answers[static_cast<std::size_t>(i)].item == i);
  BOOST_TEST((answers[3].code == errc::queue_closed));
}

// --- what has gone wrong elsewhere ---------------------------------------------------------------

// asio#1241
BOOST_AUTO_TEST_CASE(queue_takes_as_much_as_ever_after_cancelled_receives) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 16);
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio::cancellation_signal signal;
    answer<int> idle;
    answer<std::vector<int>> batch;
    q.async_receive(asio::bind_cancellation_slot(signal.slot(), idle.handler()));
    time.settle();
    signal.emit(type);
    time.settle();
    BOOST_TEST((idle.code == asio::error::operation_aborted));
    q.async_receive_batch(3, asio::bind_cancellation_slot(signal.slot(), batch.handler()));
    time.settle();
    signal.emit(type);
    time.settle();
    BOOST_TEST((batch.code == asio::error::operation_aborted));
    for (int i = 0; i < 16; ++i) BOOST_TEST(!q.try_send(int(i)));
    BOOST_TEST((q.try_send(16) == errc::queue_full));
    BOOST_TEST(drain(q).size() == 16U);
  }
}

// asio#1236
BOOST_AUTO_TEST_CASE(close_loses_nothing_that_is_inside) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 5);
  for (int i = 0; i < 5; ++i) BOOST_TEST(!q.try_send(int(i)));
  q.close();
  q.close();
  answer<std::vector<int>> some;
  answer<int> last;
  answer<int> none;
  BOOST_TEST(*q.try_receive() == 0);
  q.async_receive_batch(3, some.handler());
  q.async_receive(last.handler());
  time.run();
  q.async_receive(none.handler());
  time.run();
  BOOST_TEST((some.item == std::vector{1, 2, 3}));
  BOOST_TEST(last.item == 4);
  BOOST_TEST((none.code == errc::queue_closed));
  BOOST_TEST((q.try_send(1) == errc::queue_closed));
  told late;
  q.async_send(1, late.handler());
  time.run();
  BOOST_TEST((late.code == errc::queue_closed));
}

// asio#1318, asio#1575
BOOST_AUTO_TEST_CASE(close_tells_waiting_senders_and_keeps_nothing_of_theirs) {
  for (const bool destroy : {false, true}) {
    weir::test::virtual_time time;
    const auto payload = std::make_shared<int>(7);
    int heard = 0;
    std::optional<queue_of<std::shared_ptr<int>>> q;
    q.emplace(time.get_executor(),
              weir::queue_options<std::shared_ptr<int>>{
                  .capacity = 1, .on_drop = [&](std::shared_ptr<int>&&, drop_kind kind) {
                    if (kind == drop_kind::rejected) ++heard;
                  }});
    BOOST_TEST(!q->try_send(nullptr));
    told waiting;
    q->async_send(payload, waiting.handler());
    time.settle();
    BOOST_TEST(payload.use_count() == 2);
    destroy ? q.reset() : q->close();
    BOOST_TEST(payload.use_count() == 1);
    time.run();
    BOOST_TEST((waiting.code == errc::queue_closed));
    BOOST_TEST(heard == 1);
    if (!destroy) BOOST_TEST(drain(*q).size() == 1U);
  }
}

// asio#1041, cobalt#206
BOOST_AUTO_TEST_CASE(receives_joined_by_or_lose_nothing) {
  using asio::experimental::awaitable_operators::operator||;
  weir::test::virtual_time time;
  queue_of<int> a(time.get_executor(), 4);
  queue_of<int> b(time.get_executor(), 4);
  int won = 0;
  time.spawn([&]() -> asio::awaitable<void> {
    auto first = a.async_receive(asio::use_awaitable);
    auto second = b.async_receive(asio::use_awaitable);
    const auto either = co_await (std::move(first) || std::move(second));
    won = std::visit([](int i) { return i; }, either);
  });
  time.settle();
  BOOST_TEST(!a.try_send(1));
  BOOST_TEST(!b.try_send(2));
  time.run();
  BOOST_TEST(won == 1);
  BOOST_TEST(!a.try_receive());
  BOOST_TEST((drain(b) == std::vector{2}));
}

// The same in every order; of the operations themselves, since a simulation puts other handlers
// between the end of a coroutine and the `||` that waits for it.
WEIR_SIMULATION_TEST_CASE(receives_in_a_group_of_which_one_counts_lose_nothing, 500) {
  queue_of<int> a(sim.get_executor(), 4);
  queue_of<int> b(sim.get_executor(), 4);
  std::vector<int> all;
  asio::experimental::make_parallel_group(a.async_receive(asio::deferred),
                                          b.async_receive(asio::deferred))
      .async_wait(asio::experimental::wait_for_one(),
                  [&](auto, error_code ec, int i, error_code ec2, int j) {
                    if (!ec) all.push_back(i);
                    if (!ec2) all.push_back(j);
                  });
  sim.spawn([&]() -> asio::awaitable<void> {
    co_await sleep_for(1ms);
    BOOST_TEST_REQUIRE(!a.try_send(1));
    BOOST_TEST_REQUIRE(!b.try_send(2));
  });
  sim.run();
  BOOST_TEST_REQUIRE(all.size() == 1U);
  for (auto* q : {&a, &b})
    for (const int i : drain(*q)) all.push_back(i);
  std::sort(all.begin(), all.end());
  BOOST_TEST_REQUIRE((all == std::vector{1, 2}));
}

// asio#1307, asio#1022
BOOST_AUTO_TEST_CASE(destroyed_in_any_order_with_items_waiters_and_grants) {
  const auto payload = std::make_shared<int>(7);
  for (int order = 0; order < 3; ++order) {
    {
      using item = std::shared_ptr<int>;
      auto context = std::make_unique<asio::io_context>();
      std::optional<queue_of<item>> q;
      q.emplace(context->get_executor(), 2);
      bool ran = false;
      const auto receives = [&](error_code, const item&) { ran = true; };
      q->async_receive(receives);
      q->async_receive(receives);
      BOOST_TEST(!q->try_send(item(payload)));  // granted, and its handler pending
      if (order == 0) {
        q.reset();
        context.reset();
      } else if (order == 1) {
        BOOST_TEST(!q->try_send(item(payload)));
        for (int i = 0; i < 3; ++i) BOOST_TEST(!!q->try_send(item(payload)) == (i == 2));
        q->async_send(payload, [&](error_code) { ran = true; });
        q->close();
        context.reset();  // the grants come back to the queue
        BOOST_TEST(q->size() == 4U);
        BOOST_TEST(drain(*q).size() == 4U);
      } else {
        context->poll();
        BOOST_TEST(ran);
        q->close();
        context.reset();
        q.reset();
        ran = false;
      }
      BOOST_TEST(!ran);
    }
    BOOST_TEST(payload.use_count() == 1);
  }
}

// golang/go#63615
BOOST_AUTO_TEST_CASE(operation_of_a_coroutine_that_is_cancelled_already_changes_nothing) {
  for (const bool sends : {false, true}) {
    weir::test::virtual_time time;
    queue_of<int> q(time.get_executor(), 2);
    BOOST_TEST(!q.try_send(1));
    asio::cancellation_signal signal;
    bool thrown = false;
    const auto body = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await sleep_for(1ms);
      signal.emit(asio::cancellation_type::terminal);
      co_await sleep_for(1ms);
      co_await asio::this_coro::throw_if_cancelled(true);
      try {
        if (sends)
          co_await q.async_send(2, asio::use_awaitable);
        else
          co_await q.async_receive(asio::use_awaitable);
      } catch (const boost::system::system_error& e) {
        thrown = e.code() == asio::error::operation_aborted;
      }
    };
    asio::co_spawn(time.get_executor(), body,
                   asio::bind_cancellation_slot(signal.slot(), [](auto) {}));
    time.run();
    BOOST_TEST(thrown);
    BOOST_TEST((drain(q) == std::vector{1}));
  }
}

// golang/go#37852
BOOST_AUTO_TEST_CASE(cancelled_first_sender_lets_those_behind_it_in) {
  weir::test::virtual_time time;
  dropped gone;
  queue_of<int> q(time.get_executor(), {.capacity = 10,
                                        .max_weight = 4,
                                        .weigh = [](int i) { return static_cast<std::size_t>(i); },
                                        .on_drop = note(gone)});
  BOOST_TEST(!q.try_send(3));
  asio::cancellation_signal signal;
  told large;
  told small;
  q.async_send(2, asio::bind_cancellation_slot(signal.slot(), large.handler()));
  q.async_send(1, small.handler());
  time.settle();
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((large.code == asio::error::operation_aborted));
  BOOST_TEST(!*small.code);
  BOOST_TEST((gone == dropped{{2, drop_kind::rejected}}));
  BOOST_TEST((drain(q) == std::vector{3, 1}));
  BOOST_TEST(balanced(q));
}

// python/asyncio#270, kotlinx.coroutines#1477
BOOST_AUTO_TEST_CASE(item_granted_to_one_who_is_cancelled_in_the_same_tick_goes_to_the_next) {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    weir::test::virtual_time time;
    queue_of<std::unique_ptr<int>> q(time.get_executor(), 2);
    asio::cancellation_signal signal;
    answer<std::unique_ptr<int>> first;
    answer<std::unique_ptr<int>> second;
    q.async_receive(asio::bind_cancellation_slot(signal.slot(), first.handler()));
    q.async_receive(second.handler());
    time.settle();
    BOOST_TEST(!q.try_send(std::make_unique<int>(5)));
    signal.emit(type);
    time.run();
    BOOST_TEST((first.code == asio::error::operation_aborted));
    BOOST_TEST(!first.item);
    BOOST_TEST(*second.item == 5);
  }
}

BOOST_AUTO_TEST_CASE(cancelled_receive_leaves_its_item_in_its_old_place) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 3);
  asio::cancellation_signal signal;
  answer<int> first;
  answer<int> second;
  q.async_receive(asio::bind_cancellation_slot(signal.slot(), first.handler()));
  q.async_receive(second.handler());
  for (int i = 1; i <= 5; ++i) BOOST_TEST(!q.try_send(int(i)));  // two are on their way
  BOOST_TEST(q.metrics().in_flight == 2U);
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST(second.item == 1);  // the oldest goes to whoever is there first
  BOOST_TEST(q.size() == 4U);
  BOOST_TEST((drain(q) == std::vector{2, 3, 4, 5}));
  BOOST_TEST(balanced(q));
}

BOOST_AUTO_TEST_CASE(receivers_hear_that_all_is_over_only_when_nothing_can_come_back) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 3);
  asio::cancellation_signal signal;
  answer<int> first;
  answer<int> second;
  q.async_receive(asio::bind_cancellation_slot(signal.slot(), first.handler()));
  q.async_receive(second.handler());
  BOOST_TEST(!q.try_send(1));
  q.close();
  BOOST_TEST(q.metrics().waiting_receivers == 1U);
  signal.emit(asio::cancellation_type::total);
  time.run();
  BOOST_TEST((first.code == asio::error::operation_aborted));
  BOOST_TEST(!*second.code);
  BOOST_TEST(second.item == 1);
}

BOOST_AUTO_TEST_CASE(send_that_went_in_is_told_so_though_it_is_cancelled_in_the_same_tick) {
  weir::test::virtual_time time;
  queue_of<int> q(time.get_executor(), 1);
  BOOST_TEST(!q.try_send(1));
  asio::cancellation_signal signal;
  told waiting;
  q.async_send(2, asio::bind_cancellation_slot(signal.slot(), waiting.handler()));
  time.settle();
  BOOST_TEST(*q.try_receive() == 1);
  signal.emit(asio::cancellation_type::terminal);
  time.run();
  BOOST_TEST(!*waiting.code);
  BOOST_TEST((drain(q) == std::vector{2}));
}

// zeroc-ice/ice#6021
BOOST_AUTO_TEST_CASE(items_are_destroyed_and_dropped_with_no_lock_held) {
  struct prying {
    explicit prying(queue_of<prying>*& q) : queue(&q) {}
    prying(prying&& other) noexcept : queue(std::exchange(other.queue, nullptr)) {}
    ~prying() {
      if (queue && *queue) (*queue)->metrics();
    }
    queue_of<prying>** queue;
  };
  weir::test::virtual_time time;
  queue_of<prying>* p = nullptr;
  int again = 0;
  std::optional<queue_of<prying>> q;
  q.emplace(time.get_executor(),
            weir::queue_options<prying>{.capacity = 2, .on_drop = [&](prying&& item, drop_kind) {
                                          if (++again == 1) q->try_send(std::move(item));
                                        }});
  p = &*q;
  for (int i = 0; i < 4; ++i) BOOST_TEST(!q->try_send(prying(p), weir::drop_oldest));
  BOOST_TEST(!q->try_send(prying(p), weir::drop_newest));
  asio::cancellation_signal signal;
  q->async_send(prying(p), asio::bind_cancellation_slot(signal.slot(), [](error_code) {}));
  q->async_send(prying(p), [](error_code) {});
  time.settle();
  signal.emit(asio::cancellation_type::total);
  q->close();
  time.run();
  q->try_receive();
  p = nullptr;
  q.reset();
}

BOOST_AUTO_TEST_CASE(every_kind_of_token_works_on_threads) {
  asio::thread_pool threads(2);
  queue_of<std::string> q(threads.get_executor(), 1);
  q.async_send("a", asio::use_future).get();
  auto sent = q.async_send("b", asio::use_future);
  BOOST_TEST(q.async_receive(asio::use_future).get() == "a");
  sent.get();
  auto deferred = q.async_receive(asio::deferred);
  BOOST_TEST(std::move(deferred)(asio::use_future).get() == "b");
  auto later = q.async_send("c", weir::reject, asio::deferred);
  std::move(later)(asio::use_future).get();
  BOOST_TEST(q.async_receive_batch(5, asio::use_future).get().size() == 1U);
  auto tuple = asio::co_spawn(
      threads,
      [&]() -> asio::awaitable<bool> {
        auto [ec] = co_await q.async_send("d", asio::as_tuple(asio::use_awaitable));
        auto [ec2, item] = co_await q.async_receive(asio::as_tuple(asio::use_awaitable));
        co_return !ec && !ec2 && item == "d";
      },
      asio::use_future);
  BOOST_TEST(tuple.get());
  threads.join();
}

BOOST_AUTO_TEST_CASE(deadlock_report_names_the_queue_and_who_waits) {
  weir::test::virtual_time time;
  queue_of<int> full(time.get_executor(), 1, weir::block, "jobs");
  queue_of<int> empty(time.get_executor(), 1, weir::block, "results");
  BOOST_TEST(!full.try_send(1));
  time.spawn("producer",
             [&]() -> asio::awaitable<void> { co_await full.async_send(2, asio::use_awaitable); });
  time.spawn("consumer",
             [&]() -> asio::awaitable<void> { co_await empty.async_receive(asio::use_awaitable); });
  try {
    time.run();
    BOOST_ERROR("no deadlock");
  } catch (const weir::test::deadlock_error& stuck) {
    const std::string report = stuck.what();
    BOOST_TEST_INFO(report);
    BOOST_TEST((report.find("producer") != std::string::npos &&
                report.find("[queue send] of 'jobs'") != std::string::npos));
    BOOST_TEST((report.find("consumer") != std::string::npos &&
                report.find("[queue receive] of 'results'") != std::string::npos));
  }
  full.close();
  empty.close();
  try {
    time.run();
  } catch (const boost::system::system_error&) {
  }
}

// --- every order ---------------------------------------------------------------------------------

namespace {

/// What a queue is to do, written down a second time in the plainest way: lists and loops.
class model {
 public:
  enum class kind { block, reject, drop_newest, drop_oldest, coalesce, spill };

  struct expectation {
    error_code code;
    bool receives = false;
    bool cancelled = false;  ///< after it was granted an item
  };

  model(kind k, std::size_t capacity, std::size_t max_weight)
      : kind_(k), capacity_(capacity), max_weight_(max_weight) {}

  static std::size_t weigh(const keyed& k) { return static_cast<std::size_t>(k.key) + 1; }

  /// \returns what `try_send` says, or, for an `id` that is not 0, nothing while it waits.
  std::optional<error_code> send(keyed k, int id, std::optional<overflow> how) {
    const auto code = offer(k, how, id != 0);
    if (!code) senders.push_back({id, k});
    if (code && *code && id != 0) gone.emplace_back(k, drop_kind::rejected);
    settle();
    return code;
  }

  void receive(int id, std::size_t most) {
    read_back(most);
    receivers.push_back(id);
    settle();
  }

  std::optional<keyed> try_receive() {
    read_back(1);
    if (items.empty()) return std::nullopt;
    grant();
    const keyed first = take();
    settle();
    return first;
  }

  void cancel(int id) {
    if (const auto found = expected.find(id); found != expected.end()) {
      found->second.cancelled = found->second.receives && !found->second.code;
      return;
    }
    expected[id] = {asio::error::operation_aborted};
    std::erase(receivers, id);
    for (const auto& [sender, k] : senders)
      if (sender == id) gone.emplace_back(k, drop_kind::rejected);
    std::erase_if(senders, [&](const auto& s) { return s.first == id; });
    settle();
  }

  /// The handler of `id` runs. \returns its code, and the items it is given.
  std::pair<error_code, std::vector<keyed>> complete(int id, std::size_t most) {
    BOOST_TEST_REQUIRE(expected.contains(id));
    expectation e = expected[id];
    expected.erase(id);
    std::vector<keyed> taken;
    if (e.receives && !e.code) {
      if (e.cancelled) {
        e.code = asio::error::operation_aborted;
        items.push_front(granted.back());
        granted.pop_back();
      } else {
        taken.push_back(take());
        while (taken.size() < most && !items.empty()) {
          grant();
          taken.push_back(take());
        }
      }
      settle();
    }
    return {e.code, taken};
  }

  void close() {
    closed = true;
    for (const auto& [id, k] : senders) {
      expected[id] = {errc::queue_closed};
      gone.emplace_back(k, drop_kind::rejected);
    }
    senders.clear();
    settle();
  }

  std::deque<keyed> items;
  std::deque<keyed> granted;
  std::deque<keyed> sink;
  std::deque<std::pair<int, keyed>> senders;
  std::deque<int> receivers;
  std::map<int, expectation> expected;
  std::vector<std::pair<keyed, drop_kind>> gone;
  bool closed = false;

 private:
  bool fits(const keyed& k) const {
    std::size_t weight = weigh(k);
    for (const keyed& i : items) weight += weigh(i);
    return items.size() < capacity_ && (max_weight_ == 0 || weight <= max_weight_);
  }

  keyed* find(int key) {
    for (auto* all : {&granted, &items})
      for (keyed& i : *all)
        if (i.key == key) return &i;
    return nullptr;
  }

  bool merge(const keyed& k) {
    keyed* const queued = kind_ == kind::coalesce ? find(k.key) : nullptr;
    if (!queued) return false;
    queued->value += k.value;
    gone.emplace_back(k, drop_kind::merged);
    return true;
  }

  std::optional<error_code> offer(const keyed& k, std::optional<overflow> how, bool may_wait) {
    if (closed) return errc::queue_closed;
    if ((max_weight_ != 0 && weigh(k) > max_weight_) ||
        (kind_ == kind::spill && how == weir::drop_oldest))
      return errc::invalid_argument;
    if (merge(k)) return error_code();
    if (!fits(k) || !senders.empty() || !sink.empty()) {
      if (kind_ == kind::spill && !how) {
        sink.push_back(k);
        return error_code();
      }
      const kind what = how ? static_cast<kind>(*how) : kind_;
      if (what == kind::block && may_wait) return std::nullopt;
      if (what == kind::drop_newest) {
        gone.emplace_back(k, drop_kind::dropped_newest);
        return error_code();
      }
      if (what != kind::drop_oldest) return errc::queue_full;
      while (!fits(k)) {
        gone.emplace_back(items.front(), drop_kind::dropped_oldest);
        items.pop_front();
      }
    }
    items.push_back(k);
    return error_code();
  }

  void read_back(std::size_t wants) {
    if (!items.empty()) return;
    while (items.size() < std::min(wants, capacity_) && !sink.empty()) {
      items.push_back(sink.front());
      sink.pop_front();
    }
  }

  void grant() {
    granted.push_back(items.front());
    items.pop_front();
  }

  keyed take() {
    const keyed first = granted.front();
    granted.pop_front();
    return first;
  }

  void settle() {
    for (;;) {
      if (!receivers.empty() && !items.empty()) {
        grant();
        expected[receivers.front()] = {{}, true};
        receivers.pop_front();
      } else if (!senders.empty() && sink.empty() && fits(senders.front().second)) {
        const auto [id, k] = senders.front();
        senders.pop_front();
        expected[id] = {};
        if (!merge(k)) items.push_back(k);
      } else {
        break;
      }
    }
    if (closed && items.empty() && granted.empty() && sink.empty()) {
      for (const int id : receivers) expected[id] = {errc::queue_closed, true};
      receivers.clear();
    }
  }

  kind kind_;
  std::size_t capacity_;
  std::size_t max_weight_;
};

struct keyed_shelf {
  std::deque<keyed> items;
  void push(keyed&& k) { items.push_back(k); }
  std::optional<keyed> pop() {
    if (items.empty()) return std::nullopt;
    const keyed first = items.front();
    items.pop_front();
    return first;
  }
};

weir::overflow_policy<keyed> policy_of(model::kind kind) {
  switch (kind) {
    case model::kind::coalesce:
      return weir::coalesce(&keyed::key, add);
    case model::kind::spill:
      return weir::spill(keyed_shelf());
    default:
      return static_cast<overflow>(kind);
  }
}

/// A queue and its model, side by side.
class pair_of_both {
 public:
  pair_of_both(model::kind kind, weir::test::random& draw)
      : draw_(draw),
        capacity_(draw.between(1, 3)),
        max_weight_(draw.chance(0.5) ? 0 : 3),
        model_(kind, static_cast<std::size_t>(capacity_), max_weight_) {
    queue_.emplace(context_.get_executor(),
                   weir::queue_options<keyed>{
                       .capacity = capacity_,
                       .max_weight = max_weight_,
                       .weigh = model::weigh,
                       .on_drop = [this](keyed&& k, drop_kind why) { gone_.emplace_back(k, why); }},
                   policy_of(kind));
  }

  void step() {
    switch (draw_.below(closed_ ? 6 : 8)) {
      case 0:
        receive(1);
        break;
      case 1:
        receive(draw_.between(1, 3));
        break;
      case 2:
        BOOST_TEST_REQUIRE((queue_->try_receive() == model_.try_receive()));
        break;
      case 3:
        context_.poll_one();
        break;
      case 4:
        cancel();
        break;
      case 5:
        draw_.chance(0.1) ? close() : send();
        break;
      default:
        send();
        break;
    }
    compare();
  }

  /// Nothing is left but what is received.
  void finish() {
    close();
    while (run_one() != 0) continue;
    while (auto item = queue_->try_receive()) BOOST_TEST_REQUIRE((item == model_.try_receive()));
    while (run_one() != 0) continue;
    compare();
    BOOST_TEST_REQUIRE(!model_.try_receive());
    BOOST_TEST_REQUIRE(model_.expected.empty());
    BOOST_TEST_REQUIRE(queue_->metrics().waiting_receivers == 0U);
  }

 private:
  void send() {
    const keyed k{draw_.between(0, 3), ++last_value_};
    std::optional<overflow> how;
    if (draw_.chance(0.3)) how = static_cast<overflow>(draw_.below(4));
    if (draw_.chance(0.5)) {
      const error_code code = how ? queue_->try_send(keyed(k), *how) : queue_->try_send(keyed(k));
      BOOST_TEST_REQUIRE((code == model_.send(k, 0, how)));
      return;
    }
    const int id = ++last_id_;
    auto handler = asio::bind_cancellation_slot(
        signal_of(id), [this, id](error_code ec) { completed(id, ec, {}, 0); });
    if (const auto code = model_.send(k, id, how)) model_.expected[id] = {*code};
    how ? queue_->async_send(k, *how, std::move(handler))
        : queue_->async_send(k, std::move(handler));
  }

  void receive(int most) {
    const int id = ++last_id_;
    model_.receive(id, static_cast<std::size_t>(most));
    if (most == 1)
      queue_->async_receive(
          asio::bind_cancellation_slot(signal_of(id), [this, id](error_code ec, keyed k) {
            completed(id, ec, ec ? std::vector<keyed>() : std::vector{k}, 1);
          }));
    else
      queue_->async_receive_batch(
          most, asio::bind_cancellation_slot(
                    signal_of(id), [this, id, most](error_code ec, const std::vector<keyed>& all) {
                      completed(id, ec, all, static_cast<std::size_t>(most));
                    }));
  }

  void completed(int id, error_code ec, const std::vector<keyed>& all, std::size_t most) {
    signals_.erase(id);
    const auto [code, items] = model_.complete(id, most);
    BOOST_TEST_REQUIRE(ec == code);
    BOOST_TEST_REQUIRE((all == items));
  }

  void cancel() {
    if (signals_.empty()) return;
    auto any =
        std::next(signals_.begin(), static_cast<std::ptrdiff_t>(draw_.below(signals_.size())));
    model_.cancel(any->first);
    any->second->emit(asio::cancellation_type::total);
  }

  std::size_t run_one() {
    context_.restart();
    return context_.poll_one();
  }

  void close() {
    closed_ = true;
    model_.close();
    queue_->close();
  }

  asio::cancellation_slot signal_of(int id) {
    auto& signal = signals_[id];
    signal = std::make_unique<asio::cancellation_signal>();
    return signal->slot();
  }

  void compare() {
    const auto m = queue_->metrics();
    BOOST_TEST_REQUIRE(m.size == model_.items.size());
    BOOST_TEST_REQUIRE(m.in_flight == model_.granted.size());
    BOOST_TEST_REQUIRE(m.in_sink == model_.sink.size());
    BOOST_TEST_REQUIRE(m.waiting_senders == model_.senders.size());
    BOOST_TEST_REQUIRE(m.waiting_receivers == model_.receivers.size());
    std::size_t weight = 0;
    for (const keyed& k : model_.items) weight += model::weigh(k);
    BOOST_TEST_REQUIRE(m.weight == weight);
    BOOST_TEST_REQUIRE(balanced(*queue_));
    // Several of one call may come in another order.
    const auto order = [](const auto& a, const auto& b) {
      return std::tuple(a.second, a.first.value) < std::tuple(b.second, b.first.value);
    };
    std::sort(gone_.begin(), gone_.end(), order);
    std::sort(model_.gone.begin(), model_.gone.end(), order);
    BOOST_TEST_REQUIRE((gone_ == model_.gone));
  }

  weir::test::random& draw_;
  std::ptrdiff_t capacity_;
  std::size_t max_weight_;
  model model_;
  asio::io_context context_{1};
  std::vector<std::pair<keyed, drop_kind>> gone_;
  std::map<int, std::unique_ptr<asio::cancellation_signal>> signals_;
  std::optional<queue_of<keyed>> queue_;
  int last_id_ = 0;
  int last_value_ = 0;
  bool closed_ = false;
};

void compare_with_model(model::kind kind) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    BOOST_TEST_INFO_SCOPE("seed " << seed);
    weir::test::random draw(seed);
    pair_of_both both(kind, draw);
    for (int i = 0; i < 40; ++i) both.step();
    both.finish();
  }
}

/// Producers and consumers with a queue between them, and whatever the kit does to them. Each item
/// that was offered is received once and in order, or is heard of.
void crowd(simulation& sim, model::kind kind) {
  std::map<int, int> seen;  // how often, by value
  auto policy =
      kind == model::kind::coalesce
          ? weir::overflow_policy<keyed>(weir::coalesce(
                &keyed::key, [](keyed& queued, keyed&& newer) { std::swap(queued, newer); }))
          : policy_of(kind);
  queue_of<keyed> q(sim.get_executor(),
                    {.capacity = sim.draw().between(1, 3),
                     .on_drop = [&](keyed&& k, drop_kind) { ++seen[k.value]; }},
                    std::move(policy));
  std::map<int, int> last;  // received of each producer
  const auto receive = [&](const keyed& k) {
    ++seen[k.value];
    if (kind == model::kind::coalesce) return;
    BOOST_TEST_REQUIRE(last[k.value / 100] < k.value);
    last[k.value / 100] = k.value;
  };
  int producing = 3;
  for (int p = 1; p <= 3; ++p)
    sim.spawn([&, p]() -> asio::awaitable<void> {
      struct at_end {
        int& left;
        queue_of<keyed>& queue;
        ~at_end() {
          if (--left == 0) queue.close();
        }
      } const closes{producing, q};
      co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
      for (int i = 1; i <= 5; ++i) {
        keyed k{i % 3, p * 100 + i};
        if (sim.draw().chance(0.5)) co_await sleep_for(1ms * sim.draw().between(0, 2));
        if (sim.draw().chance(0.3)) {
          if (q.try_send(std::move(k))) ++seen[k.value];
        } else {
          const auto [ec] = co_await q.async_send(k, asio::as_tuple(asio::use_awaitable));
          BOOST_TEST_REQUIRE((ec != errc::queue_closed));
        }
      }
    });
  const auto consume = [&](bool in_batches) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    for (error_code ended; !ended;) {
      if (in_batches) {
        auto [ec, all] = co_await q.async_receive_batch(2, asio::as_tuple(asio::use_awaitable));
        for (const keyed& k : all) receive(k);
        ended = ec;
      } else {
        auto [ec, k] = co_await q.async_receive(asio::as_tuple(asio::use_awaitable));
        if (!ec) receive(k);
        ended = ec;
      }
      co_await sleep_for(1ms * sim.draw().between(0, 2));
    }
  };
  sim.spawn([&] { return consume(false); });
  sim.spawn([&] { return consume(true); });
  // One that nobody cancels, for those who wait for room.
  asio::co_spawn(sim.get_executor(), consume(false), asio::detached);
  sim.run();
  const auto m = q.metrics();
  BOOST_TEST_REQUIRE(m.size + m.in_flight + m.in_sink + m.waiting_senders + m.waiting_receivers ==
                     0U);
  BOOST_TEST_REQUIRE(balanced(q));
  std::uint64_t all = 0;
  for (const auto& [value, times] : seen) {
    BOOST_TEST_REQUIRE(times == 1);
    ++all;
  }
  BOOST_TEST_REQUIRE(all == m.offered);
}

constexpr std::array kinds{model::kind::block,       model::kind::reject,
                           model::kind::drop_newest, model::kind::drop_oldest,
                           model::kind::coalesce,    model::kind::spill};

}  // namespace

BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_block) {
  compare_with_model(model::kind::block);
}
BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_reject) {
  compare_with_model(model::kind::reject);
}
BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_drop_newest) {
  compare_with_model(model::kind::drop_newest);
}
BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_drop_oldest) {
  compare_with_model(model::kind::drop_oldest);
}
BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_coalesce) {
  compare_with_model(model::kind::coalesce);
}
BOOST_AUTO_TEST_CASE(does_as_its_model_whoever_is_cancelled_spill) {
  compare_with_model(model::kind::spill);
}

WEIR_SIMULATION_TEST_CASE(no_item_is_lost_or_made_in_any_order, 2000) {
  crowd(sim, kinds[sim.seed() % kinds.size()]);
}

BOOST_AUTO_TEST_CASE(no_item_is_lost_or_made_when_anybody_is_cancelled_at_any_await) {
  for (const model::kind kind : kinds)
    weir::test::for_each_seed(2000, [&](simulation& sim) { crowd(sim, kind); },
                              {.simulation = {.cancel = 0.1}});
}

BOOST_AUTO_TEST_CASE(no_item_is_lost_when_an_allocation_fails) {
  weir::test::for_each_seed(
      500,
      [](simulation& sim) {
        int heard = 0;
        queue_of<keyed> q(
            sim.get_executor(), {.capacity = 2, .on_drop = [&](keyed&&, drop_kind) { ++heard; }},
            sim.seed() % 2 == 0 ? policy_of(model::kind::block) : policy_of(model::kind::spill));
        int started = 0;
        int received = 0;
        for (int i = 0; i < 6; ++i) {
          try {
            q.async_send({i, i}, weir::block, [](error_code) {});
            ++started;
            if (!q.try_send({i, i})) ++started;
          } catch (const std::bad_alloc&) {
          }
          try {
            if (sim.draw().chance(0.5) && q.try_receive()) ++received;
            if (sim.draw().chance(0.3))
              q.async_receive_batch(2, [&](error_code, const std::vector<keyed>& some) {
                received += static_cast<int>(some.size());
              });
          } catch (const std::bad_alloc&) {
          }
          sim.settle();
        }
        for (int failures = 0; failures < 100; ++failures) {
          try {
            while (q.try_receive()) ++received;
            break;
          } catch (const std::bad_alloc&) {
          }
        }
        q.close();
        sim.run();
        BOOST_TEST_REQUIRE(balanced(q));
        const auto m = q.metrics();
        BOOST_TEST_REQUIRE(started == received + heard + static_cast<int>(m.size + m.in_sink));
      },
      {.simulation = {.fail_allocation = 0.2}});
}

BOOST_AUTO_TEST_SUITE_END()
