// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_FLAKY_QUEUE_HPP
#define WEIR_TEST_FLAKY_QUEUE_HPP

#include <weir/detail/consumer_core.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <variant>

namespace weir_test {

/// What stands between a consumer and a queue: a connection that may fail, or be gone.
class flaky_backend final : public weir::queue_backend {
 public:
  explicit flaky_backend(std::shared_ptr<weir::queue_backend> inner) : inner_(std::move(inner)) {}

  /// Says with which error a request fails, before anything is done; empty: none does.
  std::function<weir::error_code(const weir::any_queue_op&)> fault;

  const boost::asio::any_io_executor& executor() const noexcept override {
    return inner_->executor();
  }
  void close() override {
    fault = [](const weir::any_queue_op&) { return make_error_code(weir::errc::queue_closed); };
  }
  void give_back(std::span<const weir::lease_key> leases) noexcept override {
    inner_->give_back(leases);
  }

 private:
  void start(weir::any_queue_op op) noexcept override {
    const weir::error_code ec = fault ? fault(op) : weir::error_code();
    std::visit(
        [&](auto* o) {
          if (ec)
            o->refuse(ec);
          else
            inner_->enter(*o, std::move(o->request));
        },
        op);
  }
  bool withdraw(weir::any_queue_op op) override {
    return std::visit([&](auto* o) { return inner_->leave(*o); }, op);
  }

  const std::shared_ptr<weir::queue_backend> inner_;
};

/// Another way to the jobs of `queue`, which is flaky, or breaks for good.
class flaky_queue final : public weir::task_queue {
 public:
  explicit flaky_queue(weir::task_queue& queue)
      : flaky_queue(std::make_shared<flaky_backend>(weir::detail::queue_access::backend(queue))) {}

  void fail_with(std::function<weir::error_code(const weir::any_queue_op&)> fault) {
    way_->fault = std::move(fault);
  }

 private:
  explicit flaky_queue(std::shared_ptr<flaky_backend> way)
      : task_queue(way), way_(std::move(way)) {}

  const std::shared_ptr<flaky_backend> way_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_FLAKY_QUEUE_HPP
