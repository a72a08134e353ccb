// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_SOURCE_HPP
#define WEIR_DETAIL_FLOW_SOURCE_HPP

#include <weir/bounded_queue.hpp>
#include <weir/detail/flow_map.hpp>
#include <weir/detail/flow_range.hpp>
#include <weir/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/system_error.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// What sources that wait for nothing have in common: turns, and the end.
class ready_source : public flow_tag {
 public:
  void connect(flow_run& run, flow_node& down) noexcept {
    run_ = &run;
    down_ = &down;
  }
  void stop() noexcept { stopped_ = true; }
  bool drain() noexcept { return false; }

 protected:
  bool take_turn() noexcept { return run_->take_turn(*down_); }

  bool stopped_ = false;

 private:
  flow_run* run_ = nullptr;
  flow_node* down_ = nullptr;
};

template <typename Range>
class range_source final : public ready_source {
 public:
  using value_type = typename range_reader<Range>::value_type;

  explicit range_source(Range range) : reader_(std::move(range)) {}

  step<value_type> poll() {
    if (stopped_) return no_item::more;
    if (!take_turn()) return no_item::yet;
    if (reader_.next()) return reader_.item();
    stopped_ = true;
    return no_item::more;
  }

 private:
  range_reader<Range> reader_;
};

/// Asks a function again and again.
class asking_source final : public ready_source {
 public:
  using value_type = nothing;

  step<nothing> poll() noexcept {
    if (!take_turn()) return no_item::yet;
    return step<nothing>(std::in_place);
  }
};

template <typename F>
class asked {
 public:
  explicit asked(F f) : f_(std::move(f)) {}
  auto operator()(nothing) { return std::invoke(f_); }

 private:
  F f_;
};

/// A function that is waited for gives the items, so many ahead of who asks for them.
template <typename F>
using function_source = map_flow<asking_source, asked<F>, until_empty>;

template <typename F>
function_source<F> make_function_source(F f, std::size_t ahead, bool before_asked) {
  return function_source<F>(asking_source(), asked<F>(std::move(f)), map_options{}, ahead,
                            before_asked ? std::optional(ahead / 2) : std::nullopt);
}

template <typename T>
class receiver {
 public:
  explicit receiver(bounded_queue<T>& queue) noexcept : queue_(&queue) {}

  std::optional<T> try_receive() { return queue_->try_receive(); }

  boost::asio::awaitable<std::optional<T>> operator()() {
    namespace asio = boost::asio;
    // A batch, for `T` need not be default-constructible.
    auto receive = queue_->async_receive_batch(1, asio::as_tuple(asio::deferred));
    auto [ec, items] = co_await std::move(receive);
    if (ec == errc::queue_closed) co_return std::nullopt;
    if (ec) throw boost::system::system_error(ec, "weir::from");
    co_return std::move(items.front());
  }

 private:
  bounded_queue<T>* queue_;
};

/// Takes an item when it is asked for one and never ahead, so that what nobody asks for stays in
/// the queue.
template <typename T>
class queue_source final : public flow_tag {
 public:
  using value_type = T;

  explicit queue_source(bounded_queue<T>& queue)
      : queue_(queue), waiting_(make_function_source(queue_, 1, false)) {}

  void connect(flow_run& run, flow_node& down) {
    run_ = &run;
    down_ = &down;
    waiting_.connect(run, down);
  }

  step<T> poll() {
    if (stopped_) return no_item::more;
    if (!receiving_) {
      if (!run_->take_turn(*down_)) return no_item::yet;
      if (auto item = queue_.try_receive()) return step<T>(std::in_place, std::move(*item));
    }
    auto received = waiting_.poll();
    receiving_ = !received;
    return received;
  }

  void stop() noexcept {
    stopped_ = true;
    waiting_.stop();
  }
  bool drain() noexcept { return false; }

 private:
  receiver<T> queue_;
  function_source<receiver<T>> waiting_;
  flow_run* run_ = nullptr;
  flow_node* down_ = nullptr;
  bool receiving_ = false;
  bool stopped_ = false;
};

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_SOURCE_HPP
