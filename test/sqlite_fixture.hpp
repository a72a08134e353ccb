// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_SQLITE_FIXTURE_HPP
#define WEIR_TEST_SQLITE_FIXTURE_HPP

#include "scratch_directory.hpp"

#include <sqlite3.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace weir_test {

/// A connection of somebody else to the file of a queue.
class other_connection {
 public:
  explicit other_connection(const std::string& path) {
    BOOST_TEST_REQUIRE(sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    sqlite3_busy_timeout(db_, 10'000);
  }
  other_connection(const other_connection&) = delete;
  other_connection& operator=(const other_connection&) = delete;
  ~other_connection() { sqlite3_close_v2(db_); }

  void run(const std::string& sql) {
    BOOST_TEST_REQUIRE(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK,
                       sqlite3_errmsg(db_));
  }

  /// The first column of the first row; 0 if there is none.
  std::int64_t number(const std::string& sql) {
    sqlite3_stmt* s = nullptr;
    BOOST_TEST_REQUIRE(sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr) == SQLITE_OK,
                       sqlite3_errmsg(db_));
    const std::int64_t n = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_finalize(s);
    return n;
  }

  /// Whether the table of counts says what there is.
  bool counts_are_right() {
    return number(
               "SELECT count(*) FROM weir_counts c WHERE jobs <>"
               " (SELECT count(*) FROM weir_jobs j WHERE j.state = c.state)") == 0;
  }

 private:
  sqlite3* db_ = nullptr;
};

/// Runs statements on a connection, as a function in a transaction does.
inline int execute(sqlite3* db, const std::string& sql) {
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
}

}  // namespace weir_test

#endif  // WEIR_TEST_SQLITE_FIXTURE_HPP
