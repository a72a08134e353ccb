// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_TEST_CHILD_PROGRAM_HPP
#define WEIR_TEST_CHILD_PROGRAM_HPP

#include <weir/job.hpp>

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

extern char** environ;

namespace weir_test {

/// This test program once more, in a process that can be killed, to run one case with a queue.
/// The cases that are meant for it are in a suite that is disabled.
class child_program {
 public:
  /// \param name of the case, with its suite: `suite/case`
  /// \param queue what `queue_of_child` is to say there
  child_program(const std::string& name, const std::string& queue) {
    std::array<int, 2> ends{};
    BOOST_TEST_REQUIRE(pipe(ends.data()) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    setenv("WEIR_QUEUE_OF_CHILD", queue.c_str(), 1);
    std::string run = "--run_test=" + name;
    std::string program = "weir_child";
    std::string quiet = "--log_level=nothing";
    std::string no_report = "--report_level=no";
    std::string no_catch = "--catch_system_errors=no";
    const std::array<char*, 6> arguments{program.data(),   run.data(),      quiet.data(),
                                         no_report.data(), no_catch.data(), nullptr};
    const int failed =
        posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
    BOOST_TEST_REQUIRE(failed == 0);
  }
  child_program(child_program&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), out_(std::exchange(other.out_, -1)) {}
  child_program& operator=(child_program&&) = delete;
  ~child_program() {
    if (pid_ != 0) kill(), wait();
    if (out_ >= 0) close(out_);
  }

  void kill() const { ::kill(pid_, SIGKILL); }

  /// \returns the status of `waitpid`.
  int wait() {
    int status = 0;
    const pid_t pid = std::exchange(pid_, 0);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
  }

  /// The next number that it has said; 0 at the end.
  weir::job_id read() const {
    weir::job_id id = 0;
    return ::read(out_, &id, sizeof id) == sizeof id ? id : 0;
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

/// In the child: tells whoever started it a number.
inline void say(weir::job_id id) {
  if (write(1, &id, sizeof id) != sizeof id) std::abort();
}

/// In the child: the queue that it was given.
inline std::string queue_of_child() {
  const char* const queue = std::getenv("WEIR_QUEUE_OF_CHILD");
  BOOST_TEST_REQUIRE(queue);
  return queue;
}

}  // namespace weir_test

#endif  // WEIR_TEST_CHILD_PROGRAM_HPP
