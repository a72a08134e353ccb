// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sqlite/schema.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace weir::sqlite {

namespace {

// States are those of `job_state`. `at` is when something happens to a job by itself: the time of
// day at which it is due, or was; of a leased one the end of the lease, by the clock that counts
// from the start of the machine; of a done or cancelled one the time of day at which it is
// forgotten.
//
// Each search begins at its answer, and what is at rest costs those nothing that are not.
constexpr const char* first_version = R"sql(
CREATE TABLE weir_jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state INTEGER NOT NULL,
  at INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  keep INTEGER NOT NULL,
  unique_for INTEGER NOT NULL,
  kind TEXT NOT NULL,
  user TEXT NOT NULL,
  unique_key TEXT NOT NULL,
  headers BLOB NOT NULL,
  payload BLOB NOT NULL,
  result BLOB,
  reason TEXT
) STRICT;
CREATE INDEX weir_jobs_ready ON weir_jobs(kind, priority DESC, at, id) WHERE state = 2;
CREATE INDEX weir_jobs_leased ON weir_jobs(at) WHERE state = 3;
CREATE INDEX weir_jobs_scheduled ON weir_jobs(at) WHERE state = 4;
CREATE INDEX weir_jobs_done ON weir_jobs(at) WHERE state = 5;
CREATE INDEX weir_jobs_cancelled ON weir_jobs(at) WHERE state = 6;
CREATE INDEX weir_jobs_dead ON weir_jobs(id) WHERE state = 7;

CREATE TABLE weir_keys (
  key TEXT PRIMARY KEY,
  job INTEGER NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX weir_keys_until ON weir_keys(until);

CREATE TABLE weir_counts (
  state INTEGER PRIMARY KEY,
  jobs INTEGER NOT NULL
) STRICT;
INSERT INTO weir_counts VALUES (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0);
)sql";

// One index for all states that end by themselves: each change of a state looks at every index, and
// a twentieth of a job's time went there.
constexpr const char* second_version = R"sql(
DROP INDEX weir_jobs_leased;
DROP INDEX weir_jobs_scheduled;
DROP INDEX weir_jobs_done;
DROP INDEX weir_jobs_cancelled;
CREATE INDEX weir_jobs_timed ON weir_jobs(state, at)
  WHERE state = 3 OR state = 4 OR state = 5 OR state = 6;
)sql";

constexpr std::array<const char*, 2> steps_of_weir{first_version, second_version};

/// Rolls back if it is left by an exception.
class transaction {
 public:
  explicit transaction(database& db) : db_(db) { db_.run("BEGIN IMMEDIATE"); }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  ~transaction() {
    if (db_.in_transaction()) sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() { db_.run("COMMIT"); }

 private:
  database& db_;
};

bool has_table(database& db, std::string_view name) {
  statement find(db, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1");
  return statement::run(find, name).step();
}

}  // namespace

std::span<const char* const> schema_steps() noexcept { return steps_of_weir; }

void migrate(database& db, std::span<const char* const> steps) {
  transaction t(db);
  if (!has_table(db, "weir_meta")) {
    if (has_table(db, "weir_jobs")) db.fail(SQLITE_SCHEMA, "its table weir_jobs is not of weir");
    db.run(
        "CREATE TABLE weir_meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;"
        "INSERT INTO weir_meta VALUES ('version', 0), ('boot', '')");
  }
  std::int64_t version = -1;
  {
    statement read(db, "SELECT value FROM weir_meta WHERE name = 'version'");
    statement::run row(read);
    if (row.step()) version = row.number(0);
  }
  const auto known = static_cast<std::int64_t>(steps.size());
  if (version < 0 || version > known)
    db.fail(SQLITE_SCHEMA, "its tables are of version " + std::to_string(version) +
                               ", and the last that is known here is " + std::to_string(known));
  for (const char* step : steps.subspan(static_cast<std::size_t>(version))) db.run(step);
  statement write(db, "UPDATE weir_meta SET value = ?1 WHERE name = 'version' AND value <> ?1");
  statement::run(write, known).finish();
  t.commit();
}

void note_boot(database& db, std::string_view boot_id) {
  transaction t(db);
  statement write(db, "UPDATE weir_meta SET value = ?1 WHERE name = 'boot' AND value <> ?1");
  statement::run(write, boot_id).finish();
  // Before any time that the clock can show.
  if (db.changes() != 0) db.run("UPDATE weir_jobs SET at = -9223372036854775807 WHERE state = 3");
  t.commit();
}

void check_integrity(database& db) {
  statement check(db, "PRAGMA quick_check(1)");
  statement::run row(check);
  if (!row.step()) return;
  if (const std::string found = row.text(0); found != "ok") db.fail(SQLITE_CORRUPT, found);
}

}  // namespace weir::sqlite
