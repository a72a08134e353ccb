// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <weir/detail/intrusive_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <deque>
#include <vector>

BOOST_AUTO_TEST_SUITE(intrusive_queue)

namespace {

struct item : weir::detail::queue_hook {
  int number = 0;
};

using queue = weir::detail::intrusive_queue<item>;

template <std::size_t N>
std::array<item, N> numbered() {
  std::array<item, N> items;
  for (std::size_t i = 0; i < N; ++i) items[i].number = static_cast<int>(i);
  return items;
}

std::vector<int> emptied(queue& q) {
  std::vector<int> numbers;
  while (const item* next = q.pop()) numbers.push_back(next->number);
  return numbers;
}

using numbers = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_CASE(new_queue_is_empty) {
  queue q;
  BOOST_TEST(q.empty());
  BOOST_TEST(q.size() == 0U);
  BOOST_TEST(q.pop() == nullptr);
  BOOST_TEST(q.size() == 0U);
}

BOOST_AUTO_TEST_CASE(first_in_is_first_out) {
  auto items = numbered<5>();
  queue q;
  for (item& i : items) q.push(i);
  BOOST_TEST(q.size() == 5U);
  BOOST_TEST(!q.empty());
  BOOST_TEST(emptied(q) == (numbers{0, 1, 2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(q.empty());
}

BOOST_AUTO_TEST_CASE(one_from_the_middle_leaves_the_order_of_the_rest) {
  auto items = numbered<5>();
  queue q;
  for (item& i : items) q.push(i);
  q.erase(items[2]);
  BOOST_TEST(q.size() == 4U);
  BOOST_TEST(emptied(q) == (numbers{0, 1, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(first_and_last_can_leave) {
  auto items = numbered<4>();
  queue q;
  for (item& i : items) q.push(i);
  q.erase(items[0]);
  q.erase(items[3]);
  BOOST_TEST(emptied(q) == (numbers{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(only_one_can_leave) {
  item only;
  queue q;
  q.push(only);
  q.erase(only);
  BOOST_TEST(q.empty());
  BOOST_TEST(q.pop() == nullptr);
}

BOOST_AUTO_TEST_CASE(who_left_and_comes_back_is_last) {
  auto items = numbered<3>();
  queue q;
  for (item& i : items) q.push(i);
  q.erase(items[0]);
  q.push(items[0]);
  BOOST_TEST(q.size() == 3U);
  BOOST_TEST(emptied(q) == (numbers{1, 2, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_was_served_can_queue_in_another_queue) {
  auto items = numbered<2>();
  queue a;
  queue b;
  a.push(items[0]);
  a.push(items[1]);
  b.push(*a.pop());
  BOOST_TEST(emptied(a) == (numbers{1}), boost::test_tools::per_element());
  BOOST_TEST(emptied(b) == (numbers{0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(queue_that_was_emptied_serves_again) {
  auto items = numbered<3>();
  queue q;
  for (int round = 0; round < 3; ++round) {
    for (item& i : items) q.push(i);
    BOOST_TEST(emptied(q) == (numbers{0, 1, 2}), boost::test_tools::per_element());
    BOOST_TEST(q.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(item_out_of_the_queue_has_no_links) {
  auto items = numbered<2>();
  queue q;
  q.push(items[0]);
  q.push(items[1]);
  q.erase(items[0]);
  q.pop();
  for (const item& i : items) {
    BOOST_TEST(i.next == nullptr);
    BOOST_TEST(i.prev == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(queueing_allocates_nothing) {
  auto items = numbered<100>();
  const allocation_counter allocations;
  queue q;
  for (item& i : items) q.push(i);
  q.erase(items[50]);
  while (q.pop()) continue;
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 0U);
}

BOOST_AUTO_TEST_CASE(any_mix_of_steps_matches_a_deque) {
  auto items = numbered<16>();
  std::deque<item*> model;
  std::array<bool, 16> inside{};
  queue q;
  unsigned state = 1;
  for (int step = 0; step < 20000; ++step) {
    state = state * 1664525U + 1013904223U;  // any generator does; this one is the same everywhere
    item& i = items[state >> 28U];
    bool& is_in = inside[static_cast<std::size_t>(i.number)];
    if ((state >> 20U & 3U) == 0) {
      item* const popped = q.pop();
      BOOST_TEST_REQUIRE(popped == (model.empty() ? nullptr : model.front()));
      if (popped) {
        model.pop_front();
        inside[static_cast<std::size_t>(popped->number)] = false;
      }
    } else if (is_in) {
      q.erase(i);
      std::erase(model, &i);
      is_in = false;
    } else {
      q.push(i);
      model.push_back(&i);
      is_in = true;
    }
    BOOST_TEST_REQUIRE(q.size() == model.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
