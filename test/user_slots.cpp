// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "allocation_counter.hpp"

#include <weir/detail/user_slots.hpp>

#include <boost/asio/execution_context.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <barrier>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using slots = weir::detail::user_slots;
using entry = slots::entry;
using weir::errc;
using weir::error_code;

struct fixture {
  boost::asio::execution_context context;
};

error_code yes() { return {}; }

/// Takes a slot of `user`; `held` is where it is.
error_code take(slots& s, std::string_view user, entry*& held) {
  return s.acquire(user, slots::hash(user), yes, [&](entry* e) {
    held = e;
    return error_code();
  });
}

error_code take(slots& s, std::string_view user) {
  entry* ignored = nullptr;
  return take(s, user, ignored);
}

void give_back(slots& s, const std::vector<entry*>& held) {
  for (entry* e : held) s.release(e);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(user_slots, fixture)

BOOST_AUTO_TEST_CASE(cap_is_exact) {
  for (const int cap : {1, 2, 7}) {
    slots s(context, cap, errc::user_limit_reached);
    std::vector<entry*> held;
    for (int i = 0; i < cap; ++i) {
      entry* e = nullptr;
      BOOST_TEST(!take(s, "ann", e));
      held.push_back(e);
    }
    for (int i = 0; i < 3; ++i) BOOST_TEST((take(s, "ann") == errc::user_limit_reached));
    s.release(held.back());
    held.pop_back();
    entry* again = nullptr;
    BOOST_TEST(!take(s, "ann", again));
    BOOST_TEST((take(s, "ann") == errc::user_limit_reached));
    held.push_back(again);
    give_back(s, held);
    BOOST_TEST(s.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(users_do_not_count_for_each_other) {
  slots s(context, 1, errc::user_limit_reached);
  std::vector<entry*> held(3);
  BOOST_TEST(!take(s, "ann", held[0]));
  BOOST_TEST(!take(s, "bob", held[1]));
  BOOST_TEST(!take(s, "", held[2]));
  BOOST_TEST((take(s, "ann") == errc::user_limit_reached));
  BOOST_TEST(s.size() == 3U);
  give_back(s, held);
}

BOOST_AUTO_TEST_CASE(users_of_one_hash_are_told_apart) {
  // The hash is the caller's, so a collision needs no search.
  slots s(context, 1, errc::user_limit_reached);
  std::vector<entry*> held;
  for (const std::string_view user : {"ann", "bob", "eve"})
    BOOST_TEST(!s.acquire(user, 42, yes, [&](entry* e) {
      held.push_back(e);
      return error_code();
    }));
  for (const std::string_view user : {"ann", "bob", "eve"})
    BOOST_TEST((s.acquire(user, 42, yes, [](entry*) { return error_code(); }) ==
                errc::user_limit_reached));
  s.release(held[1]);
  BOOST_TEST(!s.acquire("bob", 42, yes, [&](entry* e) {
    held[1] = e;
    return error_code();
  }));
  give_back(s, held);
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(table_is_empty_after_the_last_release) {
  slots s(context, 2, errc::user_limit_reached);
  entry* first = nullptr;
  entry* second = nullptr;
  BOOST_TEST(!take(s, "ann", first));
  BOOST_TEST(!take(s, "ann", second));
  BOOST_TEST(s.size() == 1U);
  s.release(first);
  BOOST_TEST(s.size() == 1U);
  s.release(second);
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(refusal_by_admit_gives_the_slot_back) {
  slots s(context, 1, errc::user_limit_reached);
  const auto refuse = [](entry* e) {
    BOOST_TEST(e->second.slots == 1);  // taken while it is asked
    return error_code(errc::queue_full);
  };
  for (int i = 0; i < 3; ++i)
    BOOST_TEST((s.acquire("ann", slots::hash("ann"), yes, refuse) == errc::queue_full));
  BOOST_TEST(s.size() == 0U);
  entry* held = nullptr;
  BOOST_TEST(!take(s, "ann", held));
  s.release(held);
}

BOOST_AUTO_TEST_CASE(refusal_by_admit_leaves_the_slots_held_before) {
  slots s(context, 2, errc::user_limit_reached);
  entry* held = nullptr;
  BOOST_TEST(!take(s, "ann", held));
  const auto refuse = [](entry*) { return error_code(errc::pool_closed); };
  BOOST_TEST((s.acquire("ann", slots::hash("ann"), yes, refuse) == errc::pool_closed));
  BOOST_TEST(held->second.slots == 1);
  BOOST_TEST(s.size() == 1U);
  s.release(held);
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(exception_of_admit_gives_the_slot_back_and_comes_out) {
  slots s(context, 1, errc::user_limit_reached);
  const auto fail = [](entry*) -> error_code { throw std::runtime_error("of admit"); };
  for (int i = 0; i < 3; ++i)
    BOOST_CHECK_THROW(s.acquire("ann", slots::hash("ann"), yes, fail), std::runtime_error);
  BOOST_TEST(s.size() == 0U);
  entry* held = nullptr;
  BOOST_TEST(!take(s, "ann", held));
  s.release(held);
}

BOOST_AUTO_TEST_CASE(refusal_by_probe_changes_nothing) {
  slots s(context, 2, errc::user_limit_reached);
  bool admitted = false;
  const auto full = [] { return error_code(errc::queue_full); };
  const auto admit = [&](entry*) {
    admitted = true;
    return error_code();
  };
  BOOST_TEST((s.acquire("ann", slots::hash("ann"), full, admit) == errc::queue_full));
  BOOST_TEST(s.size() == 0U);
  entry* held = nullptr;
  BOOST_TEST(!take(s, "ann", held));
  BOOST_TEST((s.acquire("ann", slots::hash("ann"), full, admit) == errc::queue_full));
  BOOST_TEST(held->second.slots == 1);
  BOOST_TEST(!admitted);
  s.release(held);
}

BOOST_AUTO_TEST_CASE(exception_of_probe_changes_nothing) {
  slots s(context, 1, errc::user_limit_reached);
  const auto fail = []() -> error_code { throw std::runtime_error("of probe"); };
  BOOST_CHECK_THROW(s.acquire("ann", slots::hash("ann"), fail, [](entry*) { return error_code(); }),
                    std::runtime_error);
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(cap_is_looked_at_before_the_probe) {
  slots s(context, 1, errc::user_limit_reached);
  entry* held = nullptr;
  BOOST_TEST(!take(s, "ann", held));
  bool probed = false;
  const auto probe = [&] {
    probed = true;
    return error_code(errc::queue_full);
  };
  BOOST_TEST((s.acquire("ann", slots::hash("ann"), probe, [](entry*) { return error_code(); }) ==
              errc::user_limit_reached));
  BOOST_TEST(!probed);
  s.release(held);
}

BOOST_AUTO_TEST_CASE(refusal_allocates_nothing) {
  slots s(context, 1, errc::user_limit_reached);
  entry* held = nullptr;
  const std::string user = "a name too long to be stored in place, and so on the heap";
  const std::string other = "another name too long to be stored in place, also on the heap";
  BOOST_TEST(!take(s, user, held));
  const auto full = [] { return error_code(errc::queue_full); };
  const allocation_counter allocations;
  const error_code at_cap = take(s, user);
  const error_code no_room =
      s.acquire(other, slots::hash(other), full, [](entry*) { return error_code(); });
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 0U);
  BOOST_TEST((at_cap == errc::user_limit_reached));
  BOOST_TEST((no_room == errc::queue_full));
  s.release(held);
}

BOOST_AUTO_TEST_CASE(user_that_comes_and_goes_allocates_nothing_in_the_long_run) {
  slots s(context, 1, errc::user_limit_reached);
  for (int i = 0; i < 10; ++i) {
    entry* held = nullptr;
    take(s, "ann", held);
    s.release(held);
  }
  const allocation_counter allocations;
  for (int i = 0; i < 100; ++i) {
    entry* held = nullptr;
    take(s, "ann", held);
    s.release(held);
  }
  const std::size_t count = allocations.count();
  BOOST_TEST(count == 0U);
}

BOOST_AUTO_TEST_CASE(no_memory_takes_nothing) {
  const std::string user = "a name too long to be stored in place, and so on the heap";
  // Each allocation of a first visit fails once, until there is none left to fail.
  for (std::size_t granted = 0;; ++granted) {
    slots s(context, 1, errc::user_limit_reached);
    entry* held = nullptr;
    bool failed = false;
    bool hit = false;
    {
      const allocation_failure shortage(granted);
      try {
        take(s, user, held);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      hit = shortage.hit();
    }
    BOOST_TEST(failed == hit);
    BOOST_TEST(s.size() == (failed ? 0U : 1U));
    if (failed) {
      BOOST_TEST(held == nullptr);
      BOOST_TEST(!take(s, user, held));
    }
    s.release(held);
    BOOST_TEST(s.size() == 0U);
    if (!failed) {
      BOOST_TEST(granted > 0U);
      break;
    }
  }
}

BOOST_AUTO_TEST_CASE(no_memory_for_the_name_keeps_a_used_line) {
  slots s(context, 1, errc::user_limit_reached);
  const std::string user(1000, 'x');
  const auto visit = [&](std::string_view name) {
    entry* held = nullptr;
    BOOST_TEST(!s.acquire(name, 7, yes, [&](entry* e) {
      held = e;
      return error_code();
    }));
    s.release(held);
  };
  visit("ann");  // leaves a spare line with a short name
  bool failed = false;
  {
    const allocation_failure none_left;
    try {
      (void)s.acquire(user, 7, yes, [](entry*) { return error_code(); });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  BOOST_TEST(failed);
  BOOST_TEST(s.size() == 0U);
  visit(user);
  visit("ann");
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(hundred_thousand_users_hold_a_slot_each) {
  constexpr int users = 100000;
  slots s(context, 1, errc::user_limit_reached);
  std::vector<entry*> held(users);
  int refused = 0;
  for (int i = 0; i < users; ++i)
    if (take(s, std::to_string(i), held[static_cast<std::size_t>(i)])) ++refused;
  BOOST_TEST(refused == 0);
  BOOST_TEST(s.size() == static_cast<std::size_t>(users));
  int limited = 0;
  int wrong = 0;
  for (int i = 0; i < users; ++i) {
    const std::string user = std::to_string(i);
    if (take(s, user) == errc::user_limit_reached) ++limited;
    // A line stays where it is, however much the table has grown since.
    const entry* const line = held[static_cast<std::size_t>(i)];
    if (line->first.name != user || line->second.slots != 1) ++wrong;
  }
  BOOST_TEST(limited == users);
  BOOST_TEST(wrong == 0);
  give_back(s, held);
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_CASE(used_lines_keep_long_names_apart) {
  slots s(context, 1, errc::user_limit_reached);
  const auto name = [](int i) { return std::string(100, 'u') + std::to_string(i); };
  for (int round = 0; round < 5; ++round) {
    std::vector<entry*> held;
    for (int i = 0; i < 300; ++i) {
      entry* e = nullptr;
      const std::string user = i % 3 == 0 ? std::to_string(i) : name(i * 7 + round);
      BOOST_TEST_REQUIRE(!take(s, user, e));
      BOOST_TEST_REQUIRE(e->first.name == user);
      BOOST_TEST_REQUIRE(e->first.hash == slots::hash(user));
      BOOST_TEST_REQUIRE((take(s, user) == errc::user_limit_reached));
      held.push_back(e);
    }
    give_back(s, held);
    BOOST_TEST(s.size() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(name_may_be_gone_after_the_call) {
  slots s(context, 1, errc::user_limit_reached);
  entry* held = nullptr;
  {
    std::string user(100, 'a');
    BOOST_TEST(!take(s, user, held));
    user.assign(100, 'b');
  }
  BOOST_TEST(held->first.name == std::string(100, 'a'));
  BOOST_TEST((take(s, std::string(100, 'a')) == errc::user_limit_reached));
  s.release(held);
}

namespace {

/// `threads` threads take and give back slots of one user as fast as they can.
void race_for_one_user(slots& s, int threads, int cap) {
  std::atomic<int> inside{0};
  std::atomic<int> peak{0};
  std::atomic<int> taken{0};
  std::atomic<int> refused{0};
  std::barrier start(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&] {
      start.arrive_and_wait();
      for (int i = 0; i < 10000; ++i) {
        entry* held = nullptr;
        if (take(s, "ann", held)) {
          ++refused;
          continue;
        }
        const int now = ++inside;
        int seen = peak.load();
        while (seen < now && !peak.compare_exchange_weak(seen, now)) continue;
        ++taken;
        --inside;
        s.release(held);
      }
    });
  for (std::thread& t : all) t.join();
  BOOST_TEST(peak <= cap);
  BOOST_TEST(peak >= 1);
  BOOST_TEST(taken + refused == threads * 10000);
  BOOST_TEST(s.size() == 0U);
  // Nothing was lost either: all of the cap is there again.
  std::vector<entry*> held(static_cast<std::size_t>(cap));
  for (entry*& e : held) BOOST_TEST(!take(s, "ann", e));
  BOOST_TEST((take(s, "ann") == errc::user_limit_reached));
  give_back(s, held);
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_threads_on_one_user_lose_no_slot) {
  slots s(context, 1, errc::user_limit_reached);
  race_for_one_user(s, 2, 1);
}

BOOST_AUTO_TEST_CASE(four_racing_threads_never_pass_the_cap) {
  slots s(context, 3, errc::user_limit_reached);
  race_for_one_user(s, 4, 3);
}

BOOST_AUTO_TEST_CASE(four_racing_threads_of_many_users_leave_an_empty_table) {
  slots s(context, 2, errc::user_limit_reached);
  std::barrier start(4);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int i = 0; i < 5000; ++i) {
        // Users meet others of their shard, and themselves from another thread.
        entry* held = nullptr;
        if (!take(s, std::to_string((i * 13 + t * 7) % 200), held)) s.release(held);
      }
    });
  for (std::thread& t : all) t.join();
  BOOST_TEST(s.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
