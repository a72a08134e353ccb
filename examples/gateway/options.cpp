// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "options.hpp"

namespace gateway {

common::flags make_flags(options& o) {
  common::flags f;
  connection_limits& l = o.limits;
  f.text("--address", o.address, "address to listen on (127.0.0.1)");
  f.number<std::uint16_t>("--port", o.port, 0, "port to listen on; 0: any free one (8080)");
  f.number<std::int32_t>("--admin", o.admin, 0,
                         "port on 127.0.0.1 to look at the pool with a browser (none)");
  f.number("--workers", o.pool.workers, 1, "tasks that run at once (4 a CPU)");
  f.number("--threads", o.pool.threads, 0, "threads under them; 0: one each (0)");
  f.number("--queue-size", o.pool.queue_size, 1, "tasks that wait; one more is 503 (100)");
  f.number("--per-user", o.pool.max_per_user, 0,
           "tasks of one user; one more is 429; 0: no cap (2)");
  f.number("--queued-per-user", o.pool.max_queued_per_user, 0,
           "of those, tasks that wait; one more is 429; 0: no limit (0)");
  f.number("--per-tenant", o.pool.max_per_tenant, 0,
           "tasks of users TENANT/NAME; one more is 429; 0: no cap (0)");
  f.time("--task-timeout", o.pool.task_timeout, "a task that takes longer is 504 (30s)");
  f.time("--grace", o.pool.grace, "for a cancelled task to end (5s)");
  f.time("--shutdown-deadline", o.shutdown_deadline, "after SIGTERM, for what is accepted (30s)");
  f.number<std::size_t>("--connections", l.connections, 1, "open at once; one more is 503 (1024)");
  f.number<std::size_t>("--header-limit", l.header, 256, "bytes of a header; more is 431 (8192)");
  f.number<std::size_t>("--body-limit", l.body, 0, "bytes of a body; more is 413 (1048576)");
  f.number<std::size_t>("--requests", l.requests, 1, "on one connection, then it closes (1000)");
  f.time("--header-time", l.header_time, "for a header to arrive; later is 408 (5s)");
  f.time("--body-time", l.body_time, "for a body to arrive; later is 408 (10s)");
  f.time("--idle-time", l.idle_time, "between requests; then the connection closes (60s)");
  f.time("--write-time", l.write_time, "for a client to take its answer (10s)");
  f.time("--linger-time", l.linger_time, "for a client to close after the gateway has (1s)");
  f.texts("--allow", o.allow, "HOST:PORT that fetch may ask; repeatable (loopback, any port)");
  f.text("--accounts", o.accounts_file, "file for the accounts at the end (standard output)");
  job_options& j = o.jobs;
  f.text("--queue", j.queue,
         "of jobs: FILE, redis://HOST[:PORT][/DB] or memory: (gateway-jobs.db)");
  f.number<std::size_t>("--jobs", j.capacity, 0,
                        "in the queue; one more is 503; 0: no cap (100000)");
  f.number<std::int64_t>("--job-rate", j.rate, 0,
                         "jobs a second of one user; more are 429; 0: no cap (100)");
  f.number("--job-attempts", j.attempts, 1, "at a job that fails, before it is dead (5)");
  f.time("--job-keep", j.keep, "for results and idempotency keys (60min)");
  f.time("--job-lease", j.lease, "until the jobs of a gateway that died run again (30s)");
  return f;
}

}  // namespace gateway
