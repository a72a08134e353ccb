// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_SQLITE_DATABASE_HPP
#define WEIR_SRC_SQLITE_DATABASE_HPP

#include <weir/clock.hpp>

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weir::sqlite {

/// A connection. What fails is thrown as `system_error` with SQLite's code and text.
class database {
 public:
  /// \throws also if the file can only be read.
  database(const std::string& path, duration busy_timeout);

  sqlite3* handle() const noexcept { return handle_.get(); }
  bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle()) == 0; }

  /// Runs statements that have no results.
  void run(const char* sql);

  /// Throws what `code` stands for; the text is that of the connection's last error, and `what`.
  [[noreturn]] void fail(int code, std::string_view what = {}) const;

  /// Rows changed by the last statement.
  std::int64_t changes() const noexcept { return sqlite3_changes64(handle()); }

  void set_busy_timeout(duration d) noexcept;

 private:
  struct closer {
    void operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }
  };
  std::string path_;
  std::unique_ptr<sqlite3, closer> handle_;
};

/// Bytes, where a `string_view` would be text.
struct blob {
  std::string_view bytes;
};

/// A prepared statement, kept for the life of its connection.
class statement {
 public:
  statement(database& db, std::string_view sql);

  /// One execution: parameters are bound in order, and the statement is reset at the end.
  class run {
   public:
    template <typename... Args>
    explicit run(statement& s, const Args&... args) : statement_(s) {
      int at = 0;
      (statement_.bind(++at, args), ...);
    }
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run() { sqlite3_reset(statement_.handle_.get()); }

    /// The next row. \returns whether there is one.
    bool step();

    /// All rows; for what has none.
    void finish() {
      while (step()) continue;
    }

    // A column of the row.
    bool is_null(int column) const;
    std::int64_t number(int column) const;
    std::string text(int column) const;

   private:
    statement& statement_;
  };

 private:
  struct finalizer {
    void operator()(sqlite3_stmt* s) const noexcept { sqlite3_finalize(s); }
  };

  void bind(int at, std::int64_t value);
  void bind(int at, std::string_view text);
  void bind(int at, blob b);
  void bind(int at, std::nullptr_t);

  database& db_;
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
};

}  // namespace weir::sqlite

#endif  // WEIR_SRC_SQLITE_DATABASE_HPP
