// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "snapshot.hpp"

#include <weir/admin.hpp>
#include <weir/detail/require.hpp>
#include <weir/error.hpp>
#include <weir/permit.hpp>
#include <weir/semaphore.hpp>
#include <weir/with_timeout.hpp>
#include <weir/worker_pool.hpp>

#include <boost/asio/system_executor.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <sstream>
#include <type_traits>
#include <utility>

namespace weir {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

// The file is HTML inside a raw string literal, so that no build has to generate anything.
constexpr std::string_view admin_page =
#include "page.html"
    ;

using text_response = http::response<http::string_body>;

std::string_view std_view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// 128 bits that nobody can guess.
std::string make_nonce() {
  std::random_device random;
  std::array<char, 33> hex{};
  std::snprintf(hex.data(), hex.size(), "%08x%08x%08x%08x", random(), random(), random(), random());
  return hex.data();
}

std::string page_with(const std::string& nonce) {
  constexpr std::string_view mark = "NONCE";
  std::string page;
  std::string_view rest = admin_page;
  for (auto at = rest.find(mark); at != rest.npos; at = rest.find(mark)) {
    page.append(rest.substr(0, at)).append(nonce);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

text_response make_answer(http::status status, std::string body,
                          const char* type = "text/plain; charset=utf-8") {
  text_response r(status, 11);
  r.set(http::field::content_type, type);
  r.set(http::field::cache_control, "no-store");
  r.set("X-Content-Type-Options", "nosniff");
  r.set("Referrer-Policy", "no-referrer");
  r.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  r.body() = std::move(body);
  return r;
}

text_response page_answer() {
  const std::string nonce = make_nonce();
  text_response r = make_answer(http::status::ok, page_with(nonce), "text/html; charset=utf-8");
  r.set("Content-Security-Policy",
        "default-src 'none'; connect-src 'self'; img-src data:; script-src 'nonce-" + nonce +
            "'; style-src 'nonce-" + nonce +
            "'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'");
  return r;
}

/// Without the port.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool asks_for_text(const admin_request& request, std::string_view query) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    if (part == "format=text") return true;
    if (part == "format=json") return false;
    query.remove_prefix(std::min(query.size(), part.size() + 1));
  }
  return std_view(request[http::field::accept]).find("text/plain") != std::string_view::npos;
}

bool keeps_alive(const admin_request& request) {
  return request.version() >= 11 &&
         !http::token_list(request[http::field::connection]).exists("close");
}

}  // namespace

namespace detail {

class admin_state {
 public:
  using writer = std::function<asio::awaitable<void>(asio::const_buffer)>;

  explicit admin_state(admin_options o)
      : options(std::move(o)),
        streams_(asio::system_executor(),
                 std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(options.streams), 1)),
        stopping_(asio::system_executor(), 1),
        until_stopped_(stopping_.try_acquire()) {}

  void stop() {
    stopped_ = true;  // first, so that nobody who comes now keeps it waiting
    { const std::lock_guard those_inside(mutex_); }
    stopping_.close();
  }

  /// Looks at pools and calls hooks: to be called inside `look`.
  text_response respond(const admin_request& request) const {
    std::string_view path = std_view(request.target());
    const std::string_view query =
        path.find('?') == path.npos ? "" : path.substr(path.find('?') + 1);
    path = path.substr(0, path.find('?'));
    if (!options.hosts.empty() &&
        std::find(options.hosts.begin(), options.hosts.end(),
                  host_name(std_view(request[http::field::host]))) == options.hosts.end())
      return make_answer(http::status::misdirected_request, "no such host\n");
    if (options.authorize && !options.authorize(request)) return refuse();
    if (!path.starts_with(options.prefix))
      return make_answer(http::status::not_found, "no such page\n");
    path.remove_prefix(options.prefix.size());
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      text_response r = make_answer(http::status::method_not_allowed, "GET and HEAD only\n");
      r.set(http::field::allow, "GET, HEAD");
      return r;
    }
    if (path.empty() && !options.prefix.empty()) {
      text_response r = make_answer(http::status::permanent_redirect, "");
      r.set(http::field::location, options.prefix + '/');
      return r;
    }
    if (path == "/") return page_answer();
    if (path == "/healthz") return health();
    if (path == "/metrics" && options.metrics)
      return make_answer(http::status::ok, options.metrics(),
                         "text/plain; version=0.0.4; charset=utf-8");
    if (path == "/tasks") return tasks(asks_for_text(request, query));
    if (path == "/events") return make_answer(http::status::ok, "", events_type);
    return make_answer(http::status::not_found, "no such page\n");
  }

  /// Whether this answer is only the beginning of a stream.
  static bool is_stream(const text_response& r, const admin_request& request) {
    return request.method() == http::verb::get && r[http::field::content_type] == events_type;
  }

  /// A place among the streams; empty if there is none.
  permit try_stream() { return options.streams == 0 ? permit() : streams_.try_acquire(); }

  /// What `f` makes of the pools and the hooks, unless they may be gone.
  ///
  /// `f` runs under the lock, which is shared, so that `stop` waits for it. A count of those inside
  /// would come to the same: a hook that stops its own handler waits for itself.
  template <typename F>
  std::optional<std::invoke_result_t<F>> look(F f) {
    const std::shared_lock inside(mutex_);
    if (stopped_) return std::nullopt;
    return f();
  }

  /// Waits until the next event is due. False: there is none.
  asio::awaitable<bool> wait() {
    const duration interval = std::max<duration>(options.interval, std::chrono::milliseconds(10));
    try {
      // A timer would have to be cancelled from whatever thread calls `stop`; a semaphore may be.
      co_await with_timeout(stopped(), interval);
    } catch (const boost::system::system_error& e) {
      if (e.code() == errc::deadline_exceeded) co_return true;
      if (e.code() != errc::semaphore_closed) throw;
    }
    co_return false;
  }

  const admin_options options;

 private:
  static constexpr const char* events_type = "text/event-stream; charset=utf-8";

  asio::awaitable<void> stopped() {
    static_cast<void>(co_await stopping_.async_acquire(asio::use_awaitable));
  }

  text_response refuse() const {
    if (options.challenge.empty()) return make_answer(http::status::forbidden, "not allowed\n");
    text_response r = make_answer(http::status::unauthorized, "who are you?\n");
    r.set(http::field::www_authenticate, options.challenge);
    return r;
  }

  text_response health() const {
    const auto closed = [](const worker_pool* p) { return p->closed(); };
    if (std::any_of(options.pools.begin(), options.pools.end(), closed))
      return make_answer(http::status::service_unavailable, "closed\n");
    if (options.healthy && !options.healthy())
      return make_answer(http::status::service_unavailable, "not well\n");
    return make_answer(http::status::ok, "ok\n");
  }

  text_response tasks(bool as_text) const {
    return make_answer(http::status::ok,
                       as_text ? tasks_as_text(options.pools, options.tasks)
                               : tasks_as_json(options.pools, options.tasks),
                       as_text ? "text/plain; charset=utf-8" : "application/json");
  }

  semaphore streams_;
  semaphore stopping_;
  permit until_stopped_;  // so that whoever waits for one waits for the end
  std::shared_mutex mutex_;
  std::atomic<bool> stopped_{false};
};

namespace {

asio::awaitable<void> put(admin_state& s, const admin_state::writer& write, std::string text) {
  co_await with_timeout(write(asio::buffer(text)), s.options.write_time);
}

asio::awaitable<void> put_header(admin_state& s, const admin_state::writer& write,
                                 const text_response& r) {
  std::ostringstream out;
  out << r.base();
  co_await put(s, write, std::move(out).str());
}

asio::awaitable<void> put_events(admin_state& s, const admin_state::writer& write) {
  admin_snapshots snapshots(s.options.pools, s.options.top_users);
  bool more = true;
  while (more) {
    std::optional<std::string> snapshot = s.look([&] { return snapshots.next(); });
    if (!snapshot) co_return;
    co_await put(s, write, "data: " + std::move(*snapshot) + "\n\n");
    more = co_await s.wait();
  }
}

asio::awaitable<bool> answer_request(std::shared_ptr<admin_state> s, admin_state::writer write,
                                     const admin_request& request) {
  text_response r = make_answer(http::status::service_unavailable, "stopped\n");
  try {
    if (auto looked = s->look([&] { return s->respond(request); })) r = std::move(*looked);
  } catch (const std::exception&) {
    // A hook has failed, or there is no memory. What it says may be a secret.
    r = make_answer(http::status::internal_server_error, "it went wrong\n");
  }
  permit place;
  if (admin_state::is_stream(r, request)) {
    place = s->try_stream();
    if (place) {
      r.keep_alive(false);
      co_await put_header(*s, write, r);
      co_await put_events(*s, write);
      co_return false;
    }
    r = make_answer(http::status::service_unavailable, "too many streams\n");
    r.set(http::field::retry_after, "5");
  }
  const bool keep = keeps_alive(request);
  r.keep_alive(keep);
  r.prepare_payload();
  std::ostringstream header;
  header << r.base();
  std::string text = std::move(header).str();
  if (request.method() != http::verb::head) text += r.body();
  co_await put(*s, write, std::move(text));
  co_return keep;
}

}  // namespace

}  // namespace detail

admin_handler::admin_handler(admin_options options)
    : state_(std::make_shared<detail::admin_state>(std::move(options))) {
  const admin_options& o = state_->options;
  detail::require(std::find(o.pools.begin(), o.pools.end(), nullptr) == o.pools.end() &&
                      (o.prefix.empty() || (o.prefix.front() == '/' && o.prefix.back() != '/')),
                  "admin_handler");
}

bool admin_handler::owns(std::string_view target) const noexcept {
  const std::string& prefix = state_->options.prefix;
  if (!target.starts_with(prefix)) return false;
  target.remove_prefix(prefix.size());
  return target.empty() || target.front() == '/' || target.front() == '?';
}

asio::awaitable<bool> admin_handler::answer(writer write, const admin_request& request) {
  return detail::answer_request(state_, std::move(write), request);
}

void admin_handler::stop() { state_->stop(); }

}  // namespace weir
