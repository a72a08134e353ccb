// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_LAG_PROBE_HPP
#define WEIR_LAG_PROBE_HPP

#include <weir/clock.hpp>
#include <weir/histogram.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>

namespace weir {

namespace detail {
class lag_probe_state;
class lag_probe_thread;
}  // namespace detail

struct lag_probe_options {
  /// From one probe to the next; below 1 ms becomes 1 ms.
  duration every = std::chrono::milliseconds(100);
};

/// What a probe has measured so far.
struct lag_snapshot {
  histogram lag;      ///< of the probes that have come back, and of those held back behind them
  duration now = {};  ///< the age of the one that is out; where none is, what the last one took
};

/// Measures how long a handler that is ready waits for a thread of an executor: it posts one at
/// each tick, and looks how long that takes to run. An executor whose handlers block, or compute
/// for long, shows here first.
///
/// At most one is out at a time. The ticks at which none could be posted are counted when it comes
/// back, each with the time that a handler posted then would have waited: a stall of one
/// second counts as ten of 1.0 s, 0.9 s, ... with ten probes a second, not as one against a day of
/// good ones. Of a longer stall than 10,000 ticks those that waited longest are counted.
///
/// The ticks come from a thread apart: a timer on the executor that is probed would be late
/// whenever a probe is, and so ask only when all is well. For the same reason an idle `io_context`
/// is not kept from running out of work: nothing is pending there but a handler that is ready. One
/// that has run out of work, or is not run, shows as lag.
///
/// Ends with its destructor. A probe that is out then runs as a handler that does nothing.
///
/// Lifetime: the context of the executor may be destroyed first, while nobody else runs it; what
/// was measured stays.
///
/// Thread safety: distinct objects: safe. Shared object: `snapshot` safe.
///
/// Source: the correction for what was held back is that of HdrHistogram ("coordinated omission"):
/// G. Tene.
class lag_probe {
 public:
  /// Starts at once, with a thread of its own.
  ///
  /// \throws std::system_error if that cannot be started.
  explicit lag_probe(boost::asio::any_io_executor probed, lag_probe_options options = {});

  /// The same with ticks from `timers`, which is not to be held up by what is probed: for programs
  /// that have a context for timers, and for tests that stop the clock. A context that is run
  /// until it is out of work is kept running.
  lag_probe(boost::asio::any_io_executor probed, boost::asio::any_io_executor timers,
            lag_probe_options options);

  lag_probe(const lag_probe&) = delete;
  lag_probe& operator=(const lag_probe&) = delete;
  ~lag_probe();

  lag_snapshot snapshot() const;

 private:
  std::unique_ptr<detail::lag_probe_thread> thread_;
  std::shared_ptr<detail::lag_probe_state> state_;
};

}  // namespace weir

#endif  // WEIR_LAG_PROBE_HPP
