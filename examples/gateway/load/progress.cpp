// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace gateway::load {

progress::progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

std::chrono::milliseconds progress::interval() const noexcept {
  return std::chrono::milliseconds(terminal_ ? 200 : 1000);
}

void progress::show(const tally& t, std::chrono::duration<double> since_start) const {
  const account a = t.total();
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fprintf(stderr,
               "%s%6.1f s  %llu answered   200: %llu   429: %llu   503: %llu   504: %llu   "
               "other: %llu%s",
               terminal_ ? "\r\x1b[K" : "", since_start.count(), n(a.offered - a.gone), n(a.ok),
               n(a.limited), n(a.unavailable), n(a.timed_out), n(a.other), terminal_ ? "" : "\n");
}

void progress::end() const {
  if (terminal_) std::fputc('\n', stderr);
}

}  // namespace gateway::load
