// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "jobs.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <exception>
#include <optional>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

namespace gateway::load {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using asio::ip::tcp;
using clock = std::chrono::steady_clock;

namespace {

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

constexpr std::chrono::milliseconds answer_time{5'000};
constexpr std::chrono::milliseconds between_tries{50};

/// A connection that is made anew whenever it has to be.
class connection {
 public:
  connection(asio::io_context& io, std::uint16_t port)
      : stream_(io), server_(asio::ip::address_v4::loopback(), port) {}

  /// The answer; empty if there is none, which says nothing of whether the request has arrived.
  asio::awaitable<std::optional<response>> ask(const request& r) {
    boost::system::error_code ec;
    stream_.expires_after(answer_time);
    if (!open_) {
      stream_.close();
      buffer_.clear();
      co_await stream_.async_connect(server_, asio::redirect_error(asio::use_awaitable, ec));
      open_ = !ec;
    }
    http::response_parser<http::string_body> answer;
    if (!ec) co_await http::async_write(stream_, r, asio::redirect_error(asio::use_awaitable, ec));
    if (!ec)
      co_await http::async_read(stream_, buffer_, answer,
                                asio::redirect_error(asio::use_awaitable, ec));
    open_ = !ec && answer.keep_alive();
    if (ec) co_return std::nullopt;
    co_return answer.release();
  }

 private:
  beast::tcp_stream stream_;
  tcp::endpoint server_;
  beast::flat_buffer buffer_;
  bool open_ = false;
};

class job_runner {
 public:
  explicit job_runner(const job_plan& p)
      : plan_(p), deadline_(clock::now() + p.patience), ids_(p.jobs, 0), random_(p.seed) {
    report_.wanted = p.jobs;
  }

  job_report run() {
    for (int i = 0; i < plan_.concurrency; ++i)
      asio::co_spawn(io_, drive(), [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
      });
    io_.run();
    return report_;
  }

 private:
  asio::awaitable<void> drive() {
    connection way(io_, plan_.port);
    while (handed_in_ < plan_.jobs) {
      co_await hand_in(way, handed_in_++);
      std::exponential_distribution<double> pauses(1.0);
      co_await sleep_for(
          std::chrono::duration_cast<clock::duration>(plan_.pause * pauses(random_)));
    }
    while (followed_ < plan_.jobs) co_await follow(way, followed_++);
  }

  asio::awaitable<void> hand_in(connection& way, std::size_t n) {
    const request r = make(http::verb::post,
                           n % 2 == 0 ? "/jobs?kind=hash&rounds=20" : "/jobs?kind=sleep&ms=5", n);
    for (bool first = true; clock::now() < deadline_; first = false) {
      if (!first) ++report_.resent;
      const auto answer = co_await way.ask(r);
      if (answer && answer->result() == http::status::accepted) {
        ids_[n] = json::parse(answer->body()).as_object().at("id").as_int64();
        ++report_.accepted;
        co_return;
      }
      co_await sleep_for(between_tries);
    }
  }

  asio::awaitable<void> follow(connection& way, std::size_t n) {
    if (ids_[n] == 0) {
      ++report_.unfinished;
      co_return;
    }
    const request r = make(http::verb::get, "/jobs/" + std::to_string(ids_[n]), n);
    while (clock::now() < deadline_) {
      const auto answer = co_await way.ask(r);
      if (answer && answer->result() == http::status::not_found) {
        ++report_.lost;
        co_return;
      }
      if (answer && answer->result() == http::status::ok && judge(*answer, n)) co_return;
      co_await sleep_for(between_tries);
    }
    ++report_.unfinished;
  }

  /// Whether the job has ended, which is then in the report.
  bool judge(const response& answer, std::size_t n) {
    const json::object job = json::parse(answer.body()).as_object();
    const json::string& state = job.at("state").as_string();
    if (state != "done" && state != "dead" && state != "cancelled") return false;
    constexpr std::size_t hexadecimal_hash = 65;  // and a line break
    const bool right =
        state == "done" && (n % 2 == 0 ? job.at("result").as_string().size() == hexadecimal_hash
                                       : job.at("result").as_string() == "slept\n");
    ++(right ? report_.completed : report_.wrong);
    if (job.at("attempt").as_int64() > 1) ++report_.begun_again;
    return true;
  }

  request make(http::verb method, const std::string& target, std::size_t n) const {
    request r(method, target, 11);
    r.set(http::field::host, "127.0.0.1:" + std::to_string(plan_.port));
    r.set("X-User", "user-" + std::to_string(n % static_cast<std::size_t>(plan_.users)));
    r.set("Idempotency-Key", std::to_string(plan_.seed) + '-' + std::to_string(n));
    if (method == http::verb::post) r.body() = "job " + std::to_string(n);
    r.prepare_payload();
    return r;
  }

  asio::awaitable<void> sleep_for(clock::duration d) {
    asio::steady_timer timer(io_, d);
    co_await timer.async_wait(asio::use_awaitable);
  }

  const job_plan& plan_;
  clock::time_point deadline_;
  asio::io_context io_{1};
  std::vector<std::int64_t> ids_;
  std::mt19937_64 random_;
  std::size_t handed_in_ = 0;
  std::size_t followed_ = 0;
  job_report report_;
};

}  // namespace

std::string job_report::to_text() const {
  std::ostringstream out;
  out << wanted << " jobs: " << accepted << " accepted, " << completed << " completed, " << lost
      << " lost, " << wrong << " wrong, " << unfinished << " unfinished\n"
      << begun_again << " were begun more than once; " << resent
      << " requests had to be sent again\n";
  return out.str();
}

job_report run_jobs(const job_plan& p) { return job_runner(p).run(); }

}  // namespace gateway::load
