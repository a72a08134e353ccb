// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_JOB_WORK_HPP
#define WEIR_EXAMPLES_GATEWAY_JOB_WORK_HPP

#include "work_reader.hpp"

#include <weir/job_handlers.hpp>

#include <string_view>

namespace gateway {

/// The header of a job that says what is to be done with its payload, as the query of a request
/// does.
inline constexpr std::string_view query_header = "query";

/// What runs the jobs of the gateway: the same work that it does for those who wait. The result of
/// a job is what they would have been sent.
///
/// A job that makes no sense is a dead letter at once; what another server is to blame for is tried
/// again.
weir::job_handlers make_handlers(const work_reader& reader);

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_JOB_WORK_HPP
