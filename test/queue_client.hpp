// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_QUEUE_CLIENT_HPP
#define WEIR_TEST_QUEUE_CLIENT_HPP

#include <weir/error.hpp>
#include <weir/task_queue.hpp>
#include <weir/test/driver.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace weir_test {

/// What a request came to.
template <typename T>
struct answer {
  std::optional<weir::error_code> code;
  T value{};

  auto handler() {
    return [this](weir::error_code ec, T v) {
      BOOST_TEST(!code);
      code = ec;
      value = std::move(v);
    };
  }
};

/// A queue whose requests are answered without a step of the clock, as plain calls.
class queue_client {
 public:
  queue_client(weir::test::driver& time, weir::task_queue& queue) : time_(time), queue_(queue) {}

  /// The error of the last request.
  weir::error_code error;

  weir::enqueued add(const weir::job_request& r) {
    return ask<weir::enqueued>([&](auto h) { queue_.async_enqueue(r, std::move(h)); });
  }
  std::vector<weir::enqueued> add_all(std::span<const weir::job_request> r) {
    return ask<std::vector<weir::enqueued>>([&](auto h) { queue_.async_enqueue(r, std::move(h)); });
  }
  std::vector<weir::lease> take(const weir::lease_options& o = {}) {
    return ask<std::vector<weir::lease>>([&](auto h) { queue_.async_lease(o, std::move(h)); });
  }
  weir::error_code ack(weir::lease_key k) {
    return tell([&](auto h) { queue_.async_ack(k, std::move(h)); });
  }
  weir::error_code nack(weir::lease_key k, const weir::nack_options& o = {}) {
    return tell([&](auto h) { queue_.async_nack(k, o, std::move(h)); });
  }
  weir::error_code release(weir::lease_key k) {
    return tell([&](auto h) { queue_.async_release(k, {}, std::move(h)); });
  }
  bool cancel(weir::job_id id) {
    return ask<bool>([&](auto h) { queue_.async_cancel(id, std::move(h)); });
  }
  std::optional<weir::job_status> find(weir::job_id id) {
    return ask<std::optional<weir::job_status>>(
        [&](auto h) { queue_.async_find(id, std::move(h)); });
  }
  weir::queue_stats stats() {
    return ask<weir::queue_stats>([&](auto h) { queue_.async_stats(std::move(h)); });
  }
  std::vector<weir::job_status> dead() {
    return ask<std::vector<weir::job_status>>(
        [&](auto h) { queue_.async_dead_letters(0, 1000, std::move(h)); });
  }

  template <typename T, typename F>
  T ask(F start) {
    answer<T> a;
    start(a.handler());
    time_.settle();
    BOOST_TEST_REQUIRE(a.code.has_value());
    error = *a.code;
    return std::move(a.value);
  }
  template <typename F>
  weir::error_code tell(F start) {
    std::optional<weir::error_code> code;
    start([&](weir::error_code ec) { code = ec; });
    time_.settle();
    BOOST_TEST_REQUIRE(code.has_value());
    return error = *code;
  }

 private:
  weir::test::driver& time_;
  weir::task_queue& queue_;
};

/// A queue with a capacity of three: jobs in whatever state take room until they are forgotten.
inline void check_capacity_of_three(weir::test::virtual_time& time, weir::task_queue& queue) {
  queue_client client(time, queue);
  client.add({.kind = "a", .keep = std::chrono::seconds(1)});
  client.add({.kind = "a", .max_attempts = 1});
  client.add({.kind = "a", .delay = std::chrono::hours(1), .unique_key = "k"});
  const auto full = [&] {
    client.add({.kind = "a"});
    return client.error == weir::errc::queue_full;
  };
  BOOST_TEST(full());
  BOOST_TEST(client.add({.kind = "a", .unique_key = "k"}).duplicate);  // takes no room
  const std::vector<weir::lease> got = client.take({.max = 2});
  BOOST_TEST_REQUIRE(got.size() == 2U);
  BOOST_TEST(!client.ack(got[0].key));
  BOOST_TEST(!client.nack(got[1].key));
  BOOST_TEST(full());  // a result and a dead letter are there
  time.advance(std::chrono::seconds(2));
  client.take();  // which forgets the result
  const std::array<weir::job_request, 2> two{weir::job_request{.kind = "b"}, {.kind = "b"}};
  client.add_all(two);
  BOOST_TEST((client.error == weir::errc::queue_full));
  BOOST_TEST(client.stats().ready == 0U);  // all or none
  BOOST_TEST(!full());
}

}  // namespace weir_test

#endif  // WEIR_TEST_QUEUE_CLIENT_HPP
