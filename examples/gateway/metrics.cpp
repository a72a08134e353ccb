// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <concepts>
#include <utility>

namespace gateway {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

namespace {

MetricFamily family(std::string name, std::string help, MetricType type) {
  MetricFamily f;
  f.name = std::move(name);
  f.help = std::move(help);
  f.type = type;
  return f;
}

MetricFamily gauge(std::string name, std::string help, std::integral auto value) {
  MetricFamily f = family(std::move(name), std::move(help), MetricType::Gauge);
  f.metric.emplace_back().gauge.value = static_cast<double>(value);
  return f;
}

MetricFamily counter(std::string name, std::string help, std::uint64_t value) {
  MetricFamily f = family(std::move(name), std::move(help), MetricType::Counter);
  f.metric.emplace_back().counter.value = static_cast<double>(value);
  return f;
}

MetricFamily counters(std::string name, std::string help, std::string label,
                      std::vector<std::pair<std::string, std::uint64_t>> values) {
  MetricFamily f = family(std::move(name), std::move(help), MetricType::Counter);
  for (auto& [label_value, value] : values) {
    ClientMetric& m = f.metric.emplace_back();
    m.label.push_back({label, std::move(label_value)});
    m.counter.value = static_cast<double>(value);
  }
  return f;
}

}  // namespace

std::vector<MetricFamily> metrics::Collect() const {
  const weir::pool_metrics m = from_.pool.metrics();
  const weir::consumer_metrics c = from_.consumer.metrics();
  const job_counts& j = from_.jobs;
  const account& a = from_.books.total();
  return {
      gauge("weir_pool_workers", "Tasks that may run at once.", m.workers),
      gauge("weir_pool_queue_size", "Tasks that may wait for a worker.", m.queue_size),
      gauge("weir_pool_active", "Tasks that run.", m.active),
      gauge("weir_pool_queued", "Tasks that wait for a worker.", m.queued),
      gauge("weir_pool_queued_max", "The most tasks that ever waited at once.", m.queued_max),
      gauge("weir_pool_waiting", "Submissions that wait for room in the queue.", m.waiting),
      gauge("weir_pool_users", "Users that hold a slot.", m.users),
      counter("weir_pool_submitted_total", "Tasks accepted.", m.submitted),
      counters("weir_pool_ended_total", "Tasks ended, by how.", "outcome",
               {{"completed", m.completed},
                {"failed", m.failed},
                {"timed_out", m.timed_out},
                {"cancelled", m.cancelled}}),
      counters("weir_pool_rejected_total", "Submissions turned down, by cause.", "cause",
               {{"closed", m.rejected.closed},
                {"user_limit", m.rejected.user_limit},
                {"lane_limit", m.rejected.lane_limit},
                {"queue_full", m.rejected.queue_full},
                {"invalid", m.rejected.invalid},
                {"cancelled", m.rejected.cancelled}}),
      gauge("weir_consumer_in_flight", "Jobs that are leased and not reported on.", c.in_flight),
      gauge("weir_consumer_stuck", "Jobs that do not end though they were told to.", c.stuck),
      counter("weir_consumer_leased_total", "Jobs taken from the queue.", c.leased),
      counters("weir_consumer_ended_total", "What became of them.", "outcome",
               {{"acked", c.acked},
                {"settled", c.settled},
                {"retried", c.retried},
                {"dead", c.dead},
                {"snoozed", c.snoozed},
                {"returned", c.returned},
                {"lost", c.lost},
                {"unreported", c.unreported}}),
      counter("weir_consumer_queue_errors_total", "Requests that failed in the queue's store.",
              c.queue_errors),
      counters("gateway_jobs_total", "Requests to enqueue a job, by answer.", "answer",
               {{"accepted", j.accepted},
                {"duplicate", j.duplicates},
                {"limited", j.limited},
                {"refused", j.refused}}),
      counter("gateway_requests_total", "Requests for work.", a.offered),
      counters("gateway_answers_total", "Answers to them, by status.", "status",
               {{"200", a.ok},
                {"429", a.limited},
                {"503", a.unavailable},
                {"504", a.timed_out},
                {"other", a.other},
                {"gone", a.gone}}),
      gauge("gateway_connections", "Connections that are open.", from_.connections.open),
      counter("gateway_connections_accepted_total", "Connections served.",
              from_.connections.accepted),
      counter("gateway_connections_refused_total", "Connections turned away.",
              from_.connections.refused),
  };
}

std::string metrics::to_text(const std::optional<weir::queue_stats>& queue) const {
  std::vector<MetricFamily> all = Collect();
  all.push_back(gauge("weir_queue_up", "Whether the queue of jobs could be asked.", queue ? 1 : 0));
  if (queue) {
    MetricFamily jobs = family("weir_queue_jobs", "Jobs, by state.", MetricType::Gauge);
    for (const auto& [state, count] :
         {std::pair("ready", queue->ready), std::pair("scheduled", queue->scheduled),
          std::pair("leased", queue->leased), std::pair("done", queue->done),
          std::pair("cancelled", queue->cancelled), std::pair("dead", queue->dead)}) {
      ClientMetric& m = jobs.metric.emplace_back();
      m.label.push_back({"state", state});
      m.gauge.value = static_cast<double>(count);
    }
    all.push_back(std::move(jobs));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace gateway
