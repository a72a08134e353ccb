// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_QUEUE_PROGRAM_HPP
#define WEIR_TEST_QUEUE_PROGRAM_HPP

#include <weir/task_queue.hpp>
#include <weir/test/driver.hpp>
#include <weir/test/random.hpp>
#include <weir/test/simulation.hpp>

namespace weir_test {

/// Producers, workers and somebody who cancels jobs, with times and choices drawn from few values
/// so that they coincide, beside a model of what each job may do. Workers acknowledge, fail, give
/// back, or let the lease run out; some of them report too late. Checks at each step and, when all
/// has been drained, that no job is lost and none has come twice.
///
/// \param draw makes its choices
void run_queue_program(weir::test::driver& time, weir::test::random& draw, weir::task_queue& queue);

inline void run_queue_program(weir::test::simulation& sim, weir::task_queue& queue) {
  run_queue_program(sim, sim.draw(), queue);
}

}  // namespace weir_test

#endif  // WEIR_TEST_QUEUE_PROGRAM_HPP
