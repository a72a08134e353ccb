// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "open_queue.hpp"

#include <weir/memory_queue.hpp>

#if defined(WEIR_HAS_SQLITE)
#include <weir/sqlite_queue.hpp>
#endif
#if defined(WEIR_HAS_REDIS)
#include <weir/redis_queue.hpp>
#endif

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace common {

namespace {

[[maybe_unused]] std::unique_ptr<weir::task_queue> not_built(std::string_view kind) {
  throw std::invalid_argument("this program has been built without " + std::string(kind));
}

#if defined(WEIR_HAS_REDIS)
std::unique_ptr<weir::task_queue> open_redis(boost::asio::any_io_executor ex,
                                             std::string_view text) {
  const std::size_t mark = std::min(text.find('#'), text.size());
  weir::redis_queue_options options;
  if (mark < text.size()) options.name = text.substr(mark + 1);
  return std::make_unique<weir::redis_queue>(std::move(ex), text.substr(0, mark), options);
}
#else
std::unique_ptr<weir::task_queue> open_redis(const boost::asio::any_io_executor&,
                                             std::string_view) {
  return not_built("Redis");
}
#endif

#if defined(WEIR_HAS_SQLITE)
std::unique_ptr<weir::task_queue> open_sqlite(boost::asio::any_io_executor ex,
                                              const std::string& file, const queue_address& a) {
  // SQLite would make one, and a misspelt name would be an empty queue.
  if (!a.create && !std::filesystem::exists(file))
    throw boost::system::system_error(
        make_error_code(boost::system::errc::no_such_file_or_directory), file);
  return std::make_unique<weir::sqlite_queue>(std::move(ex), file,
                                              weir::sqlite_queue_options{.capacity = a.capacity});
}
#else
std::unique_ptr<weir::task_queue> open_sqlite(const boost::asio::any_io_executor&,
                                              const std::string&, const queue_address&) {
  return not_built("SQLite");
}
#endif

}  // namespace

std::unique_ptr<weir::task_queue> open_queue(boost::asio::any_io_executor ex,
                                             const queue_address& address) {
  constexpr std::string_view sqlite = "sqlite://";
  const std::string& text = address.text;
  if (text.starts_with("redis://") || text.starts_with("unix://"))
    return open_redis(std::move(ex), text);
  if (text == "memory:") {
    weir::memory_queue_options options;
    if (address.capacity > 0) options.capacity = address.capacity;
    return std::make_unique<weir::memory_queue>(std::move(ex), options);
  }
  return open_sqlite(std::move(ex), text.starts_with(sqlite) ? text.substr(sqlite.size()) : text,
                     address);
}

}  // namespace common
