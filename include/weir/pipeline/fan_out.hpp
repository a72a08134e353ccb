// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_PIPELINE_FAN_OUT_HPP
#define WEIR_PIPELINE_FAN_OUT_HPP

#include <weir/detail/flow_fan.hpp>
#include <weir/detail/require.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

// Sinks that deal out to sinks: `from(x) | broadcast(map(f) | for_each(a), for_each(b))`. They end
// when all branches have. A branch that has enough (`take`, `first`) leaves, and the others go on;
// when all have left, what is above is ended. What a branch throws ends the whole pipeline.
//
// Result: none where no branch has one; else a `std::tuple` of what the branches return, with
// `std::monostate` for those that return nothing.

namespace weir {

/// What is done about a subscriber whose buffer is full.
enum class slow_consumer : std::uint8_t {
  block,       ///< all wait for it
  drop,        ///< it misses the item
  disconnect,  ///< it misses that item and all that follow, and ends when it has done what it has
};

/// How one branch is fed. Nothing is missed in silence: where anything can be missed, count it.
struct subscriber_options {
  std::ptrdiff_t buffer = 16;  ///< items that it has been dealt and has not taken
  slow_consumer when_slow = slow_consumer::block;
  std::uint64_t* missed = nullptr;  ///< items that it did not get; outlives the pipeline
};

/// A branch with options of its own.
template <detail::sink Branch>
class subscriber {
 public:
  /// \throws system_error with `invalid_argument` if the buffer is below 1.
  explicit subscriber(Branch branch, subscriber_options options = {})
      : branch_(std::move(branch)), options_(options) {
    detail::require(options.buffer >= 1, "weir::subscriber");
  }

  const subscriber_options& options() const noexcept { return options_; }
  Branch take_branch() && { return std::move(branch_); }

 private:
  Branch branch_;
  subscriber_options options_;
};

namespace detail {

template <typename Branch>
subscriber<Branch> as_subscriber(subscriber<Branch> s) {
  return s;
}
template <sink Branch>
subscriber<Branch> as_subscriber(Branch branch) {
  return subscriber<Branch>(std::move(branch));
}

/// `port` does not get an item.
template <typename T>
void miss(fan_port<T>& port, const subscriber_options& options) noexcept {
  if (options.missed) ++*options.missed;
  if (options.when_slow != slow_consumer::disconnect || !port.open()) return;
  port.cut = true;
  port.close();
}

/// Deals each item to all who are still there.
template <std::size_t N>
class deal_to_all {
 public:
  explicit deal_to_all(std::array<subscriber_options, N> options) : options_(options) {}

  template <typename T>
  bool operator()(std::array<std::shared_ptr<fan_port<T>>, N>& ports, T& item) {
    for (std::size_t i = 0; i != N; ++i)
      if (ports[i]->open() && ports[i]->full() && options_[i].when_slow == slow_consumer::block)
        return false;
    for (std::size_t i = 0; i != N; ++i) {
      fan_port<T>& port = *ports[i];
      if (port.open() && !port.full())
        port.put(T(std::as_const(item)));
      else if (port.open() || port.cut)
        miss(port, options_[i]);
    }
    return true;
  }

 private:
  std::array<subscriber_options, N> options_;
};

/// Deals an item to one of two.
template <typename F>
class deal_by {
 public:
  deal_by(F goes_first, std::array<subscriber_options, 2> options)
      : goes_first_(std::move(goes_first)), options_(options) {}

  template <typename T>
  bool operator()(std::array<std::shared_ptr<fan_port<T>>, 2>& ports, T& item) {
    if (!to_) to_ = std::invoke(goes_first_, std::as_const(item)) ? 0 : 1;
    fan_port<T>& port = *ports[*to_];
    const subscriber_options& o = options_[*to_];
    if (port.open() && port.full() && o.when_slow == slow_consumer::block) return false;
    if (port.open() && !port.full())
      port.put(std::move(item));
    else
      miss(port, o);
    to_.reset();
    return true;
  }

 private:
  F goes_first_;
  std::array<subscriber_options, 2> options_;
  std::optional<std::size_t> to_;  ///< of an item that waits
};

template <flow Up, typename Deal, typename... Branches>
auto make_fan(Up up, Deal deal, subscriber<Branches>... to) {
  using T = typename Up::value_type;
  std::array<std::shared_ptr<fan_port<T>>, sizeof...(Branches)> ports{
      std::make_shared<fan_port<T>>(static_cast<std::size_t>(to.options().buffer))...};
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return fan_node<Up, Deal,
                    decltype(std::move(to).take_branch().attach(port_source<T>(ports[I])))...>(
        std::move(up), std::move(deal), ports,
        std::move(to).take_branch().attach(port_source<T>(ports[I]))...);
  }
  (std::index_sequence_for<Branches...>());
}

}  // namespace detail

/// Each item to each branch, which are sinks, or stages with a sink, or a `subscriber` of one. The
/// items are copied.
template <typename... Branches>
requires(sizeof...(Branches) >= 1) auto broadcast(Branches... branches) {
  return detail::sink_of([to = std::tuple(detail::as_subscriber(
                              std::move(branches))...)]<detail::flow Up>(Up up) mutable {
    static_assert(std::copy_constructible<typename Up::value_type>,
                  "weir::broadcast: the items cannot be copied");
    return std::apply(
        [&](auto&... s) {
          detail::deal_to_all<sizeof...(s)> deal({s.options()...});
          return detail::make_fan(std::move(up), std::move(deal), std::move(s)...);
        },
        to);
  });
}

/// Each item to `first` where `goes_first` holds for it, else to `second`. The items are moved. An
/// item for a branch that has left is one that it missed.
template <typename F, typename First, typename Second>
auto partition(F goes_first, First first, Second second) {
  return detail::sink_of(
      [goes_first = std::move(goes_first), a = detail::as_subscriber(std::move(first)),
       b = detail::as_subscriber(std::move(second))]<detail::flow Up>(Up up) mutable {
        static_assert(takes_item<F, const typename Up::value_type&>,
                      "weir::partition: the predicate cannot take the items");
        detail::deal_by<F> deal(std::move(goes_first), {a.options(), b.options()});
        return detail::make_fan(std::move(up), std::move(deal), std::move(a), std::move(b));
      });
}

}  // namespace weir

#endif  // WEIR_PIPELINE_FAN_OUT_HPP
