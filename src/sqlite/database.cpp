// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sqlite/database.hpp"

#include <weir/sqlite_queue.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <limits>

namespace weir {

namespace {

class sqlite_error_category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "weir.sqlite"; }
  std::string message(int value) const override { return sqlite3_errstr(value); }
};

}  // namespace

const boost::system::error_category& sqlite_category() noexcept {
  static const sqlite_error_category instance;
  return instance;
}

namespace sqlite {

database::database(const std::string& path, duration busy_timeout) : path_(path) {
  sqlite3* db = nullptr;
  // Calls do not overlap, so SQLite need not lock its connection for each of them.
  const int code = sqlite3_open_v2(path.c_str(), &db,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI |
                                       SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                                   nullptr);
  handle_.reset(db);
  if (code != SQLITE_OK) fail(code);
  set_busy_timeout(busy_timeout);
}

void database::set_busy_timeout(duration d) noexcept {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(d).count();
  sqlite3_busy_timeout(
      handle(), static_cast<int>(std::clamp<decltype(ms)>(ms, 0, std::numeric_limits<int>::max())));
}

void database::run(const char* sql) {
  if (const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr); code != SQLITE_OK)
    fail(code, sql);
}

void database::fail(int code, std::string_view what) const {
  std::string text = "weir::sqlite_queue: " + path_;
  if (!what.empty()) text.append(": ").append(what);
  // The connection remembers its last error, which is this one or says less.
  if (handle_ && sqlite3_extended_errcode(handle()) == code)
    text.append(": ").append(sqlite3_errmsg(handle()));
  throw boost::system::system_error(code, sqlite_category(), text);
}

statement::statement(database& db, std::string_view sql) : db_(db) {
  sqlite3_stmt* made = nullptr;
  const int code = sqlite3_prepare_v3(db.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &made, nullptr);
  handle_.reset(made);
  if (code != SQLITE_OK) db.fail(code, sql);
}

void statement::bind(int at, std::int64_t value) {
  if (const int code = sqlite3_bind_int64(handle_.get(), at, value); code != SQLITE_OK)
    db_.fail(code);
}

void statement::bind(int at, std::string_view text) {
  // A null pointer would be NULL. The text outlives the run.
  const int code = sqlite3_bind_text64(handle_.get(), at, text.empty() ? "" : text.data(),
                                       text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (code != SQLITE_OK) db_.fail(code);
}

void statement::bind(int at, blob b) {
  const int code = sqlite3_bind_blob64(handle_.get(), at, b.bytes.empty() ? "" : b.bytes.data(),
                                       b.bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) db_.fail(code);
}

void statement::bind(int at, std::nullptr_t) {
  if (const int code = sqlite3_bind_null(handle_.get(), at); code != SQLITE_OK) db_.fail(code);
}

bool statement::run::step() {
  const int code = sqlite3_step(statement_.handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) statement_.db_.fail(code);
  return false;
}

bool statement::run::is_null(int column) const {
  return sqlite3_column_type(statement_.handle_.get(), column) == SQLITE_NULL;
}

std::int64_t statement::run::number(int column) const {
  return sqlite3_column_int64(statement_.handle_.get(), column);
}

std::string statement::run::text(int column) const {
  sqlite3_stmt* const s = statement_.handle_.get();
  const void* const bytes = sqlite3_column_blob(s, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(s, column));
  return bytes ? std::string(static_cast<const char*>(bytes), size) : std::string();
}

}  // namespace sqlite

}  // namespace weir
