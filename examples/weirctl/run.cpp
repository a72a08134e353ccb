// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "run.hpp"

#include "format.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weirctl {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

constexpr std::size_t jobs_at_once = 500;
constexpr int letters_at_once = 1'000;
constexpr auto look_again = std::chrono::milliseconds(200);

asio::awaitable<void> sleep_for(weir::duration d) {
  weir::steady_timer timer(co_await asio::this_coro::executor, d);
  co_await timer.async_wait(use_awaitable);
}

std::size_t left_to_do(const weir::queue_stats& s) { return s.ready + s.leased + s.scheduled; }

/// Enqueues payloads as they come, many in one request.
class enqueuer {
 public:
  enqueuer(weir::task_queue& queue, const command& c) : queue_(queue), command_(c) {}

  asio::awaitable<void> add(std::string payload) {
    payloads_.push_back(std::move(payload));
    if (payloads_.size() == jobs_at_once) co_await flush();
  }

  asio::awaitable<void> flush() {
    if (payloads_.empty()) co_return;
    std::vector<std::string> keys(payloads_.size());
    std::vector<weir::job_request> requests;
    requests.reserve(payloads_.size());
    for (std::size_t i = 0; i < payloads_.size(); ++i) {
      ++count_;
      if (!command_.unique.empty())
        keys[i] = command_.unique + (count_ == 1 ? "" : ':' + std::to_string(count_));
      requests.push_back({.kind = command_.kind,
                          .payload = payloads_[i],
                          .user = command_.user,
                          .priority = command_.priority,
                          .delay = command_.delay,
                          .max_attempts = command_.attempts,
                          .unique_key = keys[i],
                          .keep = command_.keep});
    }
    const std::vector<weir::enqueued> added =
        co_await queue_.async_enqueue(std::span<const weir::job_request>(requests), use_awaitable);
    for (const weir::enqueued& e : added) duplicates_ += e.duplicate ? 1 : 0;
    last_ = added.back().id;
    payloads_.clear();
  }

  std::size_t count() const noexcept { return count_; }
  std::size_t duplicates() const noexcept { return duplicates_; }
  weir::job_id last() const noexcept { return last_; }

 private:
  weir::task_queue& queue_;
  const command& command_;
  std::vector<std::string> payloads_;
  std::size_t count_ = 0;
  std::size_t duplicates_ = 0;
  weir::job_id last_ = 0;
};

asio::awaitable<int> enqueue(weir::task_queue& queue, const command& c, streams io) {
  enqueuer jobs(queue, c);
  for (const std::string& payload : c.payloads) co_await jobs.add(payload);
  if (c.payloads.empty()) {
    std::ifstream file;
    if (c.file != "-") {
      file.open(c.file);
      if (!file) {
        io.err << "weirctl: cannot read " << c.file << '\n';
        co_return 1;
      }
    }
    std::istream& in = c.file == "-" ? io.in : file;
    for (std::string line; std::getline(in, line);) co_await jobs.add(line);
  }
  co_await jobs.flush();
  io.out << "enqueued " << jobs.count() - jobs.duplicates();
  if (jobs.duplicates() > 0) io.out << ", duplicates " << jobs.duplicates();
  if (jobs.count() == 1) io.out << ", id " << jobs.last();
  io.out << '\n';
  co_return 0;
}

asio::awaitable<int> watch(weir::task_queue& queue, const command& c, streams io) {
  const weir::time_point started = weir::steady_clock::now();
  const weir::duration step = io.terminal ? look_again : std::chrono::seconds(1);
  std::optional<std::size_t> before;
  for (;;) {
    const weir::queue_stats s = co_await queue.async_stats(use_awaitable);
    const std::size_t left = left_to_do(s);
    io.out << (io.terminal ? "\r\x1b[K" : "") << to_line(s);
    if (before)
      io.out << "  " << per_second(static_cast<double>(left) - static_cast<double>(*before), step);
    io.out << (io.terminal ? "" : "\n") << std::flush;
    before = left;
    if (c.time > weir::duration::zero() && weir::steady_clock::now() - started + step > c.time)
      break;
    co_await sleep_for(step);
  }
  if (io.terminal) io.out << '\n';
  co_return 0;
}

asio::awaitable<int> stats(weir::task_queue& queue, streams io) {
  const weir::queue_stats s = co_await queue.async_stats(use_awaitable);
  io.out << to_line(s) << '\n';
  co_return 0;
}

asio::awaitable<int> drain(weir::task_queue& queue, const command& c, streams io) {
  const weir::time_point started = weir::steady_clock::now();
  for (;;) {
    const weir::queue_stats s = co_await queue.async_stats(use_awaitable);
    if (left_to_do(s) == 0) co_return 0;
    if (c.time > weir::duration::zero() && weir::steady_clock::now() - started >= c.time) {
      io.err << "weirctl: not drained: " << to_line(s) << '\n';
      co_return 1;
    }
    co_await sleep_for(look_again);
  }
}

asio::awaitable<int> list(weir::task_queue& queue, const command& c, streams io) {
  weir::job_id after = c.after;
  for (int left = c.limit; left > 0;) {
    const auto page =
        co_await queue.async_dead_letters(after, std::min(left, letters_at_once), use_awaitable);
    if (page.empty()) break;
    for (const weir::job_status& s : page) io.out << to_row(s) << '\n';
    after = page.back().job.id;
    left -= static_cast<int>(page.size());
  }
  co_return 0;
}

asio::awaitable<int> show(weir::task_queue& queue, const command& c, streams io) {
  const auto found = co_await queue.async_find(c.ids.front(), use_awaitable);
  if (found)
    io.out << to_text(*found);
  else
    io.err << "weirctl: there is no job " << c.ids.front() << '\n';
  co_return found ? 0 : 1;
}

asio::awaitable<std::size_t> bury(weir::task_queue& queue, const command& c,
                                  const std::vector<weir::job_id>& ids) {
  const std::span<const weir::job_id> these(ids);
  if (c.name == "requeue") co_return co_await queue.async_requeue(these, use_awaitable);
  co_return co_await queue.async_purge(these, use_awaitable);
}

/// `requeue` and `purge`.
asio::awaitable<int> bury(weir::task_queue& queue, const command& c, streams io) {
  std::size_t asked = c.ids.size();
  std::size_t done = 0;
  if (!c.all) done = co_await bury(queue, c, c.ids);
  for (weir::job_id after = 0; c.all;) {
    const auto page = co_await queue.async_dead_letters(after, letters_at_once, use_awaitable);
    if (page.empty()) break;
    std::vector<weir::job_id> ids;
    ids.reserve(page.size());
    for (const weir::job_status& s : page) ids.push_back(s.job.id);
    after = ids.back();
    asked += ids.size();
    done += co_await bury(queue, c, ids);
  }
  io.out << (c.name == "requeue" ? "requeued " : "purged ") << done << '\n';
  if (done < asked)
    io.err << "weirctl: " << asked - done
           << " not: no dead letters, or their unique keys are held by others\n";
  co_return done < asked ? 1 : 0;
}

asio::awaitable<int> cancel(weir::task_queue& queue, const command& c, streams io) {
  int status = 0;
  for (const weir::job_id id : c.ids) {
    const bool cancelled = co_await queue.async_cancel(id, use_awaitable);
    if (cancelled) {
      io.out << "cancelled " << id << '\n';
    } else {
      io.err << "weirctl: job " << id << " has ended, or never was\n";
      status = 1;
    }
  }
  co_return status;
}

}  // namespace

asio::awaitable<int> run(weir::task_queue& queue, const command& c, streams io) {
  if (c.name == "enqueue") return enqueue(queue, c, io);
  if (c.name == "watch") return watch(queue, c, io);
  if (c.name == "stats") return stats(queue, io);
  if (c.name == "drain") return drain(queue, c, io);
  if (c.name == "list") return list(queue, c, io);
  if (c.name == "show") return show(queue, c, io);
  if (c.name == "cancel") return cancel(queue, c, io);
  return bury(queue, c, io);
}

}  // namespace weirctl
