// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "prometheus/sources.hpp"

#include <weir/detail/require.hpp>

#include <algorithm>
#include <utility>

namespace weir::detail {

std::uint64_t prometheus_sources::add(std::string kind, std::string name, reader read) {
  auto added = std::make_shared<source>();
  added->kind = std::move(kind);
  added->name = std::move(name);
  added->read = std::move(read);
  const std::lock_guard lock(mutex_);
  require(
      std::ranges::none_of(
          all_, [&](const auto& s) { return s->kind == added->kind && s->name == added->name; }),
      "prometheus_collector::add: there is one of that name");
  all_.push_back(added);
  return added->id = ++last_id_;
}

void prometheus_sources::remove(std::uint64_t id) noexcept {
  std::shared_ptr<source> removed;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  const auto at = std::ranges::find(all_, id, [](const auto& s) { return s->id; });
  if (at == all_.end()) return;
  removed = std::move(*at);
  all_.erase(at);
  removed->removed = true;
  idle_.wait(lock, [&] { return removed->readers == 0; });
}

/// Keeps a source from being removed. A count and no lock, since reading calls what is not ours.
class prometheus_sources::reading {
 public:
  reading(prometheus_sources& all, source& s) : all_(all), source_(s) {
    const std::lock_guard lock(all_.mutex_);
    if (source_.removed) return;
    ++source_.readers;
    begun_ = true;
  }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
  ~reading() {
    if (!begun_) return;
    const std::lock_guard lock(all_.mutex_);
    if (--source_.readers == 0) all_.idle_.notify_all();
  }

  explicit operator bool() const noexcept { return begun_; }

 private:
  prometheus_sources& all_;
  source& source_;
  bool begun_ = false;
};

metric_families prometheus_sources::read() {
  std::vector<std::shared_ptr<source>> all;
  {
    const std::lock_guard lock(mutex_);
    all = all_;
  }
  metric_families families;
  for (const auto& s : all) {
    const reading hold(*this, *s);
    if (hold) s->read(families);
  }
  return families;
}

}  // namespace weir::detail
