// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "measure.hpp"

#include <malloc.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace bench {

namespace {

constexpr std::uint64_t mix_seed = 20240229;
constexpr std::uint64_t arrival_seed = 7;
constexpr double timer_share = 0.005;
constexpr double shortest = 1;    // µs of computation, at least
constexpr double longest = 5000;  // and at most
constexpr double steps_per_usec = 600;

/// SplitMix64.
class random {
 public:
  explicit random(std::uint64_t seed) noexcept : state_(seed) {}

  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace

arguments::arguments(int count, char** words) {
  for (int i = 0; i < count; i += 2) {
    const std::string_view flag = words[i];
    if (!flag.starts_with("--") || i + 1 == count)
      throw std::invalid_argument("not a flag with a value: " + std::string(flag));
    values_[std::string(flag.substr(2))] = words[i + 1];
  }
}

int arguments::number(const std::string& name, int otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::stoi(found->second);
}

nanoseconds arguments::seconds() const {
  const auto found = values_.find("seconds");
  const double s = found == values_.end() ? 0.6 : std::stod(found->second);
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(s));
}

std::string arguments::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

int main_of(const scenario_table& scenarios, int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SIDE SCENARIO [--flag value ...]\n", argv[0]);
    return 2;
  }
  try {
    if (const auto found = scenarios.find({argv[1], argv[2]}); found != scenarios.end()) {
      found->second(arguments(argc - 3, argv + 3));
      return 0;
    }
    std::fprintf(stderr, "%s: no scenario %s for %s\n", argv[0], argv[2], argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  }
  return 1;
}

void result(std::string_view name, double value, std::string_view unit) {
  std::printf("result %.*s %.6g %.*s\n", static_cast<int>(name.size()), name.data(), value,
              static_cast<int>(unit.size()), unit.data());
  std::fflush(stdout);
}

void result_allocations(std::optional<std::uint64_t> before, std::uint64_t n,
                        std::string_view unit) {
  if (const auto after = allocations(); after && before)
    result("allocations", static_cast<double>(*after - *before) / static_cast<double>(n), unit);
}

memory_use memory_now() {
  std::ifstream statm("/proc/self/statm");
  long size = 0;
  long resident = 0;
  if (!(statm >> size >> resident)) throw std::runtime_error("cannot read /proc/self/statm");
  const auto heap = ::mallinfo2();
  return {static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)),
          static_cast<double>(heap.uordblks + heap.hblkhd)};
}

double peak_resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  throw std::runtime_error("no VmHWM in /proc/self/status");
}

std::vector<std::string> user_names(int n) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) names.push_back("u" + std::to_string(i));
  return names;
}

double percentile(const std::vector<std::int64_t>& sorted, double p) {
  const double last = static_cast<double>(sorted.size() - 1);
  return static_cast<double>(sorted[static_cast<std::size_t>(p * last + 0.5)]);
}

std::vector<work_item> make_mix(int n) {
  random numbers(mix_seed);
  std::vector<work_item> items(static_cast<std::size_t>(n));
  for (work_item& item : items) {
    const bool is_timer = numbers.uniform() < timer_share;
    const double u = numbers.uniform();
    if (is_timer) {
      item.sleep = nanoseconds(static_cast<std::int64_t>((1 + 9 * u) * 1e6));
    } else {
      // A Pareto law with exponent 1, bounded, by inversion.
      const double micros = shortest / (1 - u * (1 - shortest / longest));
      item.steps = static_cast<std::uint64_t>(micros * steps_per_usec);
    }
  }
  return items;
}

std::vector<nanoseconds> make_arrivals(int n, int per_second) {
  random numbers(arrival_seed);
  std::vector<nanoseconds> moments(static_cast<std::size_t>(n));
  double at = 0;
  for (nanoseconds& moment : moments) {
    at += -std::log(1 - numbers.uniform()) / per_second;
    moment = nanoseconds(static_cast<std::int64_t>(at * 1e9));
  }
  return moments;
}

void spin(std::uint64_t steps) noexcept {
  std::uint64_t x = steps;
  for (std::uint64_t i = 0; i < steps; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  // Volatile, so that the loop is not found to be useless.
  [[maybe_unused]] volatile std::uint64_t result = x;
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

}  // namespace bench
