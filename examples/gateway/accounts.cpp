// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "accounts.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace gateway {

namespace {

boost::json::object to_object(const account& a) {
  return {{"offered", a.offered}, {"200", a.ok},      {"429", a.limited}, {"503", a.unavailable},
          {"504", a.timed_out},   {"other", a.other}, {"gone", a.gone}};
}

}  // namespace

void accounts::answered(std::string_view user, unsigned status) {
  for (account* a : {&of(user), &total_}) {
    ++a->offered;
    ++a->of(status);
  }
}

void accounts::abandoned(std::string_view user) {
  for (account* a : {&of(user), &total_}) {
    ++a->offered;
    ++a->gone;
  }
}

void accounts::undelivered(std::string_view user, unsigned status) {
  for (account* a : {&of(user), &total_}) {
    --a->of(status);
    ++a->gone;
  }
}

std::string accounts::to_json() const {
  boost::json::object users;
  for (const auto& [name, a] : by_user_) users.emplace(name, to_object(a));
  boost::json::object all;
  all.emplace("users", std::move(users));
  all.emplace("total", to_object(total_));
  return boost::json::serialize(all) + '\n';
}

account& accounts::of(std::string_view user) {
  if (const auto it = by_user_.find(user); it != by_user_.end()) return it->second;
  // One more than the bound: the shared account itself.
  return by_user_[by_user_.size() < max_users_ ? std::string(user) : "*"];
}

}  // namespace gateway
