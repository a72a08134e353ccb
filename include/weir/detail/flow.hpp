// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_HPP
#define WEIR_DETAIL_FLOW_HPP

#include <weir/detail/awaited.hpp>
#include <weir/detail/flow_run.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir {

/// What a function of a pipeline is asked: whether it can be called with the items that come to it.
/// A pipeline that does not compile says which function, and which type of item, in the line that
/// names this concept.
template <typename Function, typename Item>
concept takes_item = std::is_invocable_v<Function&, Item>;

}  // namespace weir

namespace weir::detail {

/// What a function makes of an item, by now or when it has been waited for.
template <typename F, typename... Items>
using result_of_item = awaited_t<std::invoke_result_t<F&, Items...>>;

template <typename F, typename... Items>
inline constexpr bool waits_for_item = awaited<std::invoke_result_t<F&, Items...>>::is_awaitable;

/// "Not yet", and who asked will be woken; or "no more", for ever.
enum class no_item : bool { yet, more };

/// The answer of a part that was asked for an item.
template <typename T>
class step {
 public:
  step(no_item why) noexcept  // NOLINT(google-explicit-constructor): meant to convert
      : ended_(why == no_item::more) {}
  template <typename... Args>
  explicit step(std::in_place_t, Args&&... args)
      : item_(std::in_place, std::forward<Args>(args)...) {}

  explicit operator bool() const noexcept { return item_.has_value(); }
  T& operator*() noexcept { return *item_; }

  bool ended() const noexcept { return ended_; }
  no_item why_not() const noexcept { return ended_ ? no_item::more : no_item::yet; }

 private:
  std::optional<T> item_;
  bool ended_ = false;
};

struct flow_tag {};
struct stage_tag {};
struct sink_tag {};

/// A source with the stages behind it: items that can be asked for, once it is connected.
///
/// `connect(run, down)`: once, when it has its final place; `down` is woken where `poll` said "not
/// yet". `poll()`: the next item. `stop()`: nobody will ask any more; ends what is under way.
/// `drain()`: a flush was asked for; see `batch`.
template <typename F>
concept flow = std::derived_from<F, flow_tag>;

/// Makes a flow of a flow.
template <typename S>
concept stage = std::derived_from<S, stage_tag>;

/// Takes what a flow gives.
template <typename S>
concept sink = std::derived_from<S, sink_tag>;

/// The items of `Up` pass through on the spot. No queue and no coroutine is between the two, so
/// that the compiler sees one function.
template <flow Up>
class fused_flow : public flow_tag {
 public:
  void connect(flow_run& run, flow_node& down) { up_.connect(run, down); }
  void stop() noexcept { up_.stop(); }
  bool drain() noexcept { return up_.drain(); }

 protected:
  explicit fused_flow(Up up) : up_(std::move(up)) {}

  Up up_;
};

/// A stage that is a function from flow to flow.
template <typename Attach>
class stage_of : public stage_tag {
 public:
  explicit stage_of(Attach attach) : attach_(std::move(attach)) {}

  template <flow Up>
  auto attach(Up up) && {
    return std::move(attach_)(std::move(up));
  }

 private:
  Attach attach_;
};

/// A stage after a stage; a sink after a stage.
template <stage First, typename Second>
class piped : public std::conditional_t<stage<Second>, stage_tag, sink_tag> {
 public:
  piped(First first, Second second) : first_(std::move(first)), second_(std::move(second)) {}

  template <flow Up>
  auto attach(Up up) && {
    return std::move(second_).attach(std::move(first_).attach(std::move(up)));
  }

 private:
  First first_;
  Second second_;
};

template <flow Up, stage Stage>
auto operator|(Up up, Stage next) {
  return std::move(next).attach(std::move(up));
}

template <stage First, typename Second>
requires stage<Second> || sink<Second>
auto operator|(First first, Second second) {
  return piped<First, Second>(std::move(first), std::move(second));
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_HPP
