// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_MAP_HPP
#define WEIR_DETAIL_FLOW_MAP_HPP

#include <weir/detail/flow.hpp>
#include <weir/detail/flow_crew.hpp>
#include <weir/detail/result_shelf.hpp>
#include <weir/pipeline/options.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::detail {

struct nothing {};

/// A flow whose items belong to lanes.
template <typename F>
concept keyed_flow = flow<F> && requires(const F& f) {
  { f.lane() } -> std::same_as<std::size_t>;
  { f.lanes() } -> std::same_as<std::size_t>;
};

/// How the results of a function become items.
template <typename R>
struct as_it_is {
  using item = std::conditional_t<std::is_void_v<R>, nothing, R>;
  static constexpr bool may_end = false;
};
/// An empty one is the end.
template <typename R>
struct until_empty {
  using item = typename R::value_type;
  static constexpr bool may_end = true;
};

/// Items go through a function that is waited for.
template <flow Up, typename F, template <typename> typename Shape = as_it_is>
class map_flow final : public flow_tag, public flow_crew {
  using input_type = typename Up::value_type;
  using returned = result_of_item<F, input_type>;
  using shape = Shape<returned>;

 public:
  using value_type = typename shape::item;

  /// \param low_water when no more than these wait, more are made; empty: when one is asked for
  map_flow(Up up, F f, const map_options& options, std::size_t places,
           std::optional<std::size_t> low_water)
      : flow_crew(options, places),
        up_(std::move(up)),
        f_(std::move(f)),
        low_water_(low_water),
        shelf_(options.order) {
    if constexpr (keyed_flow<Up>) lanes_.resize(up_.lanes());
  }
  map_flow(map_flow&&) noexcept = default;

  void connect(flow_run& run, flow_node& down) {
    connect_crew(run, down);
    up_.connect(run, *this);
  }

  step<value_type> poll() {
    if (auto result = shelf_.take()) {
      // Not here and now: this item has not gone on yet.
      if (low_water_ && shelf_.size() <= *low_water_ && may_take()) run_->wake(*this);
      return step<value_type>(std::in_place, std::move(*result));
    }
    pump();
    if (auto result = shelf_.take()) return step<value_type>(std::in_place, std::move(*result));
    return ended() ? no_item::more : no_item::yet;
  }

  void stop() noexcept {
    stop_crew();
    up_.stop();
  }

  bool drain() noexcept { return up_.drain(); }

 private:
  /// Items of one key at a time.
  struct lane {
    bool held = false;  ///< a worker has an item of it
    std::deque<input_type> waiting;
  };

  bool ended() const noexcept { return input_ended_ && idle() && waiting_ == 0; }

  std::size_t taken() const noexcept override {
    return shelf_.size() + waiting_ + (shelf_.counts_busy() ? late_ : busy_);
  }

  boost::asio::awaitable<void> work(flow_worker& w) override {
    while (auto item = next_item(w)) {
      std::optional<std::conditional_t<std::is_void_v<returned>, nothing, returned>> result;
      std::exception_ptr failure;
      try {
        if constexpr (std::is_void_v<returned>) {
          co_await std::invoke(f_, std::move(*item));
          result.emplace();
        } else {
          result.emplace(co_await std::invoke(f_, std::move(*item)));
        }
      } catch (...) {
        failure = std::current_exception();
      }
      item.reset();
      const auto ticket = w.ticket;
      if (end_item(w)) settle(ticket, result, failure);
    }
  }

  void give_up(flow_worker& w) noexcept override { shelf_.drop(w.ticket); }

  /// The next item for `w` to work on, if there is one and a place for what comes of it.
  std::optional<input_type> next_item(flow_worker& w) noexcept {
    std::optional<input_type> item;
    try {
      if constexpr (keyed_flow<Up>) item = of_a_lane(w);
      while (!item && !w.told && may_take()) {
        step<input_type> next = up_.poll();
        if (!next) {
          (next.ended() ? input_ended_ : input_waits_) = true;
          break;
        }
        if constexpr (keyed_flow<Up>)
          if (!enter_lane(w, up_.lane(), *next)) continue;
        item.emplace(std::move(*next));
      }
      if (item) {
        w.ticket = shelf_.enter();
        begin_item(w);
      }
    } catch (...) {
      run_->fail(std::current_exception());
      item.reset();
    }
    return item;
  }

  template <typename Result>
  void settle(std::uint64_t ticket, std::optional<Result>& result,
              const std::exception_ptr& failure) noexcept {
    if (failure) {
      shelf_.drop(ticket);
      fail_item(failure);
      return;
    }
    try {
      if constexpr (shape::may_end) {
        if (*result)
          shelf_.put(ticket, std::move(**result));
        else
          input_ended_ = true;
      } else {
        shelf_.put(ticket, std::move(*result));
      }
    } catch (...) {
      run_->fail(std::current_exception());
    }
  }

  /// `w` has done an item of its lane. The next one of it, else of a lane that nobody attends to.
  std::optional<input_type> of_a_lane(flow_worker& w) {
    if (const auto l = std::exchange(w.lane, flow_worker::no_lane); l != flow_worker::no_lane) {
      lanes_[l].held = false;
      if (!lanes_[l].waiting.empty()) {
        unattended_.push_back(l);
        ++backlog_;
      }
    }
    if (stopped_ || w.told || unattended_.empty()) return std::nullopt;
    w.lane = unattended_.front();
    unattended_.pop_front();
    --backlog_;
    lane& l = lanes_[w.lane];
    l.held = true;
    --waiting_;
    std::optional<input_type> item(std::move(l.waiting.front()));
    l.waiting.pop_front();
    return item;
  }

  /// \returns false where the item has to wait for those before it.
  bool enter_lane(flow_worker& w, std::size_t number, input_type& item) {
    if (options_.order.rule != result_order::by::key) return true;
    lane& l = lanes_[number];
    if (l.held || !l.waiting.empty()) {
      l.waiting.push_back(std::move(item));
      ++waiting_;
      return false;
    }
    l.held = true;
    w.lane = number;
    return true;
  }

  Up up_;
  F f_;
  const std::optional<std::size_t> low_water_;
  result_shelf<value_type> shelf_;
  std::vector<lane> lanes_;
  std::deque<std::size_t> unattended_;  ///< lanes with items that wait, and no worker
  std::size_t waiting_ = 0;             ///< in all lanes
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_MAP_HPP
