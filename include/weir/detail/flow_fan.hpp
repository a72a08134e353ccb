// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_FAN_HPP
#define WEIR_DETAIL_FLOW_FAN_HPP

#include <weir/detail/flow_sink.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir::detail {

/// What one branch of a fan has been dealt and has not taken yet.
template <typename T>
struct fan_port {
  explicit fan_port(std::size_t places) noexcept : buffer(places) {}

  bool open() const noexcept { return !closed && !left; }
  bool full() const noexcept { return items.size() >= buffer; }

  void put(T&& item) {
    items.push_back(std::move(item));
    run->wake(*reader);
  }
  void close() noexcept {
    closed = true;
    run->wake(*reader);
  }

  const std::size_t buffer;
  std::deque<T> items;
  flow_run* run = nullptr;
  flow_node* dealer = nullptr;
  flow_node* reader = nullptr;
  bool closed = false;  ///< it gets no more
  bool cut = false;     ///< because it was too slow
  bool left = false;    ///< it wants no more
};

template <typename T>
class port_source final : public flow_tag {
 public:
  using value_type = T;

  explicit port_source(std::shared_ptr<fan_port<T>> port) : port_(std::move(port)) {}

  void connect(flow_run& run, flow_node& down) noexcept {
    port_->run = &run;
    port_->reader = &down;
  }

  step<T> poll() {
    auto& items = port_->items;
    if (items.empty()) return port_->closed || port_->left ? no_item::more : no_item::yet;
    if (port_->full()) port_->run->wake(*port_->dealer);
    step<T> next(std::in_place, std::move(items.front()));
    items.pop_front();
    return next;
  }

  void stop() noexcept {
    if (std::exchange(port_->left, true)) return;
    port_->items.clear();
    port_->run->wake(*port_->dealer);
  }
  bool drain() noexcept { return false; }

 private:
  std::shared_ptr<fan_port<T>> port_;
};

template <typename T>
using or_monostate = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// A sink that deals its items out to sinks.
///
/// \tparam Deal `bool(std::array<fan_port<T>*, N>&, T&)`: false where it has to wait for a port
template <flow Up, typename Deal, typename... Sinks>
class fan_node final : public flow_node, private sink_owner {
  using item_type = typename Up::value_type;
  using port = fan_port<item_type>;
  static constexpr std::size_t count = sizeof...(Sinks);
  static constexpr bool all_void = (std::is_void_v<typename Sinks::result_type> && ...);

 public:
  using result_type =
      std::conditional_t<all_void, void, std::tuple<or_monostate<typename Sinks::result_type>...>>;

  fan_node(Up up, Deal deal, std::array<std::shared_ptr<port>, count> ports, Sinks... sinks)
      : up_(std::move(up)),
        deal_(std::move(deal)),
        ports_(std::move(ports)),
        sinks_(std::move(sinks)...) {}

  void connect(flow_run& run, sink_owner& owner) {
    owner_ = &owner;
    run_ = &run;
    for (const auto& p : ports_) p->dealer = this;
    for_each([&](auto& sink) { sink.connect(run, static_cast<sink_owner&>(*this)); });
    up_.connect(run, *this);
    run.wake(*this);
  }

  void stop() noexcept {
    ended_ = true;
    up_.stop();
    for_each([](auto& sink) { sink.stop(); });
  }

  bool drain() noexcept {
    if (up_.drain()) return true;
    // A batch in a branch: that branch is flushed, all else is ended.
    std::array<bool, count> drains{};
    bool any = false;
    std::size_t i = 0;
    for_each([&](auto& sink) { any |= drains[i++] = sink.drain(); });
    if (!any) return false;
    up_.stop();
    input_ended_ = true;
    i = 0;
    for_each([&](auto& sink) {
      if (!drains[i++]) sink.stop();
    });
    run_->wake(*this);
    return true;
  }

  bool ended() const noexcept { return ended_; }

  result_type result() {
    if constexpr (!all_void)
      return std::apply([](auto&... sink) { return result_type(result_of(sink)...); }, sinks_);
  }

 private:
  template <typename Sink>
  static auto result_of(Sink& sink) {
    if constexpr (std::is_void_v<typename Sink::result_type>)
      return std::monostate();
    else
      return sink.result();
  }

  template <typename F>
  void for_each(F&& f) {
    std::apply([&](auto&... sink) { (f(sink), ...); }, sinks_);
  }

  bool all_ended() const noexcept {
    return std::apply([](const auto&... sink) { return (sink.ended() && ...); }, sinks_);
  }

  void on_sink_end() noexcept override { run_->wake(*this); }

  void on_wake() override {
    while (!ended_) {
      if (all_ended()) {
        stop();
        owner_->on_sink_end();
        return;
      }
      if (input_ended_) return;
      if (!held_) {
        auto in = up_.poll();
        if (in) {
          held_.emplace(std::move(*in));
        } else {
          if (!in.ended()) return;
          input_ended_ = true;
          for (const auto& p : ports_) p->close();
          return;
        }
      }
      if (!deal_(ports_, *held_)) return;
      held_.reset();
    }
  }

  Up up_;
  Deal deal_;
  std::array<std::shared_ptr<port>, count> ports_;
  std::tuple<Sinks...> sinks_;
  std::optional<item_type> held_;
  flow_run* run_ = nullptr;
  sink_owner* owner_ = nullptr;
  bool input_ended_ = false;
  bool ended_ = false;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_FAN_HPP
