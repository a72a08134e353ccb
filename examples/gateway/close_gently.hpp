// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_GATEWAY_CLOSE_GENTLY_HPP
#define WEIR_EXAMPLES_GATEWAY_CLOSE_GENTLY_HPP

#include <weir/clock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace gateway {

/// Says on `socket` that no more comes, waits for the peer to close too, at most for `within`,
/// then closes.
///
/// A plain close while input is unread, or before the rest of it arrives, is a reset, and a reset
/// may overtake the answer that was written last.
boost::asio::awaitable<void> close_gently(boost::asio::ip::tcp::socket& socket,
                                          weir::duration within);

}  // namespace gateway

#endif  // WEIR_EXAMPLES_GATEWAY_CLOSE_GENTLY_HPP
