// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_IMPL_TASK_QUEUE_HPP
#define WEIR_IMPL_TASK_QUEUE_HPP

#include <weir/detail/wait_initiation.hpp>

#include <string>
#include <utility>

namespace weir {

namespace detail {

/// A request that owns what the caller's only refers to.
enqueue_request own(std::span<const job_request> requests);
lease_request own(const lease_options& options);

}  // namespace detail

template <typename Op, typename Token>
auto task_queue::start(typename Op::request_type request, Token&& token) {
  return boost::asio::async_initiate<Token, typename Op::results>(
      detail::wait_initiation<Op, queue_backend>{backend_}, token, std::move(request));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, enqueued)) Token>
auto task_queue::async_enqueue(const job_request& request, Token&& token) {
  return start<enqueue_op>(detail::own({&request, 1}), std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<enqueued>)) Token>
auto task_queue::async_enqueue(std::span<const job_request> requests, Token&& token) {
  return start<enqueue_all_op>(detail::own(requests), std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<lease>)) Token>
auto task_queue::async_lease(const lease_options& options, Token&& token) {
  return start<lease_op>(detail::own(options), std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto task_queue::async_ack(lease_key key, Token&& token) {
  return async_ack(key, std::string_view(), std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto task_queue::async_ack(lease_key key, std::string_view result, Token&& token) {
  return start<settle_op>({.key = key, .text = std::string(result)}, std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto task_queue::async_nack(lease_key key, const nack_options& options, Token&& token) {
  return start<settle_op>({.how = settlement::nack,
                           .key = key,
                           .time = options.delay,
                           .text = std::string(options.reason),
                           .dead = options.dead},
                          std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code)) Token>
auto task_queue::async_release(lease_key key, duration delay, Token&& token) {
  return start<settle_op>({.how = settlement::release, .key = key, .time = delay},
                          std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, time_point)) Token>
auto task_queue::async_extend(lease_key key, duration lease_for, Token&& token) {
  return start<extend_op>({.how = settlement::extend, .key = key, .time = lease_for},
                          std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, bool)) Token>
auto task_queue::async_cancel(job_id id, Token&& token) {
  return start<cancel_op>({.id = id}, std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::optional<job_status>)) Token>
auto task_queue::async_find(job_id id, Token&& token) {
  return start<find_op>({.id = id}, std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, queue_stats)) Token>
auto task_queue::async_stats(Token&& token) {
  return start<stats_op>({}, std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::vector<job_status>)) Token>
auto task_queue::async_dead_letters(job_id after, int limit, Token&& token) {
  return start<dead_letters_op>({.after = after, .limit = limit}, std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token>
auto task_queue::async_requeue(std::span<const job_id> ids, Token&& token) {
  return start<bury_op>({.requeue = true, .ids = {ids.begin(), ids.end()}},
                        std::forward<Token>(token));
}

template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(error_code, std::size_t)) Token>
auto task_queue::async_purge(std::span<const job_id> ids, Token&& token) {
  return start<bury_op>({.ids = {ids.begin(), ids.end()}}, std::forward<Token>(token));
}

}  // namespace weir

#endif  // WEIR_IMPL_TASK_QUEUE_HPP
