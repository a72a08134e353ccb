// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PROMETHEUS_SOURCES_HPP
#define WEIR_PROMETHEUS_SOURCES_HPP

#include <prometheus/metric_family.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weir::detail {

/// By name, so that objects of one kind share a family, and a scrape is in the same order each
/// time.
using metric_families = std::map<std::string, ::prometheus::MetricFamily>;

/// What a collector reads, each with its name.
class prometheus_sources {
 public:
  using reader = std::function<void(metric_families&)>;

  /// \throws system_error with `invalid_argument` if there is one of that kind and name.
  std::uint64_t add(std::string kind, std::string name, reader read);

  /// Returns when nobody reads it any more.
  void remove(std::uint64_t id) noexcept;

  metric_families read();

 private:
  struct source {
    std::uint64_t id = 0;
    std::string kind;
    std::string name;
    reader read;
    int readers = 0;
    bool removed = false;
  };
  class reading;

  std::mutex mutex_;
  std::condition_variable idle_;
  std::uint64_t last_id_ = 0;
  std::vector<std::shared_ptr<source>> all_;
};

}  // namespace weir::detail

#endif  // WEIR_PROMETHEUS_SOURCES_HPP
