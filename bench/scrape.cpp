// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The throughput of a pool while somebody looks at its metrics a thousand times a second.

#include "scenarios.hpp"
#include "weir_side.hpp"

#include <weir/prometheus.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace bench {

namespace {

struct by_metrics {
  weir::worker_pool& pool;
  void operator()() const { (void)pool.metrics(); }
};

struct by_collector {
  explicit by_collector(weir::worker_pool& pool) : shown(collector->add(pool, "pool")) {}
  void operator()() const { (void)collector->Collect(); }

  std::shared_ptr<weir::prometheus_collector> collector =
      std::make_shared<weir::prometheus_collector>();
  weir::prometheus_registration shown;
};

/// A pool that is scraped for as long as it is there.
template <typename Scrape>
class scraped : public weir_side {
 public:
  explicit scraped(const side_options& options) : weir_side(options), scrape_{pool()} {}

  ~scraped() {
    thread_.request_stop();
    thread_.join();
    result(
        "scrapes",
        static_cast<double>(count_) / std::chrono::duration<double>(clock::now() - start_).count(),
        "per_s");
  }

 private:
  static constexpr auto period = std::chrono::milliseconds(1);

  const clock::time_point start_ = clock::now();
  std::uint64_t count_ = 0;
  Scrape scrape_;
  std::jthread thread_{[this](const std::stop_token& stop) {
    // One that comes late is not left out.
    for (auto next = start_; !stop.stop_requested(); ++count_) {
      scrape_();
      std::this_thread::sleep_until(next += period);
    }
  }};
};

void throughput_by_kind(const arguments& args) {
  const std::string kind = args.text("kind");
  if (kind == "alone") return throughput<weir_side>(args);
  if (kind == "metrics") return throughput<scraped<by_metrics>>(args);
  if (kind == "collector") return throughput<scraped<by_collector>>(args);
  throw std::invalid_argument("throughput: --kind alone, metrics or collector");
}

const scenario_table scenarios = {{{"weir", "throughput"}, throughput_by_kind}};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) { return bench::main_of(bench::scenarios, argc, argv); }
