// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "format.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace weirctl {

namespace {

void line(std::string& text, std::string_view name, std::string_view value) {
  if (!value.empty()) text.append(name).append(": ").append(value).append("\n");
}

std::string time_text(weir::wall_time t) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> buffer;
  return {buffer.data(), std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%SZ", &parts)};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      shown += c;
    } else {
      std::array<char, 5> escaped;
      std::snprintf(escaped.data(), escaped.size(), "\\x%02x", static_cast<unsigned char>(c));
      shown += escaped.data();
    }
  }
  return shown;
}

std::string to_line(const weir::queue_stats& s) {
  std::string text;
  const auto add = [&text](const char* name, std::size_t count) {
    if (!text.empty()) text += "  ";
    text.append(name).append(" ").append(std::to_string(count));
  };
  add("ready", s.ready);
  add("leased", s.leased);
  add("scheduled", s.scheduled);
  add("done", s.done);
  add("cancelled", s.cancelled);
  add("dead", s.dead);
  return text;
}

std::string per_second(double change, weir::duration time) {
  const double rate = change / std::chrono::duration<double>(time).count();
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%+.0f/s", std::round(rate));
  return text.data();
}

std::string to_row(const weir::job_status& s) {
  return std::to_string(s.job.id) + '\t' + printable(s.job.kind) + '\t' + printable(s.job.user) +
         '\t' + std::to_string(s.job.attempt) + '/' + std::to_string(s.job.max_attempts) + '\t' +
         printable(s.reason);
}

std::string to_text(const weir::job_status& s) {
  std::string text;
  line(text, "id", std::to_string(s.job.id));
  line(text, "state", weir::to_string(s.state));
  line(text, "kind", printable(s.job.kind));
  line(text, "user", printable(s.job.user));
  line(text, "priority", std::to_string(s.job.priority));
  line(text, "attempts", std::to_string(s.job.attempt) + '/' + std::to_string(s.job.max_attempts));
  line(text, "run at", time_text(s.job.run_at));
  line(text, "unique key", printable(s.job.unique_key));
  for (const weir::job_header& h : s.job.headers)
    line(text, "header " + printable(h.name), printable(h.value));
  line(text, "payload", printable(s.job.payload));
  line(text, "result", printable(s.result));
  line(text, "reason", printable(s.reason));
  return text;
}

}  // namespace weirctl
