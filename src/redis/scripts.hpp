// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_SRC_REDIS_SCRIPTS_HPP
#define WEIR_SRC_REDIS_SCRIPTS_HPP

#include <cstddef>
#include <string_view>

namespace weir::redis {

/// What is done in the server, each in one step.
enum class script : unsigned char {
  open,  ///< once for each connection
  enqueue,
  lease,
  settle,
  cancel,
  find,
  stats,
  dead_letters,
  bury,
  pass_on,  ///< a word that there is something for those who wait
};
inline constexpr std::size_t script_count = 10;

/// The text of a script, in Lua.
std::string_view text_of(script s);

/// Whether it changes nothing.
constexpr bool only_reads(script s) {
  return s == script::find || s == script::stats || s == script::dead_letters;
}

}  // namespace weir::redis

#endif  // WEIR_SRC_REDIS_SCRIPTS_HPP
