// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "pool_fixture.hpp"
#include "scratch_directory.hpp"

#include <weir/job_handlers.hpp>
#include <weir/memory_queue.hpp>
#include <weir/prometheus.hpp>
#include <weir/test/boost_test.hpp>
#include <weir/test/random.hpp>

#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(prometheus_collector)

namespace {

using namespace std::chrono_literals;
using weir_test::sleeper;
using weir_test::task_of;
using family = ::prometheus::MetricFamily;
using ::prometheus::MetricType;

const family* find(const std::vector<family>& all, const std::string& name) {
  for (const family& f : all)
    if (f.name == name) return &f;
  return nullptr;
}

/// All counters, and the counts of histograms, by name and labels.
std::map<std::string, double> counts(const std::vector<family>& all) {
  std::map<std::string, double> out;
  for (const family& f : all)
    for (const auto& sample : f.metric) {
      std::string key = f.name;
      for (const auto& label : sample.label) key += ',' + label.name + '=' + label.value;
      if (f.type == MetricType::Counter) out[key] = sample.counter.value;
      if (f.type != MetricType::Histogram) continue;
      out[key] = static_cast<double>(sample.histogram.sample_count);
      for (const auto& b : sample.histogram.bucket)
        out[key + ",le=" + std::to_string(b.upper_bound)] = static_cast<double>(b.cumulative_count);
    }
  return out;
}

void check_agrees(const ::prometheus::ClientMetric& sample, const weir::histogram& times) {
  const auto& h = sample.histogram;
  BOOST_TEST(h.sample_count == times.count());
  BOOST_TEST(h.sample_sum == std::chrono::duration<double>(times.sum()).count());
  std::uint64_t below = 0;
  for (const auto& b : h.bucket) {
    BOOST_TEST(below <= b.cumulative_count);
    below = b.cumulative_count;
  }
  BOOST_TEST(below <= h.sample_count);
}

}  // namespace

BOOST_AUTO_TEST_CASE(promtool_accepts_every_kind_under_the_most_awkward_names) {
  weir::test::virtual_time time;
  const auto ex = time.get_executor();
  weir::worker_pool pool(ex);
  weir::worker_pool other(ex);
  weir::semaphore semaphore(ex, 3);
  weir::rate_limiter rate({.rate = 5});
  weir::keyed_rate_limiter<std::string> keyed({.rate = 5});
  weir::circuit_breaker breaker(weir::breaker_options{});
  weir::adaptive_limit limit(ex, weir::gradient_options{});
  weir::bounded_queue<int> queue(ex, 3);
  weir::memory_queue jobs(ex);
  weir::job_handlers handlers;
  handlers.on("mail", [](weir::job_context&) -> boost::asio::awaitable<void> { co_return; });
  weir::consumer consumer(jobs, pool, handlers);

  weir::prometheus_collector collector;
  std::vector<weir::prometheus_registration> shown;
  for (const std::string name : {"plain", "\"quoted\"", "two\nlines", "back\\slash\\n",
                                 "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9f", "", "}{,=#"}) {
    shown.push_back(collector.add(pool, name));
    shown.push_back(collector.add(semaphore, name));
    shown.push_back(collector.add(rate, name));
    shown.push_back(collector.add(keyed, name));
    shown.push_back(collector.add(breaker, name));
    shown.push_back(collector.add(limit, name));
    shown.push_back(collector.add(queue, name));
    shown.push_back(collector.add(jobs, name));
    shown.push_back(collector.add(consumer, name));
  }
  shown.push_back(collector.add(other, "another"));
  BOOST_REQUIRE(!pool.submit(task_of("anna", sleeper(1ms))));
  time.run();

  const std::string text = prometheus_text(collector);
  BOOST_TEST(text.find("weir_pool_tasks_total{pool=\"plain\",outcome=\"completed\"} 1\n") !=
             text.npos);
  BOOST_TEST(text.find("weir_pool_tasks_total{pool=\"another\",outcome=\"completed\"} 0\n") !=
             text.npos);
  BOOST_TEST(text.find("{pool=\"two\\nlines\"}") != text.npos);
  BOOST_TEST(text.find("weir_task_queue_jobs{task_queue=\"plain\",state=\"ready\"} 0\n") !=
             text.npos);

  const weir_test::scratch_directory directory;
  const std::string file = (directory.path() / "metrics").string();
  std::ofstream(file) << text;
  BOOST_TEST(std::system(("promtool check metrics < " + file).c_str()) == 0);
  time.run();
}

BOOST_AUTO_TEST_CASE(a_name_that_would_have_the_scrape_refused_is_refused) {
  weir::test::virtual_time time;
  weir::semaphore s(time.get_executor(), 1);
  weir::rate_limiter r({.rate = 1});
  weir::prometheus_collector collector;
  const auto refused = [&](const std::string& name) {
    try {
      (void)collector.add(s, name);
    } catch (const boost::system::system_error& e) {
      return e.code() == weir::errc::invalid_argument;
    }
    return false;
  };
  auto a = collector.add(s, "a");
  const auto same_name = collector.add(r, "a");
  BOOST_TEST(refused("a"));
  for (const char* name : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5", "\xc3(", "\xff"})
    BOOST_TEST(refused(name));
  a.remove();
  BOOST_TEST(!a);
  BOOST_TEST(!refused("a"));
  BOOST_TEST(collector.Collect().size() == 2U);
}

BOOST_AUTO_TEST_CASE(objects_collector_and_registrations_go_in_any_order_that_is_allowed) {
  weir::test::virtual_time time;
  auto collector = std::make_shared<weir::prometheus_collector>();
  auto pool = std::make_unique<weir::worker_pool>(time.get_executor());
  auto shown = collector->add(*pool, "a");
  BOOST_TEST(find(collector->Collect(), "weir_pool_active"));

  weir::prometheus_registration moved = std::move(shown);
  shown = std::move(moved);
  BOOST_TEST(find(collector->Collect(), "weir_pool_active"));
  shown = {};
  BOOST_TEST(collector->Collect().empty());
  pool.reset();
  BOOST_TEST(collector->Collect().empty());

  pool = std::make_unique<weir::worker_pool>(time.get_executor());
  shown = collector->add(*pool, "a");
  collector.reset();
  shown.remove();
  shown.remove();
}

BOOST_AUTO_TEST_CASE(a_task_queue_is_asked_at_each_scrape_and_shows_the_answer_to_the_one_before) {
  weir::test::virtual_time time;
  std::optional<weir::memory_queue> queue(std::in_place, time.get_executor());
  weir::prometheus_collector collector;
  auto shown = collector.add(*queue, "q");
  const auto up = [](const std::vector<family>& all) {
    return find(all, "weir_task_queue_up")->metric.at(0).gauge.value;
  };
  auto scrape = collector.Collect();
  BOOST_TEST(up(scrape) == 0);  // nothing has run that could answer
  BOOST_TEST(!find(scrape, "weir_task_queue_jobs"));
  time.run();
  queue->async_enqueue({.kind = "mail"}, [](weir::error_code, weir::enqueued) {});
  time.run();
  scrape = collector.Collect();
  BOOST_TEST(up(scrape) == 1);
  BOOST_TEST(find(scrape, "weir_task_queue_jobs")->metric.at(0).gauge.value == 0);
  time.run();
  scrape = collector.Collect();
  BOOST_TEST(find(scrape, "weir_task_queue_jobs")->metric.at(0).gauge.value == 1);
  time.run();
  queue->close();
  (void)collector.Collect();
  time.run();
  BOOST_TEST(up(collector.Collect()) == 0);

  // The object may go with a question under way.
  shown.remove();
  queue.reset();
  time.run();
}

WEIR_SIMULATION_TEST_CASE(counters_never_fall_and_histograms_agree_with_the_snapshot, 300) {
  weir::worker_pool pool(sim.get_executor(), {.workers = 2,
                                              .queue_size = 2,
                                              .max_per_user = 3,
                                              .task_timeout = 2ms,
                                              .max_queue_wait = 2ms});
  weir::prometheus_collector collector;
  const auto shown = collector.add(pool, "p");
  std::map<std::string, double> before;
  const auto scrape = [&] {
    const auto all = collector.Collect();
    const auto now = counts(all);
    for (const auto& [key, value] : before) BOOST_TEST(value <= now.at(key), key);
    before = now;
    const weir::pool_metrics m = pool.metrics();
    check_agrees(find(all, "weir_pool_queue_wait_seconds")->metric.at(0), m.queue_wait);
    check_agrees(find(all, "weir_pool_run_seconds")->metric.at(0), m.run_time);
    BOOST_TEST(before.at("weir_pool_submitted_total,pool=p") == static_cast<double>(m.submitted));
  };
  auto& random = sim.draw();
  auto drive = [&]() -> boost::asio::awaitable<void> {
    for (int i = 0; i < 12; ++i) {
      (void)pool.submit(
          task_of(i % 2 ? "anna" : "ben", sleeper(std::chrono::milliseconds(random.below(4)))));
      if (random.below(2)) co_await weir_test::sleep_for(1ms);
      scrape();
    }
  };
  sim.spawn(drive());
  sim.run();
  scrape();
  BOOST_TEST(before.at("weir_pool_submitted_total,pool=p") +
                 before.at("weir_pool_rejected_total,pool=p,cause=queue_full") +
                 before.at("weir_pool_rejected_total,pool=p,cause=user_limit") ==
             12);
}

BOOST_AUTO_TEST_SUITE_END()
