// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "sqlite/store.hpp"

#include <weir/detail/queue_engine.hpp>
#include <weir/sqlite_queue.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

namespace weir {

namespace {

std::string boot_id_of_machine() {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(path);
  std::string id;
  if (!std::getline(file, id))
    throw boost::system::system_error(
        errno, boost::system::system_category(),
        std::string("weir::sqlite_queue: no boot_id is given, and ") + path + " cannot be read");
  return id;
}

}  // namespace

/// Where SQLite is called, if the program has no place for it.
struct sqlite_queue::own_thread {
  own_thread() : work(context.get_executor()) {}

  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::shared_ptr<detail::queue_engine> engine;
  std::thread thread;
};

struct sqlite_queue::backend {
  std::shared_ptr<own_thread> thread;
  std::shared_ptr<detail::queue_engine> engine;

  backend(boost::asio::any_io_executor ex, std::string path, sqlite_queue_options options) {
    if (options.boot_id.empty()) options.boot_id = boot_id_of_machine();
    auto store = std::make_unique<sqlite::store>(
        path, sqlite::store_options{.capacity = options.capacity,
                                    .busy_timeout = options.busy_timeout,
                                    .check = options.check,
                                    .boot_id = std::move(options.boot_id)});
    if (!options.executor) {
      thread = std::make_shared<own_thread>();
      options.executor = thread->context.get_executor();
    }
    engine = std::make_shared<detail::queue_engine>(
        std::move(ex), std::move(store),
        detail::engine_options{.name = options.name.empty() ? std::move(path) : options.name,
                               .store = std::move(options.executor),
                               .poll = options.poll,
                               .gather = thread != nullptr});
    if (!thread) return;
    thread->engine = engine;
    thread->thread = std::thread([t = thread.get()] { t->context.run(); });
  }
};

sqlite_queue::sqlite_queue(boost::asio::any_io_executor ex, std::string path,
                           sqlite_queue_options options)
    : sqlite_queue(backend(std::move(ex), std::move(path), std::move(options))) {}

sqlite_queue::sqlite_queue(backend made)
    : task_queue(std::move(made.engine)), thread_(std::move(made.thread)) {}

sqlite_queue::~sqlite_queue() {
  if (!thread_) return;
  close();
  thread_->engine->wait_for_rest();
  thread_->work.reset();
  thread_->thread.join();
}

transaction_effect sqlite_queue::in_transaction(effect with) {
  return [with = std::move(with)](void* native) { return with(static_cast<sqlite3*>(native)); };
}

}  // namespace weir
