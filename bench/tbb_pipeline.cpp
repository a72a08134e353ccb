// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The computing mix through oneTBB's `parallel_pipeline`; `pipeline.cpp` does it with weir.

#include "cpu_mix.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include <cstdint>

namespace tbb = oneapi::tbb;

namespace bench {

namespace {

void computing_mix(const arguments& args) {
  cpu_mix mix(args);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, cpu_mix::threads);
  using item = std::uint64_t;
  auto next = mix.steps().begin();
  const auto read = [&](tbb::flow_control& flow) -> item {
    if (next != mix.steps().end()) return *next++;
    flow.stop();
    return 0;
  };
  mix.measure([&] {
    tbb::parallel_pipeline(
        cpu_mix::window,
        tbb::make_filter<void, item>(tbb::filter_mode::serial_in_order, read) &
            tbb::make_filter<item, item>(tbb::filter_mode::parallel, &cpu_mix::compute) &
            tbb::make_filter<item, void>(tbb::filter_mode::serial_in_order,
                                         [&](item computed) { mix.take(computed); }));
  });
}

}  // namespace

}  // namespace bench

int main(int argc, char** argv) {
  return bench::main_of({{{"tbb", "pipe_cpu"}, bench::computing_mix}}, argc, argv);
}
