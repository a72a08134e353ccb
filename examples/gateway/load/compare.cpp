// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "compare.hpp"

#include "tally.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <stdexcept>
#include <utility>

namespace gateway::load {

namespace {

struct column {
  const char* name;
  std::uint64_t account::*count;
};

constexpr column columns[] = {
    {"offered", &account::offered}, {"200", &account::ok},        {"429", &account::limited},
    {"503", &account::unavailable}, {"504", &account::timed_out}, {"other", &account::other},
    {"gone", &account::gone},
};

}  // namespace

account_map read_accounts(const std::string& file) {
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in) throw std::runtime_error("cannot read " + file);
  account_map accounts;
  const boost::json::value all = boost::json::parse(text);
  for (const auto& [name, counts] : all.at("users").as_object()) {
    account& a = accounts[std::string(name)];
    for (const column& c : columns)
      a.*c.count = boost::json::value_to<std::uint64_t>(counts.at(c.name));
  }
  return accounts;
}

bool compare(const account_map& client, const account_map& gateway, std::ostream& out) {
  account total;
  out << account_heading() << '\n';
  for (const auto& [name, a] : gateway) {
    out << account_row(name.empty() ? "(unknown)" : name, a) << '\n';
    for (const column& c : columns) total.*c.count += a.*c.count;
  }
  out << account_row("all", total) << '\n';

  std::set<std::string_view> names;
  for (const account_map* side : {&client, &gateway})
    for (const auto& [name, a] : *side) names.insert(name);
  const auto find = [](const account_map& side, std::string_view name) {
    const auto it = side.find(name);
    return it == side.end() ? account() : it->second;
  };
  bool agree = true;
  for (const std::string_view name : names) {
    const account theirs = find(client, name);
    const account ours = find(gateway, name);
    for (const column& c : columns) {
      if (theirs.*c.count == ours.*c.count) continue;
      agree = false;
      out << "they differ: user '" << name << "', " << c.name << ": client " << theirs.*c.count
          << ", gateway " << ours.*c.count << '\n';
    }
  }
  if (agree)
    out << "client and gateway agree on " << total.offered << " requests of " << gateway.size()
        << " users\n";
  return agree;
}

}  // namespace gateway::load
