// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_SQLITE_JOB_CODEC_HPP
#define WEIR_SRC_SQLITE_JOB_CODEC_HPP

#include "sqlite/database.hpp"

#include <weir/job.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir::sqlite {

/// The columns of a job, in the order in which `read_job` takes them.
inline constexpr std::string_view job_columns =
    "id, kind, payload, user, priority, run_at, attempt, max_attempts, unique_key, keep, headers";
inline constexpr int job_column_count = 11;

/// Each header as two lengths of four bytes, the low one first, and the two texts.
std::string encode_headers(const std::vector<job_header>& headers);

/// \returns whether `bytes` are what `encode_headers` makes.
bool decode_headers(std::string_view bytes, std::vector<job_header>& headers);

/// \returns whether it could be read; what could is in `to` in any case.
bool read_job(const statement::run& row, job& to);

}  // namespace weir::sqlite

#endif  // WEIR_SRC_SQLITE_JOB_CODEC_HPP
