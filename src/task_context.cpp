// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/worker.hpp>
#include <weir/task_context.hpp>

namespace weir {

std::string_view task_context::id() const noexcept { return worker_->current().id; }

std::string_view task_context::user() const noexcept { return worker_->current().user; }

int task_context::priority() const noexcept { return worker_->current().priority; }

time_point task_context::deadline() const noexcept { return worker_->current().deadline; }

weir::stop_token task_context::stop_token() const noexcept { return worker_->token_of_current(); }

cancel_cause task_context::cause() const noexcept { return worker_->cause_of_current(); }

}  // namespace weir
