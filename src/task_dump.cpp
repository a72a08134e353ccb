// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/task_dump.hpp>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <ostream>
#include <utility>

namespace weir {

namespace {

/// Of a path, what a reader looks for.
std::string_view file_of(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return path.substr(path.find_last_of('/') + 1);
}

std::string seconds(duration d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  const auto digits = std::to_string(std::abs(ms % 1000));
  return (ms < 0 ? "-" : "") + std::to_string(std::abs(ms / 1000)) + '.' +
         std::string(3 - digits.size(), '0') + digits + 's';
}

}  // namespace

std::string_view to_string(task_state s) noexcept {
  switch (s) {
    case task_state::queued:
      return "queued";
    case task_state::in_lane:
      return "in lane";
    case task_state::running:
      return "running";
    case task_state::stopping:
      return "stopping";
    case task_state::stuck:
      return "stuck";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, const task_dump& dump) {
  out << "pool '" << dump.pool << "': " << dump.tasks.size() << " tasks\n";
  for (const task_info& t : dump.tasks) {
    out << "  " << std::left << std::setw(8) << to_string(t.state) << " '" << t.id << "' of '"
        << t.user << "', priority " << t.priority << ", age " << seconds(t.age);
    if (!t.lane.empty()) out << ", lane '" << t.lane << '\'';
    if (t.state != task_state::queued && t.state != task_state::in_lane)
      out << ", ran " << seconds(t.ran);
    if (t.left) out << ", deadline in " << seconds(*t.left);
    if (t.cause != cancel_cause::none) out << ", asked to stop: " << to_string(t.cause);
    out << ", from " << file_of(t.spawned) << ':' << t.spawned.line();
    if (t.hogs != duration::zero()) out << ", holds its thread for " << seconds(t.hogs);
    if (!t.waits_for.empty()) out << ", waits for " << t.waits_for;
    out << '\n';
  }
  return out;
}

std::vector<task_growth> growth(const task_dump& before, const task_dump& after) {
  std::map<std::pair<std::string_view, std::uint_least32_t>, task_growth> lines;
  const auto count = [&lines](const task_dump& dump, std::ptrdiff_t step) {
    for (const task_info& t : dump.tasks) {
      task_growth& line = lines[{t.spawned.file_name(), t.spawned.line()}];
      line.spawned = t.spawned;
      line.change += step;
      if (step > 0) ++line.now;
    }
  };
  count(before, -1);
  count(after, 1);
  std::vector<task_growth> changed;
  for (const auto& [where, line] : lines)
    if (line.change != 0) changed.push_back(line);
  std::stable_sort(changed.begin(), changed.end(),
                   [](const task_growth& a, const task_growth& b) { return a.change > b.change; });
  return changed;
}

}  // namespace weir
