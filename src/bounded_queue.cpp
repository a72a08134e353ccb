// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/bounded_queue.hpp>
#include <weir/detail/require.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace weir::detail {

item_claim::~item_claim() {
  if (queue_) queue_->unclaim();
}

bounded_queue_core::bounded_queue_core(boost::asio::any_io_executor ex, std::ptrdiff_t capacity,
                                       std::size_t max_weight, bool weighs, std::string name)
    : executor_(std::move(ex)),
      name_(std::move(name)),
      capacity_(static_cast<std::size_t>(capacity)),
      max_weight_(max_weight) {
  require(capacity >= 1 && (max_weight == 0 || weighs), "weir::bounded_queue");
}

bool bounded_queue_core::leave(receive_waiter& w) {
  const std::lock_guard lock(mutex_);
  return receivers_.erase(w);
}

std::size_t bounded_queue_core::size() const {
  const std::lock_guard lock(mutex_);
  return books_.size;
}

queue_metrics bounded_queue_core::metrics() const {
  const std::lock_guard lock(mutex_);
  queue_metrics now = books_;
  now.waiting_senders = senders_.size();
  now.waiting_receivers = receivers_.size();
  return now;
}

void bounded_queue_core::inspect(inspector& to) const {
  const std::lock_guard lock(mutex_);
  senders_.for_each(
      [&](const send_waiter& w) { to.on_wait(this, name_, "queue send", w.since, w.caller()); });
  receivers_.for_each([&](const receive_waiter& w) {
    to.on_wait(this, name_, "queue receive", w.since, w.caller());
  });
}

void bounded_queue_core::book_in(std::size_t weight) noexcept {
  books_.weight += weight;
  books_.max_size = std::max(books_.max_size, ++books_.size);
}

void bounded_queue_core::book_out(std::size_t weight) noexcept {
  books_.weight -= weight;
  --books_.size;
}

error_code bounded_queue_core::current_error() noexcept {
  try {
    throw;
  } catch (const boost::system::system_error& error) {
    return error.code();
  } catch (const std::system_error& error) {
    return error.code();
  } catch (const std::bad_alloc&) {
    return make_error_code(boost::system::errc::not_enough_memory);
  } catch (...) {
    return make_error_code(boost::system::errc::io_error);
  }
}

}  // namespace weir::detail
