// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_JOB_HPP
#define WEIR_JOB_HPP

#include <weir/clock.hpp>
#include <weir/wall_clock.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir {

/// The number of a job in its queue: above 0, greater than that of each job accepted before it, and
/// never given twice.
using job_id = std::int64_t;

/// What travels with a job beside its payload, such as a trace id.
struct job_header {
  std::string name;
  std::string value;
  bool operator==(const job_header&) const = default;
};

/// What to enqueue.
///
/// All of it is copied during the call. The type is trivially destructible on purpose: one written
/// inside a `co_await` expression is then safe with g++ 12 (see README).
struct job_request {
  std::string_view kind = {};     ///< which handler is to run it; not empty
  std::string_view payload = {};  ///< any bytes; the queue does not look inside
  std::string_view user = {};     ///< whose slot in the pool it will take
  int priority = 0;               ///< the greater goes first

  /// The time of day before which it does not run; empty: `delay` from now.
  std::optional<wall_time> run_at = {};
  duration delay = {};

  /// How often it may be begun before it is a dead letter. A process that is killed by the job
  /// counts, for attempts are counted when the job is leased.
  int max_attempts = 20;

  /// While a job holds this key, enqueueing another with it yields that job's id. Empty: none.
  std::string_view unique_key = {};

  /// For how long from now the job holds the key, whatever becomes of it. Zero: until it has
  /// ended: done, cancelled, or a dead letter.
  duration unique_for = {};

  /// For how long its state and result can be asked for when it is done or cancelled. Zero: it is
  /// forgotten at once.
  duration keep = {};

  std::span<const job_header> headers = {};
};

static_assert(std::is_trivially_destructible_v<job_request>);

/// A job as the queue holds it.
struct job {
  job_id id = 0;
  std::string kind = {};
  std::string payload = {};
  std::string user = {};
  int priority = 0;
  wall_time run_at = {};  ///< when it was, or is, to run next
  int attempt = 0;        ///< how often it has been begun, this time included
  int max_attempts = 0;
  std::string unique_key = {};
  duration keep = {};
  std::vector<job_header> headers = {};
};

/// Where a job is in its life. The values are stored: they stay as they are.
enum class job_state {
  ready = 2,      ///< may be leased
  leased = 3,     ///< somebody runs it
  scheduled = 4,  ///< becomes ready at its `run_at`
  done = 5,       ///< acknowledged
  cancelled = 6,  ///< taken back
  dead = 7,       ///< a dead letter: given up, and kept until somebody decides
};

/// The name of a state, as above.
std::string_view to_string(job_state s) noexcept;

/// What `async_find` and the list of dead letters tell.
struct job_status {
  weir::job job = {};
  job_state state = job_state::ready;
  std::string result = {};  ///< given with the acknowledgement
  std::string reason = {};  ///< why it failed last
};

/// What became of a `job_request`.
struct enqueued {
  job_id id = 0;

  /// Nothing was added: the job `id` holds the unique key. It may have ended by now, where the key
  /// is held for a time.
  bool duplicate = false;
};

}  // namespace weir

#endif  // WEIR_JOB_HPP
