// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Shows a pool of the installed library to Prometheus.

#include <weir/prometheus.hpp>

#include <iostream>
#include <string>

int main() {
  weir::worker_pool pool({.workers = 2});
  weir::prometheus_collector collector;
  const auto shown = collector.add(pool, "mine");
  const std::string text = prometheus_text(collector);
  std::cout << text;
  return text.find("weir_pool_workers{pool=\"mine\"} 2\n") == text.npos;
}
