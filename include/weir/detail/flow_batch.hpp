// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_BATCH_HPP
#define WEIR_DETAIL_FLOW_BATCH_HPP

#include <weir/clock.hpp>
#include <weir/detail/flow.hpp>
#include <weir/detail/flow_alarm.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::detail {

template <flow Up>
class batch_flow final : public fused_flow<Up>, public flow_node {
 public:
  using value_type = std::vector<typename Up::value_type>;

  /// \param wait `duration::max()`: for ever
  batch_flow(Up up, std::size_t size, duration wait, bool flushes)
      : fused_flow<Up>(std::move(up)), size_(size), wait_(wait), flushes_(flushes) {}

  void connect(flow_run& run, flow_node& down) {
    run_ = &run;
    down_ = &down;
    this->up_.connect(run, *this);
  }

  step<value_type> poll() {
    if (!complete()) gather();
    if (!complete()) return ended_ ? no_item::more : no_item::yet;
    step<value_type> out(std::in_place, std::move(items_));
    items_.clear();
    return out;
  }

  void stop() noexcept {
    ended_ = true;
    alarm_.cancel();
    this->up_.stop();
  }

  bool drain() noexcept {
    // One further up comes first: what it flushes comes through here.
    if (this->up_.drain()) return true;
    if (!flushes_) return false;
    this->up_.stop();
    ended_ = true;
    run_->wake(*down_);
    return true;
  }

 private:
  void on_wake() override {
    gather();
    if (complete() || ended_) run_->wake(*down_);
  }

  bool complete() const noexcept {
    return items_.size() == size_ || (!items_.empty() && (ended_ || late()));
  }

  bool late() const noexcept { return due_ != time_point::max() && due_ <= steady_clock::now(); }

  void gather() {
    while (!ended_ && items_.size() < size_) {
      auto in = this->up_.poll();
      if (!in) {
        ended_ = in.ended();
        break;
      }
      if (items_.empty()) due_ = saturating_add(steady_clock::now(), wait_);
      items_.push_back(std::move(*in));
    }
    // Not for one that is late already: who waits for it may be in no hurry to ask.
    if (!items_.empty() && !ended_ && !late()) alarm_.set(*run_, *this, due_);
  }

  const std::size_t size_;
  const duration wait_;
  const bool flushes_;
  flow_run* run_ = nullptr;
  flow_node* down_ = nullptr;
  value_type items_;
  time_point due_ = time_point::max();
  bool ended_ = false;
  flow_alarm alarm_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_BATCH_HPP
