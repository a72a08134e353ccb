// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "snapshot.hpp"

#include <weir/cancel_cause.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>
#include <utility>

namespace weir::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t name_limit = 256;  // bytes of a name that are shown

double milliseconds(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

std::string pool_name(const worker_pool& pool, std::size_t index) {
  const std::string& name = pool.options().name;
  return name.empty() ? "pool " + std::to_string(index + 1) : shown(name, name_limit);
}

/// How long the UTF-8 sequence at the front of `text` is; 0 if there is no valid one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  // Too long a form, a surrogate, or beyond the last code point.
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

json::array users_of(const task_dump& dump, std::size_t most) {
  struct slots {
    std::uint64_t active = 0, queued = 0;
    std::uint64_t total() const { return active + queued; }
  };
  std::map<std::string_view, slots> users;
  for (const task_info& t : dump.tasks) {
    const bool waits = t.state == task_state::queued || t.state == task_state::in_lane;
    ++(waits ? users[t.user].queued : users[t.user].active);
  }
  std::vector<std::pair<std::string_view, slots>> top(users.begin(), users.end());
  const auto shown_end = top.begin() + static_cast<std::ptrdiff_t>(std::min(most, top.size()));
  std::partial_sort(top.begin(), shown_end, top.end(), [](const auto& a, const auto& b) {
    return a.second.total() > b.second.total() ||
           (a.second.total() == b.second.total() && a.first < b.first);
  });
  json::array all;
  for (auto i = top.begin(); i != shown_end; ++i)
    all.push_back(json::object{{"user", shown(i->first, name_limit)},
                               {"active", i->second.active},
                               {"queued", i->second.queued}});
  return all;
}

json::object task_as_json(const task_info& t) {
  const std::string_view path = t.spawned.file_name();
  json::object o{{"id", shown(t.id, name_limit)},
                 {"user", shown(t.user, name_limit)},
                 {"priority", t.priority},
                 {"state", to_string(t.state)},
                 {"age_ms", milliseconds(t.age)},
                 {"ran_ms", milliseconds(t.ran)},
                 {"spawned", shown(path.substr(path.find_last_of('/') + 1), name_limit) + ':' +
                                 std::to_string(t.spawned.line())},
                 {"waits_for", shown(t.waits_for, name_limit)}};
  if (t.left) o["left_ms"] = milliseconds(*t.left);
  if (t.cause != cancel_cause::none) o["cause"] = to_string(t.cause);
  return o;
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  constexpr std::string_view unknown = "\xef\xbf\xbd", more = "\xe2\x80\xa6";
  std::string result;
  std::size_t cut = 0;  // up to here there is room for `more` behind it
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    result.append(length == 0 ? unknown : text.substr(0, length));
    if (result.size() > most) return result.replace(cut, result.npos, more);
    if (result.size() + more.size() <= most) cut = result.size();
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

admin_snapshots::admin_snapshots(const std::vector<const worker_pool*>& pools,
                                 std::size_t top_users)
    : pools_(pools), top_users_(top_users), waits_(pools.size()) {}

std::string admin_snapshots::next() {
  json::array all;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const pool_metrics m = pools_[i]->metrics();
    const task_dump dump = pools_[i]->dump();
    const histogram recent = m.queue_wait.since(waits_[i]);
    waits_[i] = m.queue_wait;
    json::object waits{{"count", recent.count()}, {"oldest_ms", milliseconds(m.oldest_wait)}};
    if (recent.count() > 0) {
      waits["p50_ms"] = milliseconds(recent.quantile(0.5));
      waits["p99_ms"] = milliseconds(recent.quantile(0.99));
    }
    all.push_back(json::object{{"name", pool_name(*pools_[i], i)},
                               {"closed", pools_[i]->closed()},
                               {"workers", m.workers},
                               {"active", m.active},
                               {"queued", m.queued},
                               {"queue_size", m.queue_size},
                               {"waiting", m.waiting},
                               {"stuck", m.stuck},
                               {"submitted", m.submitted},
                               {"completed", m.completed},
                               {"failed", m.failed},
                               {"timed_out", m.timed_out},
                               {"cancelled", m.cancelled},
                               {"shed", m.shed},
                               {"waits", std::move(waits)},
                               {"rejected", json::object{{"closed", m.rejected.closed},
                                                         {"user_limit", m.rejected.user_limit},
                                                         {"user_queue", m.rejected.user_queue},
                                                         {"tenant_limit", m.rejected.tenant_limit},
                                                         {"lane_limit", m.rejected.lane_limit},
                                                         {"queue_full", m.rejected.queue_full},
                                                         {"invalid", m.rejected.invalid},
                                                         {"cancelled", m.rejected.cancelled}}},
                               {"users", m.users},
                               {"top_users", users_of(dump, top_users_)}});
  }
  return json::serialize(
      json::object{{"time_ms", milliseconds(steady_clock::now().time_since_epoch())},
                   {"pools", std::move(all)}});
}

std::string tasks_as_json(const std::vector<const worker_pool*>& pools, std::size_t most) {
  json::array all;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const task_dump dump = pools[i]->dump();
    json::array tasks;
    for (std::size_t t = 0; t < std::min(most, dump.tasks.size()); ++t)
      tasks.push_back(task_as_json(dump.tasks[t]));
    all.push_back(json::object{{"name", pool_name(*pools[i], i)},
                               {"total", dump.tasks.size()},
                               {"tasks", std::move(tasks)}});
  }
  return json::serialize(json::object{{"pools", std::move(all)}});
}

std::string tasks_as_text(const std::vector<const worker_pool*>& pools, std::size_t most) {
  std::ostringstream out;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    task_dump dump = pools[i]->dump();
    const std::size_t left_out = dump.tasks.size() - std::min(most, dump.tasks.size());
    dump.tasks.resize(dump.tasks.size() - left_out);
    for (task_info& t : dump.tasks) {
      t.id = shown(t.id, name_limit);
      t.user = shown(t.user, name_limit);
      // A line is a task, and a terminal obeys what it is shown.
      const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
      std::replace_if(t.id.begin(), t.id.end(), control, '?');
      std::replace_if(t.user.begin(), t.user.end(), control, '?');
    }
    out << dump;
    if (left_out > 0) out << "  and " << left_out << " more\n";
  }
  return std::move(out).str();
}

}  // namespace weir::detail
