// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_WITH_TIMEOUT_HPP
#define WEIR_IMPL_WITH_TIMEOUT_HPP

#include <weir/detail/run_until.hpp>

#include <utility>

namespace weir {

template <typename T>
boost::asio::awaitable<T> with_deadline(boost::asio::awaitable<T> work, time_point deadline) {
  return detail::run_until(std::move(work), deadline, duration(), detail::answer_at_end());
}

template <typename T>
boost::asio::awaitable<T> with_timeout(boost::asio::awaitable<T> work, duration timeout) {
  return with_deadline(std::move(work), saturating_add(steady_clock::now(), timeout));
}

template <typename T, typename OnEnd>
boost::asio::awaitable<T> with_deadline(boost::asio::awaitable<T> work, time_point deadline,
                                        timeout_options options, OnEnd on_end) {
  return detail::run_until(std::move(work), deadline, options.answer_after, std::move(on_end));
}

template <typename T, typename OnEnd>
boost::asio::awaitable<T> with_timeout(boost::asio::awaitable<T> work, duration timeout,
                                       timeout_options options, OnEnd on_end) {
  return with_deadline(std::move(work), saturating_add(steady_clock::now(), timeout), options,
                       std::move(on_end));
}

}  // namespace weir

#endif  // WEIR_IMPL_WITH_TIMEOUT_HPP
