// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_FUSED_HPP
#define WEIR_DETAIL_FLOW_FUSED_HPP

#include <weir/detail/flow.hpp>
#include <weir/pipeline/options.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace weir::detail {

template <flow Up, typename F>
class fused_map final : public fused_flow<Up> {
 public:
  using value_type = std::decay_t<std::invoke_result_t<F&, typename Up::value_type>>;

  fused_map(Up up, F f, error_rule errors)
      : fused_flow<Up>(std::move(up)), f_(std::move(f)), errors_(errors) {}

  step<value_type> poll() {
    for (;;) {
      auto in = this->up_.poll();
      if (!in) return in.why_not();
      try {
        return step<value_type>(std::in_place, std::invoke(f_, std::move(*in)));
      } catch (...) {
        errors_.apply(failures_++, std::current_exception());
      }
    }
  }

 private:
  F f_;
  error_rule errors_;
  std::size_t failures_ = 0;
};

template <flow Up, typename F>
class filter_flow final : public fused_flow<Up> {
 public:
  using value_type = typename Up::value_type;

  filter_flow(Up up, F keep) : fused_flow<Up>(std::move(up)), keep_(std::move(keep)) {}

  step<value_type> poll() {
    for (;;) {
      auto in = this->up_.poll();
      if (!in || std::invoke(keep_, std::as_const(*in))) return in;
    }
  }

 private:
  F keep_;
};

template <flow Up, typename F>
class tap_flow final : public fused_flow<Up> {
 public:
  using value_type = typename Up::value_type;

  tap_flow(Up up, F f) : fused_flow<Up>(std::move(up)), f_(std::move(f)) {}

  step<value_type> poll() {
    auto in = this->up_.poll();
    if (in) std::invoke(f_, std::as_const(*in));
    return in;
  }

 private:
  F f_;
};

template <flow Up>
class take_flow final : public fused_flow<Up> {
 public:
  using value_type = typename Up::value_type;

  take_flow(Up up, std::size_t n) : fused_flow<Up>(std::move(up)), left_(n) {}

  step<value_type> poll() {
    if (left_ == 0) {
      this->stop();
      return no_item::more;
    }
    auto in = this->up_.poll();
    // With the last one, not when the next is asked for, which may be much later.
    if (in && --left_ == 0) this->stop();
    return in;
  }

 private:
  std::size_t left_;
};

template <flow Up, typename F>
class take_while_flow final : public fused_flow<Up> {
 public:
  using value_type = typename Up::value_type;

  take_while_flow(Up up, F wanted) : fused_flow<Up>(std::move(up)), wanted_(std::move(wanted)) {}

  step<value_type> poll() {
    if (ended_) return no_item::more;
    auto in = this->up_.poll();
    if (!in || std::invoke(wanted_, std::as_const(*in))) return in;
    ended_ = true;
    this->stop();
    return no_item::more;
  }

 private:
  F wanted_;
  bool ended_ = false;
};

template <flow Up, typename State, typename F>
class scan_flow final : public fused_flow<Up> {
 public:
  using value_type = State;

  scan_flow(Up up, State first, F f)
      : fused_flow<Up>(std::move(up)), state_(std::move(first)), f_(std::move(f)) {}

  step<value_type> poll() {
    auto in = this->up_.poll();
    if (!in) return in.why_not();
    state_ = std::invoke(f_, std::move(state_), std::move(*in));
    return step<value_type>(std::in_place, std::as_const(state_));
  }

 private:
  State state_;
  F f_;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_FUSED_HPP
