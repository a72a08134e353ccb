// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "redis/backend.hpp"

#include <weir/detail/require.hpp>
#include <weir/redis_queue.hpp>

#include <memory>
#include <string>
#include <utility>

namespace weir {

namespace {

std::shared_ptr<queue_backend> make_backend(boost::asio::any_io_executor ex, std::string_view url,
                                            const redis_queue_options& o) {
  constexpr duration none{};
  detail::require(!o.name.empty() && o.name.find_first_of("{}") == std::string_view::npos &&
                      o.timeout > none && o.connect_timeout > none && o.answer_timeout > none &&
                      o.poll > none,
                  "weir::redis_queue");
  return std::make_shared<redis::backend>(
      std::move(ex), redis::parse_address(url),
      redis::backend_options{.name = std::string(o.name),
                             .timeout = o.timeout,
                             .connect_timeout = o.connect_timeout,
                             .answer_timeout = o.answer_timeout,
                             .poll = o.poll});
}

}  // namespace

redis_queue::redis_queue(boost::asio::any_io_executor ex, std::string_view url,
                         const redis_queue_options& options)
    : task_queue(make_backend(std::move(ex), url, options)) {}

}  // namespace weir
