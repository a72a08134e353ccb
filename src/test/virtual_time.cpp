// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "wait_report.hpp"

#include <weir/test/virtual_time.hpp>

#include <algorithm>

namespace weir::test {

virtual_time::virtual_time() : driver(start_of_time) { make_context(); }

virtual_time::~virtual_time() {
  bells_.clear();
  // The latest first: what was made later may use what was made before.
  while (!own_.empty()) own_.pop_back();
}

boost::asio::io_context& virtual_time::make_context() {
  boost::asio::io_context& made = own_.emplace_back(1);
  adopt(made);
  return made;
}

void virtual_time::adopt(boost::asio::io_context& context) {
  bells_.push_back(std::make_unique<bell>(context));
}

void virtual_time::let_go(boost::asio::io_context& context) {
  std::erase_if(bells_, [&](const auto& b) { return &b->context() == &context; });
}

bool virtual_time::work_left() const {
  // Asio's own word: `settle` has asked each for what is ready.
  return std::any_of(bells_.begin(), bells_.end(),
                     [](const auto& b) { return !b->context().stopped(); });
}

std::size_t virtual_time::run_ready() {
  std::size_t handlers = 0;
  for (;;) {
    std::size_t ran = 0;
    // By index: a handler may add a context.
    for (std::size_t i = 0; i < bells_.size(); ++i) ran += bells_[i]->poll();
    if (ran == 0 && next_event_ && *next_event_ <= now()) ran = look_again();
    if (ran == 0) return handlers;
    handlers += ran;
  }
}

std::size_t virtual_time::look_again() {
  next_event_.reset();
  std::size_t ran = 0;
  for (std::size_t i = 0; i < bells_.size(); ++i) ran += bells_[i]->ring();
  return ran;
}

std::string virtual_time::outside() const { return real_waits(); }

}  // namespace weir::test
