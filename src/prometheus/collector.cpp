// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "prometheus/sources.hpp"
#include "prometheus/tables.hpp"

#include <weir/detail/require.hpp>
#include <weir/prometheus.hpp>

#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

namespace detail {

namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricType;

/// Upper bounds of buckets, in microseconds: round ones, since an objective is (`le="0.1"`).
constexpr std::array<std::int64_t, 22> bounds_us = {
    10,        25,        50,         100,        250,        500,        1'000,   2'500,
    5'000,     10'000,    25'000,     50'000,     100'000,    250'000,    500'000, 1'000'000,
    2'500'000, 5'000'000, 10'000'000, 25'000'000, 50'000'000, 100'000'000};

/// Whether `text` is UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4) return false;
    unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (int i = 0; i < more; ++i, low = 0x80, high = 0xbf) {
      if (at == text.size()) return false;
      const auto next = static_cast<unsigned char>(text[at++]);
      if (next < low || next > high) return false;
    }
  }
  return true;
}

ClientMetric& add_sample(metric_families& to, const char* name, const char* help, MetricType type,
                         const char* label, const std::string& value) {
  auto& family = to[name];
  family.name = name;
  family.help = help;
  family.type = type;
  auto& sample = family.metric.emplace_back();
  sample.label.push_back({label, value});
  return sample;
}

ClientMetric::Histogram cumulative(const histogram& times) {
  ClientMetric::Histogram h;
  h.sample_count = times.count();
  h.sample_sum = std::chrono::duration<double>(times.sum()).count();
  h.bucket.reserve(bounds_us.size());
  for (const std::int64_t us : bounds_us)
    h.bucket.push_back(
        {times.at_most(std::chrono::microseconds(us)), static_cast<double>(us) / 1'000'000});
  return h;
}

template <typename M>
void export_to(metric_families& to, const M& from, const std::string& name) {
  using table = metric_table<M>;
  for (const auto& row : table::rows) {
    auto& sample = add_sample(to, row.name, row.help, row.type, table::label, name);
    if (row.label) sample.label.push_back({row.label, row.label_value});
    (row.type == MetricType::Counter ? sample.counter.value : sample.gauge.value) = row.value(from);
  }
  if constexpr (requires { table::times; })
    for (const auto& row : table::times)
      add_sample(to, row.name, row.help, MetricType::Histogram, table::label, name).histogram =
          cumulative(from.*row.times);
}

/// One question to a queue at a time, and its answer until the next.
class queue_poll : public std::enable_shared_from_this<queue_poll> {
 public:
  explicit queue_poll(task_queue& queue) : queue_(queue) {}

  /// The answer to the last question, if it is there and not an error.
  std::optional<queue_stats> ask_again() {
    std::optional<queue_stats> answer;
    {
      const std::lock_guard lock(mutex_);
      if (asking_) return answer;
      asking_ = true;
      answer = answer_;
    }
    // Without the lock: a store is not ours.
    queue_.async_stats([self = shared_from_this()](error_code ec, const queue_stats& stats) {
      const std::lock_guard lock(self->mutex_);
      self->asking_ = false;
      self->answer_ = ec ? std::nullopt : std::optional(stats);
    });
    return answer;
  }

 private:
  task_queue& queue_;
  std::mutex mutex_;
  bool asking_ = false;
  std::optional<queue_stats> answer_;
};

void require_name(const std::string& name) {
  require(is_utf8(name), "prometheus_collector::add: a name that is not UTF-8");
}

}  // namespace

}  // namespace detail

prometheus_registration::prometheus_registration() noexcept = default;
prometheus_registration::prometheus_registration(
    std::shared_ptr<detail::prometheus_sources> sources, std::uint64_t id) noexcept
    : sources_(std::move(sources)), id_(id) {}
prometheus_registration::prometheus_registration(prometheus_registration&&) noexcept = default;
prometheus_registration& prometheus_registration::operator=(
    prometheus_registration&& other) noexcept {
  prometheus_registration taken(std::move(other));
  std::swap(sources_, taken.sources_);
  std::swap(id_, taken.id_);
  return *this;
}
prometheus_registration::~prometheus_registration() { remove(); }

void prometheus_registration::remove() noexcept {
  if (const auto from = std::exchange(sources_, nullptr)) from->remove(id_);
}

prometheus_collector::prometheus_collector()
    : sources_(std::make_shared<detail::prometheus_sources>()) {}
prometheus_collector::~prometheus_collector() = default;

template <typename Metrics>
prometheus_registration prometheus_collector::add(std::function<Metrics()> read, std::string name) {
  detail::require_name(name);
  auto show = [read = std::move(read), name](detail::metric_families& to) {
    detail::export_to(to, read(), name);
  };
  // Kinds that have a metric in common have a table in common.
  return {sources_,
          sources_->add(detail::metric_table<Metrics>::rows[0].name, name, std::move(show))};
}

template prometheus_registration prometheus_collector::add(std::function<queue_metrics()>,
                                                           std::string);
template prometheus_registration prometheus_collector::add(std::function<keyed_rate_metrics()>,
                                                           std::string);

prometheus_registration prometheus_collector::add(const worker_pool& pool, std::string name) {
  return add<pool_metrics>([&pool] { return pool.metrics(); }, std::move(name));
}
prometheus_registration prometheus_collector::add(const semaphore& s, std::string name) {
  return add<semaphore_metrics>([&s] { return s.metrics(); }, std::move(name));
}
prometheus_registration prometheus_collector::add(const rate_limiter& limiter, std::string name) {
  return add<rate_metrics>([&limiter] { return limiter.metrics(); }, std::move(name));
}
prometheus_registration prometheus_collector::add(const circuit_breaker& breaker,
                                                  std::string name) {
  return add<breaker_metrics>([&breaker] { return breaker.metrics(); }, std::move(name));
}
prometheus_registration prometheus_collector::add(const adaptive_limit& limit, std::string name) {
  return add<adaptive_metrics>([&limit] { return limit.metrics(); }, std::move(name));
}
prometheus_registration prometheus_collector::add(const consumer& c, std::string name) {
  return add<consumer_metrics>([&c] { return c.metrics(); }, std::move(name));
}

prometheus_registration prometheus_collector::add(task_queue& queue, std::string name) {
  detail::require_name(name);
  const auto poll = std::make_shared<detail::queue_poll>(queue);
  auto show = [poll, name](detail::metric_families& to) {
    const auto stats = poll->ask_again();
    detail::export_to(to, detail::task_queue_health{stats.has_value()}, name);
    if (stats) detail::export_to(to, *stats, name);
  };
  prometheus_registration added{sources_, sources_->add("task_queue", name, std::move(show))};
  poll->ask_again();
  return added;
}

std::vector<::prometheus::MetricFamily> prometheus_collector::Collect() const {
  std::vector<::prometheus::MetricFamily> all;
  for (auto& [name, family] : sources_->read()) all.push_back(std::move(family));
  return all;
}

std::string prometheus_text(const ::prometheus::Collectable& from) {
  return ::prometheus::TextSerializer().Serialize(from.Collect());
}

}  // namespace weir
