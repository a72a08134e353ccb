// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_SQLITE_SCHEMA_HPP
#define WEIR_SRC_SQLITE_SCHEMA_HPP

#include "sqlite/database.hpp"

#include <span>
#include <string_view>

namespace weir::sqlite {

/// What makes version n + 1 of the tables of version n. What has once been released stays as it is;
/// a change is a step more.
std::span<const char* const> schema_steps() noexcept;

/// Brings the tables of weir to the last of `steps`, in one transaction. What else is in the file
/// is left alone.
///
/// The version is kept in a table of weir's own: `PRAGMA user_version` belongs to the program,
/// whose tables may be in the same file.
void migrate(database& db, std::span<const char* const> steps);

/// Notes that the machine runs for the `boot_id`th time. If it is not the time that was noted, the
/// clock that leases go by has begun anew: all of them have run out.
void note_boot(database& db, std::string_view boot_id);

/// Throws `SQLITE_CORRUPT`, with what is wrong, if the file is damaged.
void check_integrity(database& db);

}  // namespace weir::sqlite

#endif  // WEIR_SRC_SQLITE_SCHEMA_HPP
