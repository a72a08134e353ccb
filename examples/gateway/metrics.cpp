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

metrics::metrics(const sources& from)
    : from_(from),
      pool_(shown_.add(from.pool, "gateway")),
      consumer_(shown_.add(from.consumer, "gateway")) {}

std::vector<MetricFamily> metrics::own() const {
  const job_counts& j = from_.jobs;
  const account& a = from_.books.total();
  return {
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
  std::vector<MetricFamily> all = shown_.Collect();
  for (MetricFamily& f : own()) all.push_back(std::move(f));
  all.push_back(
      gauge("gateway_queue_up", "Whether the queue of jobs could be asked.", queue ? 1 : 0));
  if (queue) {
    MetricFamily jobs = family("gateway_queue_jobs", "Jobs, by state.", MetricType::Gauge);
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
