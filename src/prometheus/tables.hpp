// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PROMETHEUS_TABLES_HPP
#define WEIR_PROMETHEUS_TABLES_HPP

#include <weir/adaptive_limit.hpp>
#include <weir/circuit_breaker.hpp>
#include <weir/consumer.hpp>
#include <weir/keyed_rate_limiter.hpp>
#include <weir/queue_backend.hpp>
#include <weir/queue_metrics.hpp>
#include <weir/rate_limiter.hpp>
#include <weir/semaphore.hpp>
#include <weir/worker_pool.hpp>

#include <prometheus/metric_type.h>

#include <chrono>
#include <type_traits>

namespace weir::detail {

/// A line of what is exported of an `M`. Lines of one name are one family: their help and type are
/// the same, and the value of their label differs.
template <typename M>
struct metric_row {
  const char* name;
  ::prometheus::MetricType type;
  const char* help;
  double (*value)(const M&);
  const char* label = nullptr;
  const char* label_value = nullptr;
};

/// A histogram of an `M`.
template <typename M>
struct times_row {
  const char* name;
  const char* help;
  histogram M::*times;
};

template <typename M, auto First, auto... Rest>
double field(const M& m) {
  if constexpr (sizeof...(Rest) == 0)
    return static_cast<double>(m.*First);
  else
    return field<std::remove_cvref_t<decltype(m.*First)>, Rest...>(m.*First);
}

template <circuit State>
double stands_at(const breaker_metrics& m) {
  return m.state == State ? 1 : 0;
}

/// What is exported of an `M`: `label`, under which its name is given, `rows` and `times`. To
/// export more, add a line here and to doc/production.md; a test compares the two.
template <typename M>
struct metric_table;

constexpr auto gauge = ::prometheus::MetricType::Gauge;
constexpr auto counter = ::prometheus::MetricType::Counter;

template <>
struct metric_table<pool_metrics> {
  using m = pool_metrics;
  using r = rejection_counts;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "pool";
  static constexpr auto* ended = "Tasks that have ended, by how.";
  static constexpr auto* rejected = "Submissions turned down, by cause.";
  static constexpr metric_row<m> rows[] = {
      {"weir_pool_workers", gauge, "Tasks that may run at once.", get<&m::workers>},
      {"weir_pool_queue_size", gauge, "Tasks that may wait for a worker.", get<&m::queue_size>},
      {"weir_pool_active", gauge, "Tasks that run.", get<&m::active>},
      {"weir_pool_queued", gauge, "Tasks that wait for a worker.", get<&m::queued>},
      {"weir_pool_queued_max", gauge, "The most that ever waited.", get<&m::queued_max>},
      {"weir_pool_reserved", gauge, "Room held for tasks to come.", get<&m::reserved>},
      {"weir_pool_waiting", gauge, "Submitters that wait for room.", get<&m::waiting>},
      {"weir_pool_stuck", gauge, "Tasks that were told to stop and have not.", get<&m::stuck>},
      {"weir_pool_stand_ins", gauge, "Workers that stand in for stuck tasks.", get<&m::stand_ins>},
      {"weir_pool_hogging", gauge, "Tasks that hold a thread for too long.", get<&m::hogging>},
      {"weir_pool_overloaded", gauge, "Whether the newest task goes first.", get<&m::overloaded>},
      {"weir_pool_oldest_wait_seconds", gauge, "The longest wait of those that wait now.",
       [](const m& p) { return std::chrono::duration<double>(p.oldest_wait).count(); }},
      {"weir_pool_users", gauge, "Users that hold a slot.", get<&m::users>},
      {"weir_pool_tenants", gauge, "Tenants whose users hold a slot.", get<&m::tenants>},
      {"weir_pool_lanes", gauge, "Lanes that have a task.", get<&m::lanes>},
      {"weir_pool_in_lane", gauge, "Tasks that wait for their lane.", get<&m::in_lane>},
      {"weir_pool_submitted_total", counter, "Tasks accepted.", get<&m::submitted>},
      {"weir_pool_tasks_total", counter, ended, get<&m::completed>, "outcome", "completed"},
      {"weir_pool_tasks_total", counter, ended, get<&m::failed>, "outcome", "failed"},
      {"weir_pool_tasks_total", counter, ended, get<&m::timed_out>, "outcome", "timed_out"},
      {"weir_pool_tasks_total", counter, ended, get<&m::cancelled>, "outcome", "cancelled"},
      {"weir_pool_shed_total", counter, "Tasks cancelled since they had waited for too long.",
       get<&m::shed>},
      {"weir_pool_shed_codel_total", counter, "Those of them that were shed by CoDel.",
       get<&m::shed_codel>},
      {"weir_pool_hogged_total", counter, "Times that a task held a thread for too long.",
       get<&m::hogged>},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::closed>, "cause",
       "closed"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::user_limit>, "cause",
       "user_limit"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::user_queue>, "cause",
       "user_queue"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::tenant_limit>, "cause",
       "tenant_limit"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::lane_limit>, "cause",
       "lane_limit"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::queue_full>, "cause",
       "queue_full"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::invalid>, "cause",
       "invalid"},
      {"weir_pool_rejected_total", counter, rejected, get<&m::rejected, &r::cancelled>, "cause",
       "cancelled"},
  };
  static constexpr times_row<m> times[] = {
      {"weir_pool_queue_wait_seconds", "From acceptance to start.", &m::queue_wait},
      {"weir_pool_run_seconds", "From start to end.", &m::run_time},
  };
};

template <>
struct metric_table<queue_metrics> {
  using m = queue_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "queue";
  static constexpr auto* lost = "Items that were sent and are not to be received, by why.";
  static constexpr metric_row<m> rows[] = {
      {"weir_queue_size", gauge, "Items inside.", get<&m::size>},
      {"weir_queue_size_max", gauge, "The most items there ever were.", get<&m::max_size>},
      {"weir_queue_weight", gauge, "Weight of the items inside.", get<&m::weight>},
      {"weir_queue_in_sink", gauge, "Items spilled and not read back.", get<&m::in_sink>},
      {"weir_queue_waiting_senders", gauge, "Senders that wait for room.",
       get<&m::waiting_senders>},
      {"weir_queue_waiting_receivers", gauge, "Receivers that wait for an item.",
       get<&m::waiting_receivers>},
      {"weir_queue_closed", gauge, "Whether it is closed.", get<&m::closed>},
      {"weir_queue_offered_total", counter, "Sends.", get<&m::offered>},
      {"weir_queue_sent_total", counter, "Sends that succeeded.", get<&m::sent>},
      {"weir_queue_rejected_total", counter, "Sends that failed.", get<&m::rejected>},
      {"weir_queue_received_total", counter, "Items received.", get<&m::received>},
      {"weir_queue_dropped_total", counter, lost, get<&m::dropped_newest>, "which", "newest"},
      {"weir_queue_dropped_total", counter, lost, get<&m::dropped_oldest>, "which", "oldest"},
      {"weir_queue_dropped_total", counter, lost, get<&m::merged>, "which", "merged"},
      {"weir_queue_spilled_total", counter, "Items that went to the sink.", get<&m::spilled>},
      {"weir_queue_read_back_total", counter, "Items that came back.", get<&m::read_back>},
  };
};

template <>
struct metric_table<semaphore_metrics> {
  using m = semaphore_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "semaphore";
  static constexpr metric_row<m> rows[] = {
      {"weir_semaphore_limit", gauge, "Permits there are.", get<&m::limit>},
      {"weir_semaphore_in_use", gauge, "Permits given out.", get<&m::in_use>},
      {"weir_semaphore_waiting", gauge, "Those who wait for permits.", get<&m::waiting>},
  };
};

template <>
struct metric_table<rate_metrics> {
  using m = rate_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "limiter";
  static constexpr metric_row<m> rows[] = {
      {"weir_rate_limiter_available", gauge, "Tokens there are; negative: owed.",
       get<&m::available>},
      {"weir_rate_limiter_waiting", gauge, "Those who wait for tokens.", get<&m::waiting>},
  };
};

template <>
struct metric_table<keyed_rate_metrics> {
  using m = keyed_rate_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "limiter";
  static constexpr metric_row<m> rows[] = {
      {"weir_keyed_rate_limiter_keys", gauge, "Keys in the table.", get<&m::keys>},
      {"weir_keyed_rate_limiter_evicted_total", counter, "Keys that left the table.",
       get<&m::evicted>},
      {"weir_keyed_rate_limiter_no_place_total", counter,
       "Requests of new keys refused since the table was full.", get<&m::no_place>},
  };
};

template <>
struct metric_table<breaker_metrics> {
  using m = breaker_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "breaker";
  static constexpr auto* state = "1 for the state it is in.";
  static constexpr auto* calls = "Calls that have ended, by how.";
  static constexpr metric_row<m> rows[] = {
      {"weir_breaker_state", gauge, state, stands_at<circuit::closed>, "state", "closed"},
      {"weir_breaker_state", gauge, state, stands_at<circuit::open>, "state", "open"},
      {"weir_breaker_state", gauge, state, stands_at<circuit::half_open>, "state", "half_open"},
      {"weir_breaker_state", gauge, state, stands_at<circuit::disabled>, "state", "disabled"},
      {"weir_breaker_calls_total", counter, calls, get<&m::succeeded>, "outcome", "succeeded"},
      {"weir_breaker_calls_total", counter, calls, get<&m::failed>, "outcome", "failed"},
      {"weir_breaker_calls_total", counter, calls, get<&m::dropped>, "outcome", "dropped"},
      {"weir_breaker_calls_total", counter, calls, get<&m::late>, "outcome", "late"},
      {"weir_breaker_slow_calls_total", counter, "Calls that were slow.", get<&m::slow>},
      {"weir_breaker_refused_total", counter, "Calls refused.", get<&m::refused>},
      {"weir_breaker_transitions_total", counter, "Changes of state.", get<&m::transitions>},
  };
};

template <>
struct metric_table<adaptive_metrics> {
  using m = adaptive_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  template <duration m::*D>
  static double seconds(const m& metrics) {
    return std::chrono::duration<double>(metrics.*D).count();
  }
  static constexpr auto* label = "limit";
  static constexpr metric_row<m> rows[] = {
      {"weir_adaptive_limit", gauge, "The limit in force.", get<&m::limit>},
      {"weir_adaptive_limit_in_flight", gauge, "Calls that have begun and not ended.",
       get<&m::in_flight>},
      {"weir_adaptive_limit_waiting", gauge, "Those who wait for a place.", get<&m::waiting>},
      {"weir_adaptive_limit_samples_total", counter, "Calls that counted.", get<&m::samples>},
      {"weir_adaptive_limit_dropped_total", counter, "Those of them that were dropped.",
       get<&m::dropped>},
      {"weir_adaptive_limit_ignored_total", counter, "Calls that did not count.", get<&m::ignored>},
      {"weir_adaptive_limit_time_seconds", gauge, "How long calls take now.", seconds<&m::time>},
      {"weir_adaptive_limit_unloaded_time_seconds", gauge, "How long they take without load.",
       seconds<&m::unloaded_time>},
  };
};

template <>
struct metric_table<consumer_metrics> {
  using m = consumer_metrics;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "consumer";
  static constexpr auto* ended = "Jobs that have ended, by what became of them.";
  static constexpr metric_row<m> rows[] = {
      {"weir_consumer_running", gauge, "Whether it takes jobs.", get<&m::running>},
      {"weir_consumer_reserved", gauge, "Room in the pool held for jobs to come.",
       get<&m::reserved>},
      {"weir_consumer_in_flight", gauge, "Jobs leased and not reported on.", get<&m::in_flight>},
      {"weir_consumer_stuck", gauge, "Jobs that were told to stop and have not.", get<&m::stuck>},
      {"weir_consumer_leased_total", counter, "Jobs taken from the queue.", get<&m::leased>},
      {"weir_consumer_jobs_total", counter, ended, get<&m::acked>, "outcome", "acked"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::settled>, "outcome", "settled"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::retried>, "outcome", "retried"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::dead>, "outcome", "dead"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::snoozed>, "outcome", "snoozed"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::returned>, "outcome", "returned"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::lost>, "outcome", "lost"},
      {"weir_consumer_jobs_total", counter, ended, get<&m::unreported>, "outcome", "unreported"},
      {"weir_consumer_extended_total", counter, "Leases made longer.", get<&m::extended>},
      {"weir_consumer_queue_errors_total", counter, "Requests that failed in the queue's store.",
       get<&m::queue_errors>},
  };
};

/// Whether the last question that was put to a queue has been answered.
struct task_queue_health {
  bool up = false;
};

template <>
struct metric_table<task_queue_health> {
  static constexpr auto* label = "task_queue";
  static constexpr metric_row<task_queue_health> rows[] = {
      {"weir_task_queue_up", gauge, "Whether the queue answered.",
       &field<task_queue_health, &task_queue_health::up>},
  };
};

template <>
struct metric_table<queue_stats> {
  using m = queue_stats;
  template <auto... F>
  static constexpr auto get = &field<m, F...>;
  static constexpr auto* label = "task_queue";
  static constexpr auto* jobs = "Jobs, by state.";
  static constexpr metric_row<m> rows[] = {
      {"weir_task_queue_jobs", gauge, jobs, get<&m::ready>, "state", "ready"},
      {"weir_task_queue_jobs", gauge, jobs, get<&m::scheduled>, "state", "scheduled"},
      {"weir_task_queue_jobs", gauge, jobs, get<&m::leased>, "state", "leased"},
      {"weir_task_queue_jobs", gauge, jobs, get<&m::done>, "state", "done"},
      {"weir_task_queue_jobs", gauge, jobs, get<&m::cancelled>, "state", "cancelled"},
      {"weir_task_queue_jobs", gauge, jobs, get<&m::dead>, "state", "dead"},
  };
};

}  // namespace weir::detail

#endif  // WEIR_PROMETHEUS_TABLES_HPP
