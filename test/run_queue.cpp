// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/run_queue.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using weir::discipline;

BOOST_AUTO_TEST_SUITE(run_queue)

namespace {

struct waiting : weir::run_queue::node {
  waiting(std::string n, std::string u, int p = 0) : name(std::move(n)) {
    user = std::move(u);
    priority = p;
  }
  std::string name;
};

const weir::time_point start{1h};

/// Queues `name:user:priority` of each word after so many milliseconds, and lets all go.
/// \returns their names in the order in which they went.
std::string play(weir::run_queue_options options, std::vector<waiting> items,
                 weir::duration step = {}) {
  options.capacity = items.size();
  weir::run_queue q(options);
  weir::time_point now = start;
  for (waiting& w : items) {
    q.push(w, now);
    now += step;
  }
  BOOST_TEST(q.size() == items.size());
  std::string out;
  while (auto* next = q.pop()) out += static_cast<waiting*>(next)->name;
  BOOST_TEST(q.empty());
  BOOST_TEST(q.turns() == 0U);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fifo_looks_at_nothing_but_who_came_first) {
  BOOST_TEST(play({}, {{"a", "x", 1}, {"b", "x", 7}, {"c", "y", -7}, {"d", "x"}}) == "abcd");
}

BOOST_AUTO_TEST_CASE(the_greater_priority_goes_first_and_equals_in_order) {
  BOOST_TEST(play({.discipline = discipline::priority, .aging = 0s},
                  {{"a", "x", 1}, {"b", "x", 2}, {"c", "y", 2}, {"d", "y", -1}, {"e", "z", 1}}) ==
             "bcaed");
}

BOOST_AUTO_TEST_CASE(priorities_beyond_the_ends_count_as_the_ends) {
  BOOST_TEST(play({.discipline = discipline::priority, .aging = 0s},
                  {{"a", "x", 7}, {"b", "x", 1'000'000}, {"c", "x", -8}, {"d", "x", -1'000'000}}) ==
             "abcd");
}

BOOST_AUTO_TEST_CASE(who_has_waited_for_the_aging_is_the_equal_of_one_priority_more) {
  // A second after each other; each second of waiting is worth a priority.
  BOOST_TEST(play({.discipline = discipline::priority, .aging = 1s},
                  {{"a", "x", 0}, {"b", "x", 1}, {"c", "x", 3}, {"d", "x", 2}}, 1s) == "cbad");
  BOOST_TEST(play({.discipline = discipline::priority, .aging = 10s},
                  {{"a", "x", 0}, {"b", "x", 1}, {"c", "x", 3}, {"d", "x", 2}}, 1s) == "cdba");
}

BOOST_AUTO_TEST_CASE(nobody_starves_behind_a_stream_of_greater_priorities) {
  weir::run_queue q({.discipline = discipline::priority, .aging = 1s, .capacity = 64});
  waiting low("low", "x", 0);
  q.push(low, start);
  std::deque<waiting> high;
  int passed = 0;
  for (weir::time_point now = start;; now += 100ms, ++passed) {
    q.push(high.emplace_back("high", "y", 5), now);
    if (q.pop() == &low) break;
    BOOST_TEST_REQUIRE(passed < 60);
  }
  BOOST_TEST(passed == 51);  // five seconds' worth of priority, and the one that came with them
}

BOOST_AUTO_TEST_CASE(users_take_turns) {
  BOOST_TEST(
      play({.discipline = discipline::fair},
           {{"1", "a"}, {"2", "a"}, {"3", "a"}, {"x", "b"}, {"y", "b"}, {"!", "c"}, {"4", "a"}}) ==
      "1x!2y34");
}

BOOST_AUTO_TEST_CASE(a_turn_has_as_many_tasks_as_the_weight) {
  BOOST_TEST(play({.discipline = discipline::fair, .weights = {{"b", 2}, {"c", -5}}},
                  {{"1", "a"},
                   {"2", "a"},
                   {"v", "b"},
                   {"w", "b"},
                   {"x", "b"},
                   {"y", "b"},
                   {"!", "c"},
                   {"?", "c"}}) == "1vw!2xy?");
}

BOOST_AUTO_TEST_CASE(user_with_a_thousand_delays_one_with_one_by_a_single_task) {
  weir::run_queue q({.discipline = discipline::fair, .capacity = 1001});
  std::deque<waiting> many;
  for (int i = 0; i < 1000; ++i) q.push(many.emplace_back("A", "A"), start);
  q.pop();
  waiting one("B", "B");
  q.push(one, start);
  BOOST_TEST(q.turns() == 2U);
  BOOST_TEST(q.pop() != &one);
  BOOST_TEST(q.pop() == &one);
}

BOOST_AUTO_TEST_CASE(turns_are_not_saved_up_by_leaving_and_coming_back) {
  weir::run_queue q({.discipline = discipline::fair, .weights = {{"a", 3}}, .capacity = 10});
  std::deque<waiting> items;
  const auto add = [&](const char* user) -> waiting& {
    q.push(items.emplace_back(user, user), start);
    return items.back();
  };
  waiting& first = add("a");
  add("b");
  BOOST_TEST(q.pop() == &first);  // two of its turn are left, and nobody to use them
  for (int i = 0; i < 4; ++i) add("a");
  std::string order;
  while (auto* next = q.pop()) order += static_cast<waiting*>(next)->name;
  BOOST_TEST(order == "baaaa");
}

BOOST_AUTO_TEST_CASE(users_take_turns_among_equal_priorities) {
  BOOST_TEST(play({.discipline = discipline::fair_priority, .aging = 0s},
                  {{"1", "a", 1}, {"2", "a", 1}, {"3", "a", 2}, {"x", "b", 1}, {"y", "b", 0}}) ==
             "31x2y");
}

BOOST_AUTO_TEST_CASE(who_leaves_from_the_middle_leaves_the_turns_of_the_others_alone) {
  weir::run_queue q({.discipline = discipline::fair, .capacity = 6});
  std::deque<waiting> items;
  for (const char* user : {"a", "a", "b", "b", "c", "c"}) {
    items.emplace_back(std::string(user) + (items.size() % 2 == 0 ? "1" : "2"), user);
    q.push(items.back(), start);
  }
  q.erase(items[0]);
  q.erase(items[2]);
  q.erase(items[3]);
  std::string order;
  while (auto* next = q.pop()) order += static_cast<waiting*>(next)->name;
  BOOST_TEST(order == "a2c1c2");
}

namespace {

/// The same by looking at all who wait each time.
struct model {
  discipline how;
  weir::duration aging;
  std::map<std::string, int, std::less<>> weights;
  std::deque<std::pair<waiting*, weir::time_point>> all = {};
  std::map<int, std::vector<std::string>> turns = {};  // by priority
  std::map<std::pair<int, std::string>, int> credit = {};

  bool by_priority() const {
    return how == discipline::priority || how == discipline::fair_priority;
  }
  bool by_user() const { return how == discipline::fair || how == discipline::fair_priority; }
  int priority(const waiting& w) const { return by_priority() ? w.priority : 0; }

  void push(waiting& w, weir::time_point now) {
    all.emplace_back(&w, now);
    auto& ring = turns[priority(w)];
    if (std::find(ring.begin(), ring.end(), w.user) == ring.end()) ring.push_back(w.user);
  }

  waiting* last_like(const waiting& w) {
    return std::find_if(all.rbegin(), all.rend(),
                        [&](const auto& e) {
                          return priority(*e.first) == priority(w) &&
                                 (!by_user() || e.first->user == w.user);
                        })
        ->first;
  }

  waiting* pop(bool newest) {
    if (all.empty()) return nullptr;
    const auto ahead = [this](const auto& a, const auto& b) {
      const int p = priority(*a.first);
      const int r = priority(*b.first);
      if (aging == 0s) return p > r;
      const auto ka = a.second - aging * p;
      const auto kb = b.second - aging * r;
      return ka != kb ? ka < kb : p > r;
    };
    waiting* chosen = std::min_element(all.begin(), all.end(), ahead)->first;
    if (by_user()) {
      const int p = priority(*chosen);
      auto& ring = turns[p];
      const std::string user = ring.front();
      chosen = std::find_if(all.begin(), all.end(), [&](const auto& e) {
                 return priority(*e.first) == p && e.first->user == user;
               })->first;
      if (newest) chosen = last_like(*chosen);
      int& left = credit[{p, user}];
      if (left == 0) left = weights.contains(user) ? weights[user] : 1;
      if (--left == 0) {
        ring.erase(ring.begin());
        ring.push_back(user);
      }
    } else if (newest) {
      chosen = last_like(*chosen);
    }
    erase(*chosen);
    return chosen;
  }

  void erase(waiting& w) {
    all.erase(std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.first == &w; }));
    const int p = priority(w);
    if (std::none_of(all.begin(), all.end(), [&](const auto& e) {
          return priority(*e.first) == p && e.first->user == w.user;
        })) {
      std::erase(turns[p], w.user);
      credit.erase({p, w.user});
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(agrees_with_a_model_that_looks_at_all_who_wait) {
  const char* const users[] = {"a", "b", "c", "d"};
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    weir::test::random random(seed);
    const auto how = static_cast<discipline>(random.below(4));
    const weir::duration aging = random.chance(0.5) ? 3ms : 0ms;
    const std::map<std::string, int, std::less<>> weights{{"b", 2}, {"c", 3}};
    const std::size_t capacity = 1 + random.below(12);
    weir::run_queue q(
        {.discipline = how, .aging = aging, .weights = weights, .capacity = capacity});
    model expected{how, aging, weights};
    std::deque<waiting> items;
    weir::time_point now = start;
    for (int step = 0; step < 120; ++step) {
      now += std::chrono::milliseconds(random.below(3));
      const auto dice = random.below(10);
      if (dice < 5 && q.size() < capacity) {
        waiting& w =
            items.emplace_back(std::to_string(step), users[random.below(4)], random.between(-2, 2));
        q.push(w, now);
        expected.push(w, now);
      } else if (dice < 6 && !q.empty()) {
        waiting& gone = *expected.all[random.below(expected.all.size())].first;
        q.erase(gone);
        expected.erase(gone);
      } else {
        const bool newest = random.chance(0.3);
        auto* const got = static_cast<waiting*>(newest ? q.pop_newest() : q.pop());
        waiting* const wanted = expected.pop(newest);
        BOOST_TEST_REQUIRE(got == wanted, "seed " << seed << ", step " << step);
      }
      BOOST_TEST_REQUIRE(q.size() == expected.all.size());
      const auto* const oldest = q.oldest();
      BOOST_TEST_REQUIRE((oldest == nullptr) == q.empty());
      BOOST_TEST_REQUIRE((!oldest || oldest->queued_at() == expected.all.front().second));
    }
  }
}

BOOST_AUTO_TEST_CASE(walk_shows_each_who_waits_throughout_once_whoever_comes_and_goes) {
  std::size_t shown = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    weir::test::random random(seed);
    const auto how = static_cast<discipline>(random.below(4));
    constexpr std::size_t capacity = 8;
    weir::run_queue q({.discipline = how, .aging = 0s, .capacity = capacity});
    std::deque<waiting> items;
    std::vector<waiting*> inside, throughout;
    std::vector<const weir::run_queue::node*> seen;
    const auto gone = [&](const weir::run_queue::node* w) {
      std::erase(inside, w);
      std::erase(throughout, w);
      std::erase(seen, w);
    };
    const auto begin = [&] {
      q.begin_walk();
      throughout = inside;
      seen.clear();
    };
    begin();
    for (int step = 0; step < 200; ++step) {
      const auto dice = random.below(8);
      if (dice < 3 && q.size() < capacity) {
        waiting& w = items.emplace_back("", "u", random.between(-2, 2));
        q.push(w, start);
        inside.push_back(&w);
      } else if (dice < 4 && !q.empty()) {
        waiting& w = *inside[random.below(inside.size())];
        q.erase(w);
        gone(&w);
      } else if (dice < 5) {
        gone(random.chance(0.5) ? q.pop() : q.pop_newest());
      } else if (const auto* const next = q.next_of_walk()) {
        BOOST_TEST_REQUIRE(std::count(seen.begin(), seen.end(), next) == 0);
        BOOST_TEST_REQUIRE(std::count(inside.begin(), inside.end(), next) == 1);
        seen.push_back(next);
        ++shown;
      } else {
        for (const waiting* w : throughout)
          BOOST_TEST_REQUIRE(std::count(seen.begin(), seen.end(), w) == 1, "seed " << seed);
        BOOST_TEST_REQUIRE(!q.next_of_walk());  // done, until somebody begins again
        begin();
      }
      if (random.chance(0.02)) begin();
    }
  }
  BOOST_TEST(shown > 10'000U);
}

BOOST_AUTO_TEST_SUITE_END()
