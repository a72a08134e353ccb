// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "wait_report.hpp"

#include <weir/test/leak_check.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace weir::test {

struct leak_check::state {
  explicit state(driver& d) : at(d.now()), coroutines(d.alive()) {
    d.settle();
    timer = d.next_event();
  }
  time_point at;
  sighting seen;
  std::vector<tag_pointer> coroutines;
  std::optional<time_point> timer;
};

leak_check::leak_check(driver& d)
    : driver_(d),
      exceptions_(std::uncaught_exceptions()),
      before_(std::make_unique<const state>(d)) {}

leak_check::~leak_check() noexcept(false) {
  if (before_ && std::uncaught_exceptions() == exceptions_) verify();
}

void leak_check::verify() {
  const auto before = std::exchange(before_, nullptr);
  if (!before) return;
  driver_.settle();
  std::string left;

  for (const tag_pointer& tag : driver_.alive())
    if (std::find(before->coroutines.begin(), before->coroutines.end(), tag) ==
        before->coroutines.end())
      left += "\n  coroutine " + tag->text();

  const sighting seen;
  for (const seen_wait& w : seen.waits()) {
    const auto& known = before->seen.waits();
    if (std::none_of(known.begin(), known.end(), [&](const seen_wait& k) {
          return k.object == w.object && k.what == w.what && k.since == w.since && k.tag == w.tag;
        }))
      left += "\n  waiter " + w.text() + ", " + w.who;
  }
  for (const seen_hold& h : seen.holds()) {
    std::size_t known = 0;
    for (const seen_hold& k : before->seen.holds())
      if (k.object == h.object && k.what == h.what) known = k.count;
    if (h.count > known)
      left += "\n  held: " + seen_hold{h.object, h.name, h.what, h.count - known}.text();
  }
  if (const auto timer = driver_.next_event(); timer && timer != before->timer)
    left += "\n  timer due at " + time_text(driver_, *timer);

  if (!left.empty())
    throw leak_error("left behind by what began at " + time_text(driver_, before->at) + ':' + left);
}

}  // namespace weir::test
