// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/child.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace weir::detail {

namespace asio = boost::asio;

/// Completes the child's coroutine. If it is destroyed instead, the child's frames were: they go
/// before it, with their context.
class child_base::end_of_body {
 public:
  using cancellation_slot_type = asio::cancellation_slot;

  explicit end_of_body(std::shared_ptr<child_base> self) noexcept : self_(std::move(self)) {}
  end_of_body(end_of_body&&) noexcept = default;
  end_of_body& operator=(end_of_body&&) = delete;
  ~end_of_body() {
    if (self_) self_->watch_->lost();
  }

  cancellation_slot_type get_cancellation_slot() const noexcept { return self_->signal_.slot(); }

  const asio::strand<asio::any_io_executor>& strand() const noexcept { return self_->strand_; }

  void operator()(const std::exception_ptr&) {
    const auto self = std::move(self_);
    if (self->phase_.exchange(phase::ended, std::memory_order_acq_rel) == phase::abandoned)
      self->on_late_end();
    self->watch_->ended();
  }

 private:
  std::shared_ptr<child_base> self_;
};

child_base::child_base(std::shared_ptr<child_watch> watch)
    : watch_(std::move(watch)), strand_(watch_->executor()) {}

void child_base::begin(asio::awaitable<void> body, launch how) {
  watch_->add();
  // On the strand: a cancellation that comes before a coroutine has begun would be thrown out of
  // Asio's own part of it, and those are posted to the strand, after this.
  auto go = [end = end_of_body(shared_from_this()), work = std::move(body)]() mutable {
    const asio::any_io_executor strand = end.strand();
    asio::co_spawn(strand, std::move(work), std::move(end));
  };
  if (how == launch::here)
    asio::dispatch(strand_, std::move(go));
  else
    asio::post(strand_, std::move(go));
}

void child_base::cancel(asio::cancellation_type type) {
  // Posted even on the strand: the work itself may be what asks, and must not be resumed inside.
  asio::post(strand_, [self = shared_from_this(), type] {
    if (!self->settled()) self->signal_.emit(type);
  });
}

bool child_base::abandon() noexcept {
  auto expected = phase::running;
  return phase_.compare_exchange_strong(expected, phase::abandoned, std::memory_order_acq_rel);
}

}  // namespace weir::detail
