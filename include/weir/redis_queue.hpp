// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_REDIS_QUEUE_HPP
#define WEIR_REDIS_QUEUE_HPP

#include <weir/clock.hpp>
#include <weir/error.hpp>
#include <weir/task_queue.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <ostream>
#include <string_view>
#include <type_traits>

namespace weir {

/// What a Redis server, or the way to it, says no with. The comment on a value is the advice.
///
/// A server without memory is `errc::queue_full`, and only to those who enqueue: reports make room.
enum class redis_errc {
  /// The server could not be reached in all of the time, and the request was never sent.
  unreachable = 1,
  /// The connection broke after the request was sent, and it could not be asked again in the time:
  /// it may have been carried out. Use a unique key where that matters, and ask once more.
  outcome_unknown,
  /// The server is a replica. Wait for the failover, or correct the address.
  read_only,
  /// The server is reading its file. Wait.
  loading,
  /// Somebody's script has kept the server busy for long. Find it: `SCRIPT KILL`.
  busy,
  /// The server takes no writes since it cannot save them, or has too few replicas. Look at it.
  cannot_save,
  /// Name or password are wrong, missing, or not enough. Correct the address, or the access list.
  access_denied,
  /// There is no database of that number.
  no_such_database,
  /// The keys of this queue are of another version of weir.
  wrong_version,
  /// The answer is none that weir's scripts give: something else is listening there.
  bad_answer,
  /// Any other error of the server.
  server_error,
};

/// The category of `redis_errc`, named "weir.redis".
const boost::system::error_category& redis_category() noexcept;

error_code make_error_code(redis_errc e) noexcept;

/// Prints as the error code does: "weir.redis:3".
template <typename Char, typename Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, redis_errc e) {
  return out << make_error_code(e);
}

struct redis_queue_options {
  /// Which queue on that server; all its keys begin with `weir:{name}:`, and so live in one slot.
  std::string_view name = "default";

  /// For how long a request is tried, and tried again, while the server is not there or says that
  /// it cannot now.
  duration timeout = std::chrono::seconds(10);

  /// How long a connection may take to be made, name lookup and greeting included.
  duration connect_timeout = std::chrono::seconds(3);

  /// How long the server may take to answer before the connection counts as lost; it is then made
  /// anew, and the request sent again. This is what notices a peer that is gone without a word.
  duration answer_timeout = std::chrono::seconds(3);

  /// How late those who wait for jobs may notice what nobody has told them of.
  duration poll = std::chrono::seconds(1);
};

static_assert(std::is_trivially_destructible_v<redis_queue_options>);

/// A `task_queue` in a Redis server, version 7 or later: any number of processes on any number of
/// machines share it. What has been accepted is as safe as the server's own settings make it; with
/// `appendonly yes` and `appendfsync always` it survives the server too.
///
/// Each request is one script, so all of it happens or nothing. If the connection breaks before the
/// answer has come the request is sent again on the next one, and the server knows it again: it is
/// carried out once.
///
/// There is one clock, the server's. A `delay` and the end of a lease are counted by it; `run_at`
/// is compared with it. `lease::until` is on the steady clock of the process that holds the lease:
/// the time at which it was asked for, plus `lease_for`, so never later than the server's end.
/// Times are kept to the microsecond, and up to the year 2255.
///
/// Its connections are made when they are first needed, by way of its executor; no thread is
/// blocked. While one is open the executor's context has work: destroy or close the queue to let
/// `run` return. A request of more than 90,000 jobs or 500 MB is `invalid_argument`.
///
/// TLS: none, since hiredis before 1.0 has none. Use a tunnel, or a Unix socket.
///
/// Thread safety: as `task_queue`.
class redis_queue final : public task_queue {
 public:
  /// Connects to nothing yet.
  ///
  /// \param ex where everything is done, and where handlers run that have no executor of their own
  /// \param url `redis://[[user]:password@]host[:port][/database]`, or
  /// `unix://[[user]:password@]/path/of/socket[?db=database]`; `%41` is `A`
  ///
  /// \throws system_error with `invalid_argument` if the address is none of these, if
  /// `options.name` is empty or has a brace in it, or a time is not above zero.
  redis_queue(boost::asio::any_io_executor ex, std::string_view url,
              const redis_queue_options& options = {});
};

}  // namespace weir

template <>
struct boost::system::is_error_code_enum<weir::redis_errc> : std::true_type {};

#endif  // WEIR_REDIS_QUEUE_HPP
