// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_DETAIL_REQUIRE_HPP
#define WEIR_DETAIL_REQUIRE_HPP

#include <weir/error.hpp>

#include <boost/system/system_error.hpp>

namespace weir::detail {

/// Throws system_error with `invalid_argument` where a call can never succeed as written.
inline void require(bool valid, const char* who) {
  if (!valid) throw boost::system::system_error(errc::invalid_argument, who);
}

}  // namespace weir::detail

#endif  // WEIR_DETAIL_REQUIRE_HPP
