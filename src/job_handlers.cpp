// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/require.hpp>
#include <weir/job_handlers.hpp>

namespace weir {

void job_handlers::add(std::string_view kind, const job_handler& handler) {
  detail::require(!kind.empty() && handler.timeout().value_or(duration()) >= duration::zero() &&
                      by_kind_.find(kind) == by_kind_.end(),
                  "weir::job_handlers");
  by_kind_.emplace(kind, handler);
}

}  // namespace weir
