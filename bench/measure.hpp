// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_BENCH_MEASURE_HPP
#define WEIR_BENCH_MEASURE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

/// The `--name value` pairs of a command line.
class arguments {
 public:
  /// \throws std::invalid_argument for anything that is not such a pair.
  arguments(int count, char** words);

  int number(const std::string& name, int otherwise) const;
  nanoseconds seconds() const;
  std::string text(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

/// What a program can measure, by side and scenario.
using scenario_table = std::map<std::pair<std::string, std::string>, void (*)(const arguments&)>;

/// The `main` of such a program: `PROGRAM SIDE SCENARIO [--flag value ...]`.
int main_of(const scenario_table& scenarios, int argc, char** argv);

/// Prints `result NAME VALUE UNIT`, the line that `bench/run` reads.
void result(std::string_view name, double value, std::string_view unit);

/// Blocks of memory asked for so far by the whole process; empty where this program does not
/// count them. What is counted is `malloc` and its kin, for Asio takes coroutine frames from
/// `aligned_alloc`, of which a replaced `operator new` would not know.
std::optional<std::uint64_t> allocations() noexcept;

/// Prints the allocations since `before`, for each of `n`, where this program counts them.
void result_allocations(std::optional<std::uint64_t> before, std::uint64_t n,
                        std::string_view unit);

struct memory_use {
  double resident = 0;   ///< bytes of the resident set
  double allocated = 0;  ///< bytes that `malloc` has handed out
};

memory_use memory_now();

/// The largest resident set so far, in bytes.
double peak_resident();

std::vector<std::string> user_names(int n);

/// The value below which the share `p` of the samples lies. Sorted input.
double percentile(const std::vector<std::int64_t>& sorted, double p);

/// One task of the heavy-tailed mix: steps of computation, or, where it is not zero, a wait.
struct work_item {
  std::uint64_t steps = 0;
  nanoseconds sleep{};
};

/// The mix. The same numbers come out in each language.
std::vector<work_item> make_mix(int n);

/// The moments of a Poisson process of so many events per second.
std::vector<nanoseconds> make_arrivals(int n, int per_second);

/// A fixed amount of work: each step needs the result of the one before it.
void spin(std::uint64_t steps) noexcept;

/// Waits for something that other threads bring about, without taking the processor from them.
template <typename Condition>
void wait_for(Condition condition);

/// Sleeps for about 50 µs.
void nap();

template <typename Condition>
void wait_for(Condition condition) {
  while (!condition()) nap();
}

}  // namespace bench

#endif  // WEIR_BENCH_MEASURE_HPP
