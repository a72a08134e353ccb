// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/test/for_each_seed.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using weir::test::seed_failure;
using weir::test::simulation;

BOOST_AUTO_TEST_SUITE(for_each_seed)

namespace {

/// Sets a variable of the environment for as long as it lives.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

std::vector<std::uint64_t> seeds_of(std::uint64_t count, std::uint64_t first = 1) {
  std::vector<std::uint64_t> seeds;
  weir::test::for_each_seed(count, [&](simulation& sim) { seeds.push_back(sim.seed()); },
                            {.first = first});
  return seeds;
}

/// A program with a fault that only one order shows: the write is lost when both read first.
void lost_update(simulation& sim) {
  int balance = 0;
  for (int i = 0; i < 2; ++i)
    asio::post(sim.get_executor(), [&] {
      const int read = balance;
      asio::post(sim.get_executor(), [&, read] { balance = read + 1; });
    });
  sim.run();
  if (balance != 2) throw std::runtime_error("an update was lost");
}

bool has(const std::exception& e, const std::string& text) {
  const bool found = std::string(e.what()).find(text) != std::string::npos;
  BOOST_TEST(found, e.what());
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(body_is_called_once_for_each_seed_in_order) {
  BOOST_TEST(seeds_of(4) == (std::vector<std::uint64_t>{1, 2, 3, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(seeds_of(2, 10) == (std::vector<std::uint64_t>{10, 11}),
             boost::test_tools::per_element());
  BOOST_TEST(seeds_of(0).empty());
}

BOOST_AUTO_TEST_CASE(failure_names_the_seed_the_cause_and_the_way_it_took) {
  std::uint64_t failing = 0;
  try {
    weir::test::for_each_seed(100, lost_update);
    BOOST_ERROR("the lost update was not found");
  } catch (const seed_failure& e) {
    failing = e.seed();
    has(e, "seed " + std::to_string(failing) + ": an update was lost");
    has(e, "WEIR_SEED=" + std::to_string(failing));
    has(e, "The last of its 4 steps:\n1 at +0.000 ms: a handler, made ready by a timer or from");
    has(e, "4 at +0.000 ms: a handler, made ready by step ");
    BOOST_CHECK_THROW(std::rethrow_if_nested(e), std::runtime_error);
  }
  // The number fails again, alone.
  simulation again(failing);
  BOOST_CHECK_THROW(lost_update(again), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(trace_can_be_left_out) {
  try {
    weir::test::for_each_seed(100, lost_update, {.trace = 0});
    BOOST_ERROR("the lost update was not found");
  } catch (const seed_failure& e) {
    BOOST_TEST(std::string(e.what()).find("steps") == std::string::npos, e.what());
  }
}

BOOST_AUTO_TEST_CASE(body_that_fails_only_once_is_said_to_depend_on_something_else) {
  int calls = 0;
  BOOST_CHECK_EXCEPTION(weir::test::for_each_seed(5,
                                                  [&](simulation&) {
                                                    if (++calls == 3) throw std::runtime_error("x");
                                                  }),
                        seed_failure,
                        [](const auto& e) { return e.seed() == 3 && has(e, "not drawn from it"); });
}

BOOST_AUTO_TEST_CASE(exception_that_is_no_std_exception_is_reported_too) {
  BOOST_CHECK_EXCEPTION(
      weir::test::for_each_seed(1, [](simulation&) { throw 1; }), seed_failure,
      [](const auto& e) { return has(e, "seed 1: an exception that is no std::exception"); });
}

BOOST_AUTO_TEST_CASE(environment_chooses_one_seed_or_how_many) {
  {
    const variable seed("WEIR_SEED", "77");
    BOOST_TEST(seeds_of(5) == std::vector<std::uint64_t>{77}, boost::test_tools::per_element());
  }
  {
    const variable seeds("WEIR_SEEDS", "3");
    BOOST_TEST(seeds_of(1000).size() == 3U);
  }
  {
    const variable most("WEIR_SEEDS_AT_MOST", "3");
    BOOST_TEST(seeds_of(1000).size() == 3U);
    BOOST_TEST(seeds_of(2).size() == 2U);
  }
  for (const char* wrong : {"x", "1x", "-1", "99999999999999999999"}) {
    const variable seed("WEIR_SEED", wrong);
    BOOST_CHECK_THROW(seeds_of(1), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_SUITE_END()
