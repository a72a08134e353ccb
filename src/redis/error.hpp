// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_ERROR_HPP
#define WEIR_SRC_REDIS_ERROR_HPP

#include <weir/error.hpp>

#include <string_view>

namespace weir::redis {

/// What an error that the server has answered is called here.
error_code error_of(std::string_view answer);

/// Whether it may be gone in a moment, and has certainly changed nothing.
bool passes(const error_code& ec);

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_ERROR_HPP
