// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/job_table.hpp>
#include <weir/detail/queue_engine.hpp>
#include <weir/detail/require.hpp>
#include <weir/memory_queue.hpp>

#include <memory>
#include <utility>

namespace weir {

memory_queue::memory_queue(boost::asio::any_io_executor ex, memory_queue_options options)
    : task_queue((detail::require(options.capacity >= 1, "weir::memory_queue"),
                  std::make_shared<detail::queue_engine>(
                      std::move(ex), std::make_unique<detail::job_table>(options.capacity),
                      detail::engine_options{.name = std::move(options.name)}))) {}

}  // namespace weir
