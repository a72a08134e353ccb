// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_REDIS_CASE_HPP
#define WEIR_TEST_REDIS_CASE_HPP

#include "queue_client.hpp"
#include "redis_fixture.hpp"

#include <weir/redis_queue.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir_test {

/// Queues in the server that all cases share, on virtual time.
struct redis_case {
  served_time time;
  std::string name = fresh_name();
  std::vector<std::unique_ptr<weir::redis_queue>> queues;
  bool destroyed = false;  ///< the context of `time`

  redis_case() = default;
  redis_case(const redis_case&) = delete;
  redis_case& operator=(const redis_case&) = delete;
  ~redis_case() {
    queues.clear();
    time.silence = std::chrono::milliseconds(0);
    if (!destroyed) time.settle();
  }

  weir::redis_queue& open(std::string_view url, weir::redis_queue_options options = {}) {
    options.name = name;
    queues.push_back(std::make_unique<weir::redis_queue>(time.get_executor(), url, options));
    return *queues.back();
  }
  weir::redis_queue& open() { return open(shared_server().url()); }

  std::string key(const std::string& of) const { return "weir:{" + name + "}:" + of; }
  static std::string run(const std::vector<std::string>& command) {
    return shared_server().run(command);
  }

  /// As `queue_client`, but lets time pass.
  template <typename T, typename F>
  T wait_for(weir::error_code& ec, F start) {
    answer<T> a;
    start(a.handler());
    for (int i = 0; i != 1000 && !a.code; ++i) time.run_for(std::chrono::milliseconds(100));
    BOOST_TEST_REQUIRE(a.code.has_value());
    ec = *a.code;
    return std::move(a.value);
  }

  /// What enqueueing comes to.
  weir::error_code enqueue_error(weir::task_queue& queue) {
    weir::error_code ec;
    wait_for<weir::enqueued>(ec, [&](auto h) { queue.async_enqueue({.kind = "a"}, std::move(h)); });
    return ec;
  }

 private:
  static std::string fresh_name() {
    static int count = 0;
    return "q" + std::to_string(++count);
  }
};

}  // namespace weir_test

#endif  // WEIR_TEST_REDIS_CASE_HPP
