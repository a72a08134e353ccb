// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PROMETHEUS_HPP
#define WEIR_PROMETHEUS_HPP

#include <weir/adaptive_limit.hpp>
#include <weir/bounded_queue.hpp>
#include <weir/circuit_breaker.hpp>
#include <weir/consumer.hpp>
#include <weir/keyed_rate_limiter.hpp>
#include <weir/rate_limiter.hpp>
#include <weir/semaphore.hpp>
#include <weir/task_queue.hpp>
#include <weir/worker_pool.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir {

namespace detail {
class prometheus_sources;
}  // namespace detail

/// Keeps an object in a `prometheus_collector`; its destructor takes it out. It must go before the
/// object does: declare it after the object. It may outlive the collector.
///
/// Thread safety: distinct objects: safe. Shared object: unsafe.
class prometheus_registration {
 public:
  /// Of nothing.
  prometheus_registration() noexcept;
  prometheus_registration(prometheus_registration&& other) noexcept;
  prometheus_registration& operator=(prometheus_registration&& other) noexcept;
  ~prometheus_registration();

  /// Takes the object out. Waits for a scrape that reads it just then; once it returns the object
  /// may be destroyed. Not from what a scrape calls.
  void remove() noexcept;

  explicit operator bool() const noexcept { return sources_ != nullptr; }

 private:
  friend class prometheus_collector;
  prometheus_registration(std::shared_ptr<detail::prometheus_sources> sources,
                          std::uint64_t id) noexcept;

  std::shared_ptr<detail::prometheus_sources> sources_;
  std::uint64_t id_ = 0;
};

/// Shows objects of weir to Prometheus, under the names that doc/production.md lists.
///
/// \code
/// weir::worker_pool pool;
/// const auto shown = collector->add(pool, "accounts");  // pool="accounts"
/// exposer.RegisterCollectable(collector);
/// \endcode
///
/// A scrape takes one snapshot of each object, which is of one instant, and holds no lock of the
/// collector meanwhile. Times are in seconds. A time is counted to a bucket's bound if it is at
/// most an eighth above it, since weir's own buckets are that wide; `_count` and `_sum` are exact.
///
/// A name is the value of a label: any text in UTF-8. `add` throws system_error with
/// `invalid_argument` if it is not UTF-8, or if an object of that kind has it already: either would
/// have the whole scrape refused.
///
/// Lifetime: the registration goes before its object; collector and registrations in any order.
/// To hold the objects weakly instead was turned down: a scrape could then be the last to hold a
/// pool, and would end it on its own thread.
///
/// Thread safety: distinct objects: safe. Shared object: safe, except construction and destruction.
class prometheus_collector final : public ::prometheus::Collectable {
 public:
  prometheus_collector();
  prometheus_collector(const prometheus_collector&) = delete;
  prometheus_collector& operator=(const prometheus_collector&) = delete;
  ~prometheus_collector() override;

  [[nodiscard]] prometheus_registration add(const worker_pool& pool, std::string name);
  [[nodiscard]] prometheus_registration add(const semaphore& s, std::string name);
  [[nodiscard]] prometheus_registration add(const rate_limiter& limiter, std::string name);
  [[nodiscard]] prometheus_registration add(const circuit_breaker& breaker, std::string name);
  [[nodiscard]] prometheus_registration add(const adaptive_limit& limit, std::string name);
  [[nodiscard]] prometheus_registration add(const consumer& c, std::string name);

  template <typename T>
  [[nodiscard]] prometheus_registration add(const bounded_queue<T>& queue, std::string name) {
    return add<queue_metrics>([&queue] { return queue.metrics(); }, std::move(name));
  }

  template <typename Key, typename Hash, typename Equal>
  [[nodiscard]] prometheus_registration add(const keyed_rate_limiter<Key, Hash, Equal>& limiter,
                                            std::string name) {
    return add<keyed_rate_metrics>([&limiter] { return limiter.metrics(); }, std::move(name));
  }

  /// A queue's store is not asked while a scrape waits: a scrape shows the answer to the question
  /// that the one before it put, and puts the next. Where that has failed, or is not there yet, it
  /// shows `weir_task_queue_up` as 0, and no counts. The first is put here.
  ///
  /// Lifetime: a question is an operation of the queue like any other.
  [[nodiscard]] prometheus_registration add(task_queue& queue, std::string name);

  std::vector<::prometheus::MetricFamily> Collect() const override;

 private:
  template <typename Metrics>
  prometheus_registration add(std::function<Metrics()> read, std::string name);

  std::shared_ptr<detail::prometheus_sources> sources_;
};

/// What a scrape gets, in the text format of Prometheus: the body of `GET /metrics`, with
/// `Content-Type: text/plain; version=0.0.4`. For those who have a server of their own.
std::string prometheus_text(const ::prometheus::Collectable& from);

}  // namespace weir

#endif  // WEIR_PROMETHEUS_HPP
