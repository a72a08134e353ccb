// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SQLITE_QUEUE_HPP
#define WEIR_SQLITE_QUEUE_HPP

#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;

namespace weir {

/// The category of SQLite's own errors, named "weir.sqlite". Values are extended result codes, such
/// as `SQLITE_FULL`.
const boost::system::error_category& sqlite_category() noexcept;

struct sqlite_queue_options {
  std::string name = {};  ///< what reports call it; empty: the path

  /// Jobs that the file holds at most, in whatever state; 0: as many as the disk takes.
  std::size_t capacity = 0;

  /// How long a transaction waits for one of another process before it fails with `SQLITE_BUSY`.
  duration busy_timeout = std::chrono::seconds(5);

  /// How late those who wait for jobs may notice what another process has done.
  duration poll = std::chrono::milliseconds(100);

  /// Whether opening the file checks it as a whole, which takes about a second for each gigabyte.
  bool check = true;

  /// Where SQLite is called, which blocks; empty: on a thread of the queue's own. Calls do not
  /// overlap. A test gives its own executor, and the queue is on virtual time.
  boost::asio::any_io_executor executor = {};

  /// What is another one each time the machine has been started; empty: what Linux says. Leases
  /// that were given before the last start have run out.
  std::string boot_id = {};
};

/// A `task_queue` in an SQLite file: what has been accepted survives the process and, since each
/// transaction is synced, the machine.
///
/// Any number of processes on one machine may share the file. Requests that come while a
/// transaction is being synced share the next one, so many callers at once cost little more than
/// one.
///
/// Its tables are named `weir_...` and stand beside those of the program, which may be in the same
/// file: see `async_enqueue_with` and `async_ack_with`.
///
/// Thread safety: as `task_queue`.
class sqlite_queue final : public task_queue {
 public:
  /// Opens the file, makes what is missing, and brings it to this version. Blocks.
  ///
  /// \param ex where handlers run that have no executor of their own
  /// \param path as SQLite takes it, `file:` addresses too
  ///
  /// \throws system_error with an error of `sqlite_category` that says what is wrong:
  /// `SQLITE_CANTOPEN`; `SQLITE_NOTADB` if it is no database; `SQLITE_CORRUPT` if it is a damaged
  /// one; `SQLITE_READONLY`; `SQLITE_SCHEMA` if its tables are of a later version, or none of
  /// weir's.
  sqlite_queue(boost::asio::any_io_executor ex, std::string path,
               sqlite_queue_options options = {});

  /// Carries out what was accepted, then closes the file. Blocks for that, where the thread is the
  /// queue's own; else the executor goes on to do it.
  ~sqlite_queue() override;

  /// What a function may do in the transaction of a request: anything but begin, commit or roll
  /// back. It runs where SQLite is called, may be called again if the transaction has to be
  /// repeated, and its effect on the file counts once. If it returns an error, or throws
  /// `system_error`, neither its effect nor the request has happened, and that is the error of the
  /// request; any other exception counts as `SQLITE_ABORT`.
  using effect = std::function<error_code(sqlite3*)>;

  /// Adds a job in one transaction with what the program writes: neither is there without the other
  /// (the *outbox* pattern). Completion signature: `void(error_code, enqueued)`. If the unique key
  /// is held already, `with` runs all the same.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, enqueued)) Token>
  auto async_enqueue_with(const job_request& request, effect with, Token&& token);

  /// Acknowledges in one transaction with what the job writes to the same file: that is written
  /// exactly once, however often the job runs. Completion signature: `void(error_code)`. If the
  /// lease is lost `with` does not run.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
  auto async_ack_with(lease_key key, std::string_view result, effect with, Token&& token);

 private:
  struct backend;
  explicit sqlite_queue(backend made);
  static transaction_effect in_transaction(effect with);

  struct own_thread;
  std::shared_ptr<own_thread> thread_;
};

}  // namespace weir

#include <weir/impl/sqlite_queue.hpp>

#endif  // WEIR_SQLITE_QUEUE_HPP
