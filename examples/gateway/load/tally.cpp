// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "tally.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

namespace gateway::load {

namespace {

std::string format(const char* pattern, auto... values) {
  const int size = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, values...);
  return text;
}

void add(account& sum, const account& a) {
  sum.offered += a.offered;
  sum.ok += a.ok;
  sum.limited += a.limited;
  sum.unavailable += a.unavailable;
  sum.timed_out += a.timed_out;
  sum.other += a.other;
  sum.gone += a.gone;
}

}  // namespace

float quantile(std::vector<float> latencies, double share) {
  if (latencies.empty()) return 0;
  const auto rank =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(latencies.size())));
  const auto nth =
      latencies.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(latencies.begin(), nth, latencies.end());
  return *nth;
}

void tally::answered(const std::string& user, unsigned status, std::chrono::duration<float> took) {
  user_tally& t = users_[user];
  ++t.counts.offered;
  ++t.counts.of(status);
  t.latencies_ms.push_back(took.count() * 1000);
}

void tally::broken(const std::string& user) {
  user_tally& t = users_[user];
  ++t.counts.offered;
  ++t.counts.gone;
}

void tally::unsent(const std::string& user) { ++users_[user].unsent; }

account tally::total() const {
  account sum;
  for (const auto& [name, t] : users_) add(sum, t.counts);
  return sum;
}

std::uint64_t tally::total_unsent() const {
  std::uint64_t sum = 0;
  for (const auto& [name, t] : users_) sum += t.unsent;
  return sum;
}

std::string tally::to_json() const {
  boost::json::object users;
  for (const auto& [name, t] : users_) {
    const account& a = t.counts;
    users.emplace(name, boost::json::object{{"offered", a.offered},
                                            {"200", a.ok},
                                            {"429", a.limited},
                                            {"503", a.unavailable},
                                            {"504", a.timed_out},
                                            {"other", a.other},
                                            {"gone", a.gone},
                                            {"unsent", t.unsent},
                                            {"p50_ms", quantile(t.latencies_ms, 0.5)},
                                            {"p99_ms", quantile(t.latencies_ms, 0.99)}});
  }
  boost::json::object all;
  all.emplace("users", std::move(users));
  all.emplace("refused_connections", refused_);
  return boost::json::serialize(all) + '\n';
}

std::string tally::to_table() const {
  std::string table = account_heading() + "    p50 ms    p99 ms  unsent\n";
  std::vector<float> all;
  for (const auto& [name, t] : users_) {
    table += account_row(name, t.counts);
    table += format("%10.2f%10.2f%8llu\n", static_cast<double>(quantile(t.latencies_ms, 0.5)),
                    static_cast<double>(quantile(t.latencies_ms, 0.99)),
                    static_cast<unsigned long long>(t.unsent));
    all.insert(all.end(), t.latencies_ms.begin(), t.latencies_ms.end());
  }
  table += account_row("all", total());
  table += format("%10.2f%10.2f%8llu\n", static_cast<double>(quantile(all, 0.5)),
                  static_cast<double>(quantile(all, 0.99)),
                  static_cast<unsigned long long>(total_unsent()));
  return table;
}

std::string account_heading() {
  return format("%-12s%9s%9s%9s%9s%9s%8s%8s", "user", "offered", "200", "429", "503", "504",
                "other", "broken");
}

std::string account_row(std::string_view name, const account& a) {
  const auto n = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  return format("%-12s%9llu%9llu%9llu%9llu%9llu%8llu%8llu", std::string(name).c_str(), n(a.offered),
                n(a.ok), n(a.limited), n(a.unavailable), n(a.timed_out), n(a.other), n(a.gone));
}

}  // namespace gateway::load
