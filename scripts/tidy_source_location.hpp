// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// For clang-tidy 14 alone, which cannot read the std::source_location of the library: it has no
// such builtin. `scripts/lint` puts this before each file.

#ifndef WEIR_SCRIPTS_TIDY_SOURCE_LOCATION_HPP
#define WEIR_SCRIPTS_TIDY_SOURCE_LOCATION_HPP

#if defined(__clang__) && !__has_builtin(__builtin_source_location)

#include <cstdint>

namespace std {

class source_location {
 public:
  static constexpr source_location current(const char* file = __builtin_FILE(),
                                           uint_least32_t line = __builtin_LINE()) noexcept {
    source_location here;
    here.file_ = file;
    here.line_ = line;
    return here;
  }
  constexpr const char* file_name() const noexcept { return file_; }
  constexpr uint_least32_t line() const noexcept { return line_; }

 private:
  const char* file_ = "";
  uint_least32_t line_ = 0;
};

}  // namespace std

#endif

#endif  // WEIR_SCRIPTS_TIDY_SOURCE_LOCATION_HPP
