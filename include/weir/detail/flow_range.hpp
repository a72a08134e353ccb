// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_RANGE_HPP
#define WEIR_DETAIL_FLOW_RANGE_HPP

#include <weir/detail/flow.hpp>

#include <optional>
#include <ranges>
#include <utility>

namespace weir::detail {

/// Reads a range, one item when it is asked for and never one ahead.
template <std::ranges::input_range Range>
class range_reader {
  using iterator = std::ranges::iterator_t<Range>;
  // What nobody else has may be moved out of; what the user has, or a view sees, may not.
  static constexpr bool owns = !std::ranges::view<Range>;

 public:
  using value_type = std::ranges::range_value_t<Range>;

  explicit range_reader(Range range) : range_(std::move(range)) {}

  bool next() {
    if (at_)
      ++*at_;
    else
      at_.emplace(std::ranges::begin(range_));
    return *at_ != std::ranges::end(range_);
  }

  step<value_type> item() {
    if constexpr (owns)
      return step<value_type>(std::in_place, std::ranges::iter_move(*at_));
    else
      return step<value_type>(std::in_place, **at_);
  }

 private:
  Range range_;
  std::optional<iterator> at_;
};

template <flow Up>
class unbatch_flow final : public fused_flow<Up> {
  using range = typename Up::value_type;

 public:
  using value_type = std::ranges::range_value_t<range>;

  explicit unbatch_flow(Up up) : fused_flow<Up>(std::move(up)) {}

  void connect(flow_run& run, flow_node& down) {
    run_ = &run;
    down_ = &down;
    this->up_.connect(run, down);
  }

  step<value_type> poll() {
    for (;;) {
      // A range may be endless.
      if (!run_->take_turn(*down_)) return no_item::yet;
      if (reader_) {
        if (reader_->next()) return reader_->item();
        reader_.reset();
      }
      auto in = this->up_.poll();
      if (!in) return in.why_not();
      reader_.emplace(std::move(*in));
    }
  }

 private:
  flow_run* run_ = nullptr;
  flow_node* down_ = nullptr;
  std::optional<range_reader<range>> reader_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_RANGE_HPP
