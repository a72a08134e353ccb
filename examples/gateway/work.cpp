// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "work.hpp"

#include <openssl/evp.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace gateway {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::system_error;

namespace {

/// SHA-256 by OpenSSL.
class sha256 {
 public:
  using digest = std::array<unsigned char, 32>;

  sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    if (!context_) throw std::bad_alloc();
    start();
  }

  void start() { check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

  void update(const void* data, std::size_t size) {
    check(EVP_DigestUpdate(context_.get(), data, size));
  }

  digest finish() {
    digest d;
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context_.get(), d.data(), &size));
    return d;
  }

 private:
  static void check(int succeeded) {
    if (succeeded != 1) throw std::runtime_error("SHA-256 failed");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

std::string to_hex(const sha256::digest& d) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : d) {
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

/// The addresses of a host, those left out that the policy does not allow.
///
/// A literal is not handed to the resolver: that would cost a thread and cannot be cancelled.
asio::awaitable<std::vector<tcp::endpoint>> resolve(const http_url& url,
                                                    const fetch_policy& policy) {
  std::vector<tcp::endpoint> endpoints;
  boost::system::error_code not_an_address;
  const auto address = asio::ip::make_address(url.host, not_an_address);
  if (!not_an_address) {
    if (policy.allows(address)) endpoints.emplace_back(address, url.port);
    co_return endpoints;
  }
  tcp::resolver resolver(co_await asio::this_coro::executor);
  const auto found = co_await resolver.async_resolve(
      url.host, std::to_string(url.port), tcp::resolver::numeric_service, asio::use_awaitable);
  for (const auto& entry : found)
    if (policy.allows(entry.endpoint().address())) endpoints.push_back(entry.endpoint());
  co_return endpoints;
}

/// Asks the server at one of `endpoints` for `url`.
asio::awaitable<answer> get(const http_url& url, const std::vector<tcp::endpoint>& endpoints,
                            std::size_t body_limit) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await asio::async_connect(socket, endpoints, asio::use_awaitable);

  http::request<http::empty_body> request(http::verb::get, url.target, 11);
  request.set(http::field::host, url.authority());
  request.set(http::field::user_agent, "weir-gateway");
  request.keep_alive(false);
  co_await http::async_write(socket, request, asio::use_awaitable);

  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(body_limit);
  co_await http::async_read(socket, buffer, parser, asio::use_awaitable);

  answer a;
  a.body = std::move(parser.get().body());
  a.upstream_status = parser.get().result_int();
  a.content_type = "application/octet-stream";  // whatever the server says it is: not ours to vouch
  co_return a;
}

}  // namespace

answer hash_work::operator()(weir::stop_token stop) const {
  constexpr std::size_t chunk = 64 * 1024;
  sha256 hash;
  sha256::digest digest{};
  for (std::uint32_t round = 0; round < rounds; ++round) {
    hash.start();
    if (round > 0) hash.update(digest.data(), digest.size());
    std::size_t done = 0;
    do {
      if (stop.stop_requested()) throw system_error(asio::error::operation_aborted);
      const std::size_t size = std::min(chunk, text.size() - done);
      hash.update(text.data() + done, size);
      done += size;
    } while (done < text.size());
    digest = hash.finish();
  }
  answer a;
  a.body = to_hex(digest) + '\n';
  return a;
}

asio::awaitable<answer> fetch_work::operator()(weir::stop_token stop) const {
  try {
    const std::vector<tcp::endpoint> endpoints = co_await resolve(url, *policy);
    if (endpoints.empty())
      co_return refusal(http::status::forbidden, "fetch may not speak to " + url.authority());
    co_return co_await get(url, endpoints, body_limit);
  } catch (const system_error& e) {
    // A cancellation is not the server's fault; the pool knows what to make of it.
    if (stop.stop_requested()) throw;
    co_return refusal(http::status::bad_gateway, e.code().message());
  }
}

asio::awaitable<answer> sleep_work::operator()(weir::stop_token) const {
  weir::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
  answer a;
  a.body = "slept\n";
  co_return a;
}

}  // namespace gateway
