// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/for_each_seed.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

namespace weir::test {

namespace {

std::optional<std::uint64_t> from_environment(const char* name) {
  const char* const value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  const std::string_view text(value);
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(std::string(name) + '=' + value + " is not a number");
  return number;
}

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// What the second run of a seed that has failed tells of it.
std::string second_run(std::uint64_t seed, const std::function<void(simulation&)>& body,
                       const seed_options& options) {
  simulation_options traced = options.simulation;
  traced.trace = options.trace;
  simulation again(seed, traced);
  std::string text;
  try {
    body(again);
    text = "\nThe same seed did not fail when it was run again: something is not drawn from it.";
  } catch (...) {
    text = "\nRun it alone with WEIR_SEED=" + std::to_string(seed);
  }
  if (options.trace != 0)
    text += "\nThe last of its " + std::to_string(again.steps()) + " steps:\n" + again.trace();
  return text;
}

}  // namespace

void for_each_seed(std::uint64_t count, const std::function<void(simulation&)>& body,
                   const seed_options& options) {
  std::uint64_t first = options.first;
  count = from_environment("WEIR_SEEDS").value_or(count);
  if (const auto most = from_environment("WEIR_SEEDS_AT_MOST")) count = std::min(count, *most);
  if (const auto alone = from_environment("WEIR_SEED")) {
    first = *alone;
    count = 1;
  }
  for (std::uint64_t seed = first; seed - first < count; ++seed) {
    try {
      simulation sim(seed, options.simulation);
      body(sim);
    } catch (...) {
      const std::string what = text_of_current_exception();
      std::throw_with_nested(seed_failure(
          seed, "seed " + std::to_string(seed) + ": " + what + second_run(seed, body, options)));
    }
  }
}

}  // namespace weir::test
