// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "job_work.hpp"

#include <weir/job_context.hpp>

#include <boost/asio/awaitable.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace gateway {

namespace asio = boost::asio;

namespace {

/// The line that a client would have been told.
std::string reason_of(const answer& a) {
  std::string reason = a.body;
  while (!reason.empty() && reason.back() == '\n') reason.pop_back();
  return reason;
}

std::string result_of(answer a) {
  const auto status = static_cast<unsigned>(a.status);
  if (status == 200) return std::move(a.body);
  if (status < 500) throw weir::discard_job(reason_of(a));
  throw std::runtime_error(reason_of(a));
}

asio::awaitable<answer> carry_out(const hash_work& w, weir::stop_token stop) { co_return w(stop); }
asio::awaitable<answer> carry_out(const auto& w, weir::stop_token stop) {
  co_return co_await w(stop);
}

asio::awaitable<std::string> run(const work_reader& reader, weir::job_context& context) {
  const weir::job& j = context.job();
  std::string query;
  for (const weir::job_header& h : j.headers)
    if (h.name == query_header) query = h.value;
  std::variant<work, answer> read = reader.read(j.kind, query, j.payload);
  if (auto* const complaint = std::get_if<answer>(&read))
    throw weir::discard_job(reason_of(*complaint));
  const work what = std::get<work>(std::move(read));
  const auto start = [stop = context.stop_token()](const auto& w) { return carry_out(w, stop); };
  auto running = std::visit(start, what);
  co_return result_of(co_await std::move(running));
}

}  // namespace

weir::job_handlers make_handlers(const work_reader& reader) {
  const auto handler = [reader](weir::job_context& context) { return run(reader, context); };
  weir::job_handlers handlers;
  for (const char* kind : {"hash", "fetch", "sleep"}) handlers.on(kind, handler);
  return handlers;
}

}  // namespace gateway
