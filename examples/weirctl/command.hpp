// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_WEIRCTL_COMMAND_HPP
#define WEIR_EXAMPLES_WEIRCTL_COMMAND_HPP

#include <weir/clock.hpp>
#include <weir/job.hpp>

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weirctl {

/// What is to be done, as the command line says.
struct command {
  std::string queue;  ///< its address
  std::string name;   ///< `enqueue`, `watch`, …

  std::string kind;  ///< of what is enqueued
  std::string file;  ///< with a job in each line; `-` is standard input
  std::vector<std::string> payloads;
  std::string user;
  std::string unique;
  int priority = 0;
  int attempts = 20;
  weir::duration delay{};
  weir::duration keep{};

  std::vector<weir::job_id> ids;
  bool all = false;
  weir::job_id after = 0;
  int limit = 100;
  weir::duration time{};  ///< zero: for ever
};

/// Reads a command line; empty if it asks for help.
///
/// \throws common::flag_error if it cannot be understood, with what is wrong with it.
std::optional<command> parse(std::span<const char* const> arguments);

void print_help(std::ostream& out);

}  // namespace weirctl

#endif  // WEIR_EXAMPLES_WEIRCTL_COMMAND_HPP
