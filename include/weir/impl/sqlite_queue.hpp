// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_SQLITE_QUEUE_HPP
#define WEIR_IMPL_SQLITE_QUEUE_HPP

namespace weir {

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, enqueued)) Token>
auto sqlite_queue::async_enqueue_with(const job_request& request, effect with, Token&& token) {
  auto owned = detail::own({&request, 1});
  owned.effect = in_transaction(std::move(with));
  return start<enqueue_op>(std::move(owned), std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto sqlite_queue::async_ack_with(lease_key key, std::string_view result, effect with,
                                  Token&& token) {
  return start<settle_op>(
      {.key = key, .text = std::string(result), .effect = in_transaction(std::move(with))},
      std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_SQLITE_QUEUE_HPP
