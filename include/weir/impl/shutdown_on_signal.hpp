// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_SHUTDOWN_ON_SIGNAL_HPP
#define WEIR_IMPL_SHUTDOWN_ON_SIGNAL_HPP

#include <functional>

namespace weir {
namespace detail {

/// `stop_source` may be empty.
boost::asio::awaitable<shutdown_report> shutdown_on_signal(
    worker_pool& pool, duration deadline,
    std::function<boost::asio::awaitable<void>()> stop_source);

}  // namespace detail

template <work_source Source>
boost::asio::awaitable<shutdown_report> shutdown_on_signal(worker_pool& pool, Source& source,
                                                           duration deadline) {
  return detail::shutdown_on_signal(
      pool, deadline, [&source] { return source.async_stop(boost::asio::use_awaitable); });
}

}  // namespace weir

#endif  // WEIR_IMPL_SHUTDOWN_ON_SIGNAL_HPP
