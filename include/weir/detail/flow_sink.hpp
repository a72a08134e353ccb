// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_FLOW_SINK_HPP
#define WEIR_DETAIL_FLOW_SINK_HPP

#include <weir/detail/flow.hpp>
#include <weir/detail/run_on.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// Hears that a sink has ended.
class sink_owner {
 public:
  virtual void on_sink_end() noexcept = 0;

 protected:
  sink_owner() noexcept = default;
  sink_owner(const sink_owner&) noexcept = default;
  ~sink_owner() = default;
};

/// The end of a flow, which asks for items as long as there are any. `Eat` is what it does with
/// them: `bool eat(T&&)`, false when it wants no more, and `result() &&`.
template <flow Up, typename Eat>
class sink_node final : public flow_node {
 public:
  using result_type = decltype(std::declval<Eat>().result());

  sink_node(Up up, Eat eat) : up_(std::move(up)), eat_(std::move(eat)) {}

  void connect(flow_run& run, sink_owner& owner) {
    owner_ = &owner;
    up_.connect(run, *this);
    run.wake(*this);
  }

  void stop() noexcept {
    ended_ = true;
    up_.stop();
  }

  bool drain() noexcept { return up_.drain(); }
  bool ended() const noexcept { return ended_; }
  result_type result() { return std::move(eat_).result(); }

 private:
  void on_wake() override {
    while (!ended_) {
      auto in = up_.poll();
      if (!in && !in.ended()) return;
      if (in && eat_(std::move(*in))) continue;
      stop();
      owner_->on_sink_end();
    }
  }

  Up up_;
  Eat eat_;
  sink_owner* owner_ = nullptr;
  bool ended_ = false;
};

/// A pipeline with all its parts.
template <typename Node>
class sink_run final : public flow_run, private sink_owner {
 public:
  using result_type = typename Node::result_type;

  sink_run(boost::asio::any_io_executor strand, Node node)
      : flow_run(std::move(strand)), node_(std::move(node)) {}

  /// Once it has ended: what came of it. All that is the user's is destroyed first.
  result_type take_result() {
    if (error()) {
      node_.reset();
      std::rethrow_exception(error());
    }
    if constexpr (std::is_void_v<result_type>) {
      node_.reset();
    } else {
      result_type result = node_->result();
      node_.reset();
      return result;
    }
  }

 private:
  void connect() override { node_->connect(*this, *this); }
  void stop() noexcept override { node_->stop(); }
  bool drain() noexcept override { return node_->drain(); }
  void on_sink_end() noexcept override { finish(); }

  std::optional<Node> node_;
};

template <typename Node>
boost::asio::awaitable<typename Node::result_type> drive(Node node) {
  auto run =
      std::make_shared<sink_run<Node>>(co_await boost::asio::this_coro::executor, std::move(node));
  co_await flow_run::drive(run);
  co_return run->take_result();
}

template <typename Node>
boost::asio::awaitable<typename Node::result_type> run_pipeline(Node node) {
  auto executor = co_await boost::asio::this_coro::executor;
  auto driven = drive(std::move(node));
  co_return co_await run_on(std::move(executor), std::move(driven), launch::here, "pipeline");
}

/// A sink that is a function from flow to node.
template <typename Attach>
class sink_of : public sink_tag {
 public:
  explicit sink_of(Attach attach) : attach_(std::move(attach)) {}

  template <flow Up>
  auto attach(Up up) && {
    return std::move(attach_)(std::move(up));
  }

 private:
  Attach attach_;
};

/// The whole: it runs when it is awaited.
template <flow Up, sink Sink>
auto operator|(Up up, Sink last) {
  return run_pipeline(std::move(last).attach(std::move(up)));
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_FLOW_SINK_HPP
