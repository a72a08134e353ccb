// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "weir_side.hpp"

#include "scenarios.hpp"

namespace bench {

bool run_weir(const std::string& scenario, const arguments& args) {
  return run_scenario<weir_side>(scenario, args);
}

}  // namespace bench
