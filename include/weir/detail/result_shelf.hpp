// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_RESULT_SHELF_HPP
#define WEIR_DETAIL_RESULT_SHELF_HPP

#include <weir/pipeline/options.hpp>
#include <weir/reorder_window.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace weir::detail {

/// Results that wait for the next stage, in the order in which they are to go on.
template <typename T>
class result_shelf {
 public:
  explicit result_shelf(const result_order& order) {
    if (order.rule != result_order::by::input) return;
    window_.emplace(order.window);
    ring_.resize(window_->places());
  }

  /// An item begins. \returns its ticket.
  std::uint64_t enter() noexcept { return window_ ? window_->enter() : 0; }

  void put(std::uint64_t ticket, T&& result) {
    if (!window_)
      fifo_.push_back(std::move(result));
    else if (window_->finish(ticket))
      ring_[window_->place(ticket)].emplace(std::move(result));
  }

  /// An item has no result.
  void drop(std::uint64_t ticket) noexcept {
    if (window_) window_->drop(ticket);
  }

  std::optional<T> take() {
    std::optional<T> next;
    if (!window_) {
      if (!fifo_.empty()) {
        next.emplace(std::move(fifo_.front()));
        fifo_.pop_front();
      }
    } else if (const auto ticket = window_->release()) {
      std::optional<T>& place = ring_[window_->place(*ticket)];
      next.emplace(std::move(*place));
      place.reset();
    }
    return next;
  }

  /// What wait, where only they count; where input order is kept, also those under way.
  std::size_t size() const noexcept { return window_ ? window_->size() : fifo_.size(); }
  bool counts_busy() const noexcept { return window_.has_value(); }

 private:
  std::deque<T> fifo_;
  std::optional<reorder_window> window_;
  std::vector<std::optional<T>> ring_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_RESULT_SHELF_HPP
