// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_SCRATCH_DIRECTORY_HPP
#define WEIR_TEST_SCRATCH_DIRECTORY_HPP

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace weir_test {

/// A directory that goes away.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weir_queue_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string file(const char* name = "queue.db") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace weir_test

#endif  // WEIR_TEST_SCRATCH_DIRECTORY_HPP
