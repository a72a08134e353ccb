// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_FOR_EACH_SEED_HPP
#define WEIR_TEST_FOR_EACH_SEED_HPP

#include <weir/test/simulation.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace weir::test {

/// Thrown by `for_each_seed`; holds what the body threw as its nested exception.
class seed_failure : public std::runtime_error {
 public:
  seed_failure(std::uint64_t seed, const std::string& text)
      : std::runtime_error(text), seed_(seed) {}

  /// The seed that fails.
  std::uint64_t seed() const noexcept { return seed_; }

 private:
  std::uint64_t seed_;
};

struct seed_options {
  /// The first seed; the others follow it.
  std::uint64_t first = 1;

  /// How each run is treated.
  simulation_options simulation = {};

  /// Lines of the failing run's trace that go into the failure; 0: none.
  std::size_t trace = 40;
};

/// Calls `body` with a simulation for each of `count` seeds. The first for which it throws is run
/// once more, traced, and reported; nothing is tried in its place.
///
/// The environment may choose: `WEIR_SEED=n` runs that seed alone, `WEIR_SEEDS=n` that many instead
/// of `count`, for a nightly run, and `WEIR_SEEDS_AT_MOST=n` no more than that, for a slow build.
///
/// \throws seed_failure with the seed, what the body threw and the trace; if the second run does
/// not fail too, it says so: the body then depends on something that is not drawn from the seed.
/// \throws std::invalid_argument if a variable of the environment is no number.
void for_each_seed(std::uint64_t count, const std::function<void(simulation&)>& body,
                   const seed_options& options = {});

}  // namespace weir::test

#endif  // WEIR_TEST_FOR_EACH_SEED_HPP
