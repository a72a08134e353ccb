// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/pool_observer.hpp>

namespace weir {

void pool_observer::on_task_started(const task_event&) noexcept {}
void pool_observer::on_task_ended(const task_event&, task_outcome, error_code) noexcept {}
void pool_observer::on_task_failed(std::string_view, std::string_view,
                                   const std::exception_ptr&) noexcept {}
void pool_observer::on_task_stuck(const task_event&) noexcept {}
void pool_observer::on_task_hogging(const task_event&, duration) noexcept {}
void pool_observer::on_rejected(std::string_view, error_code) noexcept {}

}  // namespace weir
