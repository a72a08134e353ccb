// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Limits within limits: a user's share of the queue, and a tenant's slots around those of its
// users.

#include "allocation_counter.hpp"
#include "pool_fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace weir_test;

BOOST_FIXTURE_TEST_SUITE(worker_pool_limits, virtual_pool)

namespace {

struct refusals : weir::pool_observer {
  std::vector<std::pair<std::string, error_code>> heard;
  void on_rejected(std::string_view user, error_code why) noexcept override {
    heard.emplace_back(user, why);
  }
};

asio::awaitable<void> throws(task_context&) {
  throw std::runtime_error("as told");
  co_return;
}

}  // namespace

BOOST_AUTO_TEST_CASE(user_has_its_share_of_the_queue_and_others_the_rest) {
  const auto told = std::make_shared<refusals>();
  auto& p = make({.workers = 1,
                  .queue_size = 4,
                  .max_per_user = 0,
                  .max_queued_per_user = 2,
                  .observer = told});
  BOOST_TEST(!p.submit(task_of("ann", sleeper(1ms))));
  time.settle();
  for (int i = 0; i < 2; ++i) BOOST_TEST(!p.submit(task_of("ann", sleeper(1ms))));
  for (int i = 0; i < 3; ++i)
    BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_queue_full);
  BOOST_TEST(!p.submit(task_of("bob", nothing())));
  BOOST_TEST(p.metrics().users == 2U);
  BOOST_TEST(p.metrics().rejected.user_queue == 3U);
  BOOST_TEST(p.metrics().offered() == 7U);
  BOOST_TEST(told->heard.size() == 3U);
  BOOST_TEST(told->heard.front().first == "ann");
  BOOST_TEST(told->heard.front().second == errc::user_queue_full);
  time.run_for(1ms);  // one of them has started, so one more may wait
  BOOST_TEST(!p.submit(task_of("ann", nothing())));
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_queue_full);
  time.run();
  BOOST_TEST(p.metrics().completed == 5U);
}

BOOST_AUTO_TEST_CASE(share_counts_what_waits_for_room_and_is_looked_at_after_room) {
  auto& p = make({.workers = 1, .queue_size = 1, .max_per_user = 0, .max_queued_per_user = 2});
  p.submit(task_of("ann", sleeper(1ms)));
  time.settle();
  p.submit(task_of("ann", nothing()));
  noted waits, more, spawned, other;
  p.async_submit(task_of("ann", nothing()), waits.handler());
  p.async_submit(task_of("ann", nothing()), more.handler());
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::queue_full);
  weir::co_spawn(p, {.user = "ann"}, nothing(), spawned.handler());
  p.async_submit(task_of("bob", nothing()), other.handler());
  time.settle();
  BOOST_TEST(!waits.ended());
  BOOST_TEST(*more.code == errc::user_queue_full);  // does not wait for what it cannot have
  BOOST_TEST(*spawned.code == errc::queue_full);
  BOOST_TEST(p.metrics().waiting == 2U);
  time.run();
  BOOST_TEST(!*waits.code);
  BOOST_TEST(!*other.code);
  BOOST_TEST(p.metrics().completed == 4U);
}

BOOST_AUTO_TEST_CASE(share_comes_back_from_whatever_leaves_the_queue) {
  enum class way { given_up, shed, waited_for_room, closed };
  for (const way how : {way::given_up, way::shed, way::waited_for_room, way::closed}) {
    const bool outside = how == way::waited_for_room || how == way::closed;
    virtual_pool::make({.workers = 1,
                        .queue_size = outside ? 1 : 9,
                        .max_per_user = 0,
                        .max_queued_per_user = 1,
                        .max_queue_wait = how == way::shed ? 10ms : 0ms});
    auto& p = *pool;
    p.submit(task_of("bob", sleeper(30ms)));
    time.settle();
    if (outside) p.submit(task_of("cat", nothing()));
    asio::cancellation_signal give_up;
    noted first;
    const auto slot = [&] { return asio::bind_cancellation_slot(give_up.slot(), first.handler()); };
    if (outside)
      p.async_submit(task_of("ann", nothing()), slot());
    else
      weir::co_spawn(p, {.user = "ann"}, nothing(), slot());
    noted refused;
    p.async_submit(task_of("ann", nothing()), refused.handler());
    time.settle();
    BOOST_TEST(*refused.code == errc::user_queue_full);
    BOOST_TEST(!first.ended());
    switch (how) {
      case way::closed:
        p.async_shutdown({}, [](error_code, const weir::shutdown_report&) {});
        break;
      case way::shed:
        time.run_for(10ms);
        break;
      default:
        give_up.emit(asio::cancellation_type::total);
    }
    time.settle();
    BOOST_TEST(first.ended());
    BOOST_TEST(!!*first.code);
    noted again;
    p.async_submit(task_of("ann", nothing()), again.handler());
    time.run();
    BOOST_TEST((how == way::closed ? *again.code == errc::pool_closed : !*again.code));
  }
}

BOOST_AUTO_TEST_CASE(share_counts_those_that_follow_in_their_lane) {
  auto& p = make({.workers = 4, .queue_size = 9, .max_per_user = 0, .max_queued_per_user = 1});
  const auto in_lane = [](auto f) {
    weir::task t = task_of("ann", f);
    t.lane = "x";
    return t;
  };
  p.submit(in_lane(sleeper(1ms)));
  time.settle();
  BOOST_TEST(!p.submit(in_lane(sleeper(1ms))));
  BOOST_TEST(p.submit(in_lane(nothing())) == errc::user_queue_full);
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_queue_full);
  time.run_for(1ms);
  BOOST_TEST(!p.submit(in_lane(nothing())));
}

BOOST_AUTO_TEST_CASE(cap_is_looked_at_before_the_share) {
  auto& p = make({.workers = 1, .queue_size = 9, .max_per_user = 2, .max_queued_per_user = 1});
  p.submit(task_of("ann", sleeper(1ms)));
  time.settle();
  p.submit(task_of("ann", nothing()));
  BOOST_TEST(p.submit(task_of("ann", nothing())) == errc::user_limit_reached);
}

BOOST_AUTO_TEST_CASE(tenant_has_a_cap_around_the_caps_of_its_users) {
  auto& p = make({.workers = 1, .queue_size = 20, .max_per_user = 2, .max_per_tenant = 3});
  const auto submit = [&p](std::string user) {
    return p.submit(task_of(std::move(user), sleeper(1ms)));
  };
  BOOST_TEST(!submit("acme/ann"));
  BOOST_TEST(!submit("acme/ann"));
  BOOST_TEST(submit("acme/ann") == errc::user_limit_reached);
  BOOST_TEST(!submit("acme/bob"));
  BOOST_TEST(submit("acme/bob") == errc::tenant_limit_reached);
  BOOST_TEST(submit("acme/cat") == errc::tenant_limit_reached);
  BOOST_TEST(submit("acme") == errc::tenant_limit_reached);
  BOOST_TEST(submit("acme/ann") == errc::tenant_limit_reached);  // the wider limit is said first
  BOOST_TEST(!submit("acmex/ann"));
  BOOST_TEST(!submit("dan"));
  BOOST_TEST(!submit("dan"));
  BOOST_TEST(submit("dan") == errc::user_limit_reached);
  BOOST_TEST(p.metrics().users == 4U);
  BOOST_TEST(p.metrics().tenants == 3U);
  BOOST_TEST(p.metrics().rejected.tenant_limit == 4U);
  BOOST_TEST(p.metrics().rejected.user_limit == 2U);
  time.run_for(1ms);
  BOOST_TEST(!submit("acme/bob"));
  time.run();
  BOOST_TEST(p.metrics().completed == 7U);
}

BOOST_AUTO_TEST_CASE(tenants_need_no_cap_on_users) {
  auto& p = make({.workers = 1, .queue_size = 20, .max_per_user = 0, .max_per_tenant = 2});
  for (int i = 0; i < 2; ++i) BOOST_TEST(!p.submit(task_of("acme/ann", nothing())));
  BOOST_TEST(p.submit(task_of("acme/ann", nothing())) == errc::tenant_limit_reached);
  BOOST_TEST(p.metrics().users == 0U);
  BOOST_TEST(p.metrics().tenants == 1U);
}

BOOST_AUTO_TEST_CASE(whose_user_it_is_may_be_said_by_a_function) {
  auto& p =
      make({.workers = 1,
            .queue_size = 20,
            .max_per_user = 0,
            .max_per_tenant = 1,
            .tenant_of = [](std::string_view user) { return user.substr(user.find('@') + 1); }});
  BOOST_TEST(!p.submit(task_of("ann@acme.example", nothing())));
  BOOST_TEST(p.submit(task_of("bob@acme.example", nothing())) == errc::tenant_limit_reached);
  BOOST_TEST(!p.submit(task_of("ann@other.example", nothing())));
  time.run();
}

BOOST_AUTO_TEST_CASE(each_limit_on_users_wants_to_know_the_user) {
  for (const weir::pool_options& o :
       {weir::pool_options{.max_per_user = 1},
        weir::pool_options{.max_per_user = 0, .max_queued_per_user = 1},
        weir::pool_options{.max_per_user = 0, .max_per_tenant = 1}}) {
    auto& p = make(o);
    BOOST_TEST(p.submit(task_of("", nothing())) == errc::invalid_argument);
    BOOST_TEST(p.metrics().rejected.invalid == 1U);
  }
  auto& p = make({.max_per_user = -1, .max_queued_per_user = -1, .max_per_tenant = -1});
  BOOST_TEST(p.options().max_queued_per_user == 0);
  BOOST_TEST(p.options().max_per_tenant == 0);
  BOOST_TEST(!p.submit(task_of("", nothing())));
}

BOOST_AUTO_TEST_CASE(all_slots_come_back_however_a_task_ends) {
  auto& p = make({.workers = 4,
                  .queue_size = 20,
                  .max_per_user = 1,
                  .max_queued_per_user = 1,
                  .max_per_tenant = 1,
                  .grace = 1ms});
  const auto ends = [&](auto f, std::optional<weir::duration> timeout = {}) {
    BOOST_TEST(!p.submit(task_of("acme/ann", f, timeout)));
    BOOST_TEST(p.submit(task_of("acme/bob", nothing())) == errc::tenant_limit_reached);
    time.run();
    BOOST_TEST(p.metrics().tenants == 0U);
    BOOST_TEST(p.metrics().users == 0U);
  };
  ends(nothing());
  ends(throws);
  ends(sleeper(1h), 5ms);
  asio::cancellation_signal stop;
  noted spawned;
  weir::co_spawn(p, {.user = "acme/ann"}, sleeper(1h),
                 asio::bind_cancellation_slot(stop.slot(), spawned.handler()));
  time.settle();
  stop.emit(asio::cancellation_type::terminal);
  time.run();
  ends(nothing());
}

BOOST_AUTO_TEST_CASE(refusal_further_in_leaves_no_slot_of_user_or_tenant) {
  auto& p = make({.workers = 1,
                  .queue_size = 2,
                  .max_per_user = 9,
                  .max_queued_per_user = 1,
                  .max_per_tenant = 9,
                  .max_per_lane = 1});
  const auto in_lane = [](std::string user) {
    weir::task t = task_of(std::move(user), sleeper(1ms));
    t.lane = "x";
    return t;
  };
  p.submit(in_lane("acme/ann"));
  time.settle();
  BOOST_TEST(p.submit(in_lane("other/bob")) == errc::lane_limit_reached);
  BOOST_TEST(p.metrics().tenants == 1U);
  BOOST_TEST(p.metrics().users == 1U);
  p.submit(task_of("acme/ann", nothing()));
  BOOST_TEST(p.submit(task_of("acme/ann", nothing())) == errc::user_queue_full);
  p.submit(task_of("acme/bob", nothing()));
  BOOST_TEST(p.submit(task_of("other/bob", nothing())) == errc::queue_full);
  BOOST_TEST(p.metrics().tenants == 1U);
  BOOST_TEST(p.metrics().users == 2U);
}

BOOST_AUTO_TEST_CASE(room_that_was_reserved_is_kept_when_a_limit_refuses_its_task) {
  auto& p = make({.workers = 1,
                  .queue_size = 9,
                  .max_per_user = 0,
                  .max_queued_per_user = 1,
                  .max_per_tenant = 3});
  p.submit(task_of("acme/ann", sleeper(1ms)));
  time.settle();
  for (const char* user : {"acme/ann", "acme/dan"}) p.submit(task_of(user, nothing()));
  weir::pool_room room;
  p.async_reserve([&room](error_code, weir::pool_room r) { room = std::move(r); });
  time.settle();
  BOOST_TEST(p.submit(room, task_of("acme/bob", nothing())) == errc::tenant_limit_reached);
  time.run_for(1ms);
  p.submit(task_of("bob", sleeper(1ms)));
  time.settle();
  p.submit(task_of("bob", nothing()));
  BOOST_TEST(p.submit(room, task_of("bob", nothing())) == errc::user_queue_full);
  BOOST_TEST(p.metrics().reserved == 1U);
  BOOST_TEST(!p.submit(room, task_of("cat", nothing())));
  BOOST_TEST(p.metrics().reserved == 0U);
}

BOOST_AUTO_TEST_CASE(refusals_allocate_nothing) {
  auto& p = make({.workers = 1,
                  .queue_size = 9,
                  .max_per_user = 0,
                  .max_queued_per_user = 1,
                  .max_per_tenant = 3});
  const std::string tenant = "a name too long to be stored in place, and so on the heap/";
  p.submit(task_of(tenant + "ann", sleeper(1ms)));
  time.settle();
  p.submit(task_of(tenant + "ann", nothing()));
  weir::task share = task_of(tenant + "ann", nothing());
  weir::task cap = task_of(tenant + "cat", nothing());
  {
    const allocation_counter allocations;
    const error_code ec = p.submit(std::move(share));
    const std::size_t count = allocations.count();
    BOOST_TEST(ec == errc::user_queue_full);
    BOOST_TEST(count == 0U);
  }
  p.submit(task_of(tenant + "bob", nothing()));
  const allocation_counter allocations;
  const error_code ec = p.submit(std::move(cap));
  const std::size_t count = allocations.count();
  BOOST_TEST(ec == errc::tenant_limit_reached);
  BOOST_TEST(count == 0U);
}

BOOST_AUTO_TEST_CASE(no_memory_takes_nothing_of_any_limit) {
  for (std::size_t granted = 0;; ++granted) {
    virtual_pool::make({.workers = 1,
                        .queue_size = 9,
                        .max_per_user = 1,
                        .max_queued_per_user = 1,
                        .max_per_tenant = 1});
    auto& p = *pool;
    weir::task t = task_of("a tenant with a long name/a user with a long name", nothing());
    t.lane = "a lane";
    bool failed = false;
    bool hit = false;
    {
      const allocation_failure shortage(granted);
      try {
        BOOST_TEST(!p.submit(std::move(t)));
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      hit = shortage.hit();
    }
    BOOST_TEST(p.metrics().users == (failed ? 0U : 1U));
    BOOST_TEST(p.metrics().tenants == (failed ? 0U : 1U));
    BOOST_TEST(p.metrics().queued == (failed ? 0U : 1U));
    if (failed)
      BOOST_TEST(
          !p.submit(task_of("a tenant with a long name/a user with a long name", nothing())));
    time.run();
    if (!hit) break;
    BOOST_TEST_REQUIRE(granted < 100U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
