// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_JOIN_HPP
#define WEIR_DETAIL_FLOW_JOIN_HPP

#include <weir/detail/flow.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

namespace weir::detail {

/// Several flows as the inputs of one.
template <flow... Inputs>
class joined_flow : public flow_tag {
 public:
  void connect(flow_run& run, flow_node& down) {
    for_each([&](auto& input, std::size_t) { input.connect(run, down); });
  }

  void stop() noexcept {
    for_each([](auto& input, std::size_t) { input.stop(); });
  }

  bool drain() noexcept {
    std::array<bool, count> drains{};
    bool any = false;
    for_each([&](auto& input, std::size_t i) { any |= drains[i] = input.drain(); });
    // The others would go on for ever.
    if (any)
      for_each([&](auto& input, std::size_t i) {
        if (drains[i]) return;
        input.stop();
        gone_[i] = true;
      });
    return any;
  }

 protected:
  static constexpr std::size_t count = sizeof...(Inputs);

  explicit joined_flow(Inputs... inputs) : inputs_(std::move(inputs)...) {}

  template <typename F>
  void for_each(F&& f) {
    std::apply(
        [&](auto&... input) {
          std::size_t i = 0;
          (f(input, i++), ...);
        },
        inputs_);
  }

  std::tuple<Inputs...> inputs_;
  std::array<bool, count> gone_{};  ///< have ended
};

/// Those that give the same type of item.
template <flow First, flow... Others>
class uniform_flow : public joined_flow<First, Others...> {
 public:
  using value_type = typename First::value_type;

 protected:
  using joined_flow<First, Others...>::joined_flow;

  step<value_type> poll_input(std::size_t n) {
    if (this->gone_[n]) return no_item::more;
    std::optional<step<value_type>> answer;
    this->for_each([&](auto& input, std::size_t i) {
      if (i == n) answer.emplace(input.poll());
    });
    this->gone_[n] = answer->ended();
    return std::move(*answer);
  }
};

template <flow... Inputs>
class merge_flow final : public uniform_flow<Inputs...> {
  using base = uniform_flow<Inputs...>;

 public:
  explicit merge_flow(Inputs... inputs) : base(std::move(inputs)...) {}

  step<typename base::value_type> poll() {
    bool more = false;
    for (std::size_t k = 0; k != base::count; ++k) {
      const std::size_t i = (turn_ + k) % base::count;
      auto in = this->poll_input(i);
      if (in) {
        turn_ = i + 1;
        return in;
      }
      more |= !in.ended();
    }
    return more ? no_item::yet : no_item::more;
  }

 private:
  std::size_t turn_ = 0;  ///< who is asked first
};

template <flow... Inputs>
class concat_flow final : public uniform_flow<Inputs...> {
  using base = uniform_flow<Inputs...>;

 public:
  explicit concat_flow(Inputs... inputs) : base(std::move(inputs)...) {}

  step<typename base::value_type> poll() {
    for (; at_ != base::count; ++at_)
      if (auto in = this->poll_input(at_); !in.ended()) return in;
    return no_item::more;
  }

 private:
  std::size_t at_ = 0;
};

template <flow... Inputs>
class zip_flow final : public joined_flow<Inputs...> {
  using base = joined_flow<Inputs...>;

 public:
  using value_type = std::tuple<typename Inputs::value_type...>;

  explicit zip_flow(Inputs... inputs) : base(std::move(inputs)...) {}

  step<value_type> poll() { return poll(std::index_sequence_for<Inputs...>()); }

 private:
  template <std::size_t... I>
  step<value_type> poll(std::index_sequence<I...>) {
    if (ended_) return no_item::more;
    // All of them, so that all are under way.
    (fetch(std::get<I>(this->inputs_), std::get<I>(items_), this->gone_[I]), ...);
    if (((this->gone_[I] && !std::get<I>(items_)) || ...)) {
      ended_ = true;
      this->stop();
      return no_item::more;
    }
    if (!(std::get<I>(items_) && ...)) return no_item::yet;
    step<value_type> out(std::in_place, std::move(*std::get<I>(items_))...);
    (std::get<I>(items_).reset(), ...);
    return out;
  }

  template <typename Input, typename T>
  static void fetch(Input& input, std::optional<T>& item, bool& gone) {
    if (item || gone) return;
    auto in = input.poll();
    if (in)
      item.emplace(std::move(*in));
    else
      gone = in.ended();
  }

  std::tuple<std::optional<typename Inputs::value_type>...> items_;
  bool ended_ = false;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_JOIN_HPP
