// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "wait_report.hpp"

#include <weir/detail/member_strand.hpp>
#include <weir/detail/worker.hpp>

#include <boost/asio/strand.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

namespace weir::test {

namespace asio = boost::asio;

namespace {

std::string place_text(const std::source_location& where) {
  return std::filesystem::path(where.file_name()).filename().string() + ':' +
         std::to_string(where.line());
}

/// Whose executor it is: the tag, where there is one, and a text in any case.
std::pair<const coroutine_tag*, std::string> owner_of(const asio::any_io_executor& executor) {
  if (const auto* tagged = executor.target<tagged_executor>())
    return {tagged->tag().get(), tagged->tag()->text()};
  if (const auto* task = executor.target<weir::detail::worker_executor>())
    if (const auto* record = task->owner().running())
      return {nullptr, "task '" + record->id + "' of user '" + record->user + "' (" +
                           place_text(record->spawned) + ')'};
  if (const auto* member = executor.target<weir::detail::member_executor>())
    return owner_of(member->strand().inner());
  if (const auto* strand = executor.target<asio::strand<asio::any_io_executor>>())
    return owner_of(strand->get_inner_executor());
  return {nullptr, "a handler or coroutine that the kit did not spawn"};
}

std::string of_name(const std::string& name) { return name.empty() ? name : " of '" + name + '\''; }

}  // namespace

std::string coroutine_tag::text() const {
  return '#' + std::to_string(number) + (name.empty() ? name : ' ' + name) + " (" +
         place_text(where) + ')';
}

std::string seen_wait::text() const { return '[' + what + ']' + of_name(name); }

std::string seen_hold::text() const { return std::to_string(count) + ' ' + what + of_name(name); }

sighting::sighting() {
  weir::detail::inspectable::ask_all(*this);
  // The list is in the order of addresses; a report is to read the same each time.
  std::stable_sort(waits_.begin(), waits_.end(), [](const seen_wait& a, const seen_wait& b) {
    return std::tie(a.since, a.who, a.what, a.name) < std::tie(b.since, b.who, b.what, b.name);
  });
  std::stable_sort(holds_.begin(), holds_.end(), [](const seen_hold& a, const seen_hold& b) {
    return std::tie(a.name, a.what) < std::tie(b.name, b.what);
  });
}

void sighting::on_wait(const void* object, std::string_view name, std::string_view what,
                       time_point since, const asio::any_io_executor& waiter) {
  auto [tag, who] = owner_of(waiter);
  waits_.push_back({object, std::string(name), std::string(what), since, tag, std::move(who)});
}

void sighting::on_hold(const void* object, std::string_view name, std::string_view what,
                       std::size_t count) {
  if (count != 0) holds_.push_back({object, std::string(name), std::string(what), count});
}

std::string time_text(const driver& d, time_point t) {
  const auto after = t - d.now() + d.elapsed();
  char text[32];
  std::snprintf(text, sizeof text, "%+.3f ms",
                std::chrono::duration<double, std::milli>(after).count());
  return text;
}

std::string deadlock_report(const driver& d, const std::string& outside) {
  std::ostringstream out;
  out << "deadlock at " << time_text(d, d.now())
      << ": work is left, but nothing is ready and no timer is pending";
  const sighting seen;
  std::set<const coroutine_tag*> waiting;
  for (const seen_wait& w : seen.waits()) {
    waiting.insert(w.tag);
    out << "\n  " << w.who << ' ' << w.text() << " since " << time_text(d, w.since);
  }
  for (const tag_pointer& tag : d.alive())
    if (!waiting.contains(tag.get()))
      out << "\n  " << tag->text() << " [not in weir] since " << time_text(d, tag->last_run);
  for (const seen_hold& h : seen.holds()) out << "\n  held: " << h.text();
  out << outside;
  return out.str();
}

// --- what the kernel tells -----------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

/// The value of a `key: value` line of a file under /proc, or nothing.
std::string value_of(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return {};
}

/// The descriptors that an epoll descriptor watches.
std::vector<int> watched_by(const fs::path& epoll_info) {
  std::vector<int> watched;
  std::ifstream in(epoll_info);
  for (std::string word; in >> word;)
    if (int fd = 0; word == "tfd:" && in >> fd) watched.push_back(fd);
  return watched;
}

/// Whether a timer descriptor of Asio's waits for something. It waits for five minutes at most, and
/// does so too when there is no timer at all: those cannot be told from longer ones.
bool is_pending(const fs::path& timer_info) {
  std::istringstream value(value_of(timer_info, "it_value: "));
  char bracket = 0;
  long seconds = 0;
  long nanoseconds = 0;
  value >> bracket >> seconds >> bracket >> nanoseconds;
  return seconds < 295 && (seconds != 0 || nanoseconds != 0);
}

}  // namespace

std::string real_waits() {
  std::ostringstream out;
  std::error_code none;
  const fs::path info = "/proc/self/fdinfo";
  for (const auto& entry : fs::directory_iterator(info, none)) {
    for (const int fd : watched_by(entry.path())) {
      const std::string number = std::to_string(fd);
      const std::string target = fs::read_symlink("/proc/self/fd/" + number, none).string();
      if (target.starts_with("socket:") || target.starts_with("pipe:"))
        out << "\n  outside: descriptor " << number << ", a " << target.substr(0, target.find(':'))
            << ", is waited for";
      else if (target == "anon_inode:[timerfd]" && is_pending(info / number))
        out << "\n  outside: a timer on the real clock is pending; did it mean to be a "
               "weir::steady_timer?";
    }
  }
  if (const std::string threads = value_of("/proc/self/status", "Threads:");
      !threads.empty() && std::stoi(threads) > 1)
    out << "\n  outside: " << std::stoi(threads) - 1 << " more threads exist in this process";
  return out.str();
}

}  // namespace weir::test
