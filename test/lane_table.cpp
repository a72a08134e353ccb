// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <weir/detail/lane_table.hpp>
#include <weir/test/random.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <new>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(lane_table)

namespace {

using table = weir::detail::lane_table;
using place = table::place;

place* enter(table& t, std::string name) {
  const std::size_t hash = table::hash(name);
  return t.enter(std::move(name), hash);
}

}  // namespace

BOOST_AUTO_TEST_CASE(first_has_its_turn_and_the_others_follow_in_order) {
  table t(0, 4);
  place& a = *enter(t, "x");
  place& b = *enter(t, "x");
  place& c = *enter(t, "x");
  BOOST_TEST(t.accept(a));
  BOOST_TEST(!t.accept(b));
  BOOST_TEST(!t.accept(c));
  BOOST_TEST((!a.follows() && b.follows() && c.follows()));
  BOOST_TEST(b.lane_name() == "x");
  BOOST_TEST(t.size() == 1U);
  BOOST_TEST(t.following() == 2U);
  t.start(a);
  BOOST_TEST((t.leave(a) == &b));
  BOOST_TEST(!b.follows());
  BOOST_TEST((t.leave(b) == &c));  // it never started
  BOOST_TEST((t.leave(c) == nullptr));
  BOOST_TEST(t.size() == 0U);
  BOOST_TEST(t.following() == 0U);
}

BOOST_AUTO_TEST_CASE(one_that_follows_leaves_and_the_order_of_the_others_is_kept) {
  table t(0, 4);
  std::vector<place*> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(enter(t, "x"));
    t.accept(*all.back());
  }
  BOOST_TEST((t.leave(*all[1]) == nullptr));
  BOOST_TEST(t.following() == 2U);
  BOOST_TEST((t.leave(*all[0]) == all[2]));
  BOOST_TEST((t.leave(*all[2]) == all[3]));
  t.leave(*all[3]);
}

BOOST_AUTO_TEST_CASE(lanes_do_not_wait_for_each_other) {
  table t(0, 4);
  std::vector<place*> all;
  for (int i = 0; i < 500; ++i) {
    all.push_back(enter(t, std::to_string(i)));
    BOOST_TEST(t.accept(*all.back()));
  }
  BOOST_TEST(t.size() == 500U);
  for (place* p : all) BOOST_TEST((t.leave(*p) == nullptr));
  BOOST_TEST(t.size() == 0U);
}

BOOST_AUTO_TEST_CASE(limit_counts_those_that_have_not_been_accepted_too) {
  table t(2, 4);
  place& a = *enter(t, "x");
  t.accept(a);
  place& b = *enter(t, "x");
  BOOST_TEST((enter(t, "x") == nullptr));
  BOOST_TEST(enter(t, "y") != nullptr);
  BOOST_TEST((t.leave(b) == nullptr));  // had not been accepted
  BOOST_TEST(enter(t, "x") != nullptr);
  BOOST_TEST((t.leave(a) == nullptr));
}

BOOST_AUTO_TEST_CASE(oldest_is_who_was_accepted_first_and_has_not_started) {
  table t(0, 4);
  place& a = *enter(t, "x");
  place& b = *enter(t, "y");
  place& c = *enter(t, "x");
  BOOST_TEST((t.oldest() == nullptr));
  for (place* p : {&b, &a, &c}) t.accept(*p);
  BOOST_TEST((t.oldest() == &b));
  t.start(b);
  BOOST_TEST((t.oldest() == &a));
  t.leave(a);
  BOOST_TEST((t.oldest() == &c));
  t.start(c);
  BOOST_TEST((t.oldest() == nullptr));
}

BOOST_AUTO_TEST_CASE(memory_is_used_again) {
  table t(0, 64);
  std::vector<place*> all(64);
  const auto fill = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = enter(t, std::to_string(i % 40));
      t.accept(*all[i]);
    }
  };
  const auto drain = [&] {
    for (place* p : all) t.leave(*p);
  };
  fill();
  drain();
  const allocation_counter counter;
  fill();
  drain();
  const std::size_t allocations = counter.count();
  BOOST_TEST(allocations == 0U);
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_where_memory_is_short) {
  table t(0, 4);
  const std::string name(100, 'x');
  bool done = false;
  for (std::size_t granted = 0; !done; ++granted) {
    BOOST_TEST(t.size() == 0U);
    std::string given = name;
    bool hit = false;
    place* p = nullptr;
    {
      const allocation_failure failure(granted);
      try {
        p = t.enter(std::move(given), table::hash(name));
      } catch (const std::bad_alloc&) {
        hit = true;
      }
    }
    done = !hit;
    if (p) t.leave(*p);
    BOOST_TEST_REQUIRE(granted < 10U);
  }
}

BOOST_AUTO_TEST_CASE(walk_shows_each_who_is_there_throughout_once_whoever_comes_and_goes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    weir::test::random draw(seed);
    table t(0, 4);
    std::vector<place*> waiting, started, throughout;
    std::vector<const place*> seen;
    const auto begin = [&] {
      t.begin_walk();
      throughout = waiting;
      seen.clear();
    };
    begin();
    for (int step = 0; step < 200; ++step) {
      const auto dice = draw.below(8);
      if (dice < 3 && waiting.size() < 8) {
        waiting.push_back(enter(t, std::string(1, static_cast<char>('a' + draw.below(3)))));
        t.accept(*waiting.back());
      } else if (dice < 5 && !waiting.empty()) {
        place* const p = waiting[draw.below(waiting.size())];
        if (!p->follows() && draw.chance(0.5)) {
          t.start(*p);
          started.push_back(p);
        } else {
          t.leave(*p);
        }
        std::erase(waiting, p);
        std::erase(throughout, p);
        std::erase(seen, p);
      } else if (dice < 6 && !started.empty()) {
        t.leave(*started.back());
        started.pop_back();
      } else if (const place* const next = t.next_of_walk()) {
        BOOST_TEST_REQUIRE(std::count(seen.begin(), seen.end(), next) == 0);
        BOOST_TEST_REQUIRE(std::count(waiting.begin(), waiting.end(), next) == 1);
        seen.push_back(next);
      } else {
        for (const place* p : throughout)
          BOOST_TEST_REQUIRE(std::count(seen.begin(), seen.end(), p) == 1, "seed " << seed);
        begin();
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(table_and_a_list_for_each_lane_agree) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    weir::test::random draw(seed);
    constexpr std::size_t limit = 4;
    table t(limit, 4);
    std::map<std::string, std::deque<place*>> lanes;  // accepted; the first has its turn
    std::map<std::string, std::size_t> members;
    std::vector<place*> entered, accepted;
    for (int step = 0; step < 200; ++step) {
      switch (draw.below(4)) {
        case 0: {
          const std::string name(1, static_cast<char>('a' + draw.below(4)));
          place* const p = enter(t, name);
          BOOST_TEST_REQUIRE((p == nullptr) == (members[name] == limit));
          if (!p) break;
          ++members[name];
          entered.push_back(p);
          break;
        }
        case 1: {
          if (entered.empty()) break;
          const auto at = entered.begin() + static_cast<std::ptrdiff_t>(draw.below(entered.size()));
          auto& lane = lanes[(*at)->lane_name()];
          BOOST_TEST_REQUIRE(t.accept(**at) == lane.empty());
          lane.push_back(*at);
          accepted.push_back(*at);
          entered.erase(at);
          break;
        }
        case 2: {
          if (accepted.empty()) break;
          const auto at =
              accepted.begin() + static_cast<std::ptrdiff_t>(draw.below(accepted.size()));
          place& p = **at;
          if (!p.follows() && draw.chance(0.5)) t.start(p);
          const std::string name = p.lane_name();
          auto& lane = lanes[name];
          const bool turn = lane.front() == &p;
          std::erase(lane, &p);
          --members[name];
          accepted.erase(at);
          place* const expected = turn && !lane.empty() ? lane.front() : nullptr;
          BOOST_TEST_REQUIRE((t.leave(p) == expected));
          break;
        }
        default: {
          if (entered.empty()) break;
          --members[entered.back()->lane_name()];
          BOOST_TEST_REQUIRE((t.leave(*entered.back()) == nullptr));
          entered.pop_back();
        }
      }
      std::size_t following = 0, used = 0;
      for (const auto& [name, lane] : lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i)
          BOOST_TEST_REQUIRE(lane[i]->follows() == (i != 0));
        if (!lane.empty()) following += lane.size() - 1;
        if (members[name] != 0) ++used;
      }
      for (const auto& [name, count] : members)
        if (count != 0 && !lanes.contains(name)) ++used;
      BOOST_TEST_REQUIRE(t.following() == following);
      BOOST_TEST_REQUIRE(t.size() == used);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
