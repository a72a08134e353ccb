// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#ifndef WEIR_EXAMPLES_COMMON_FLAGS_HPP
#define WEIR_EXAMPLES_COMMON_FLAGS_HPP

#include <algorithm>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace common {

/// A command line that cannot be understood; `what()` names the flag and what is wrong with it.
class flag_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads a whole number, all of `text` or nothing.
template <std::integral T>
bool read_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && !text.empty();
}

/// A command line of the form `--name value` or `--name=value`, with other words between them.
///
/// Programs of one page of flags each do not pay for a library to link; this is all they need.
///
/// Thread safety: distinct objects: safe.
class flags {
 public:
  /// A number, not below `least`.
  template <typename T>
  requires std::integral<T> || std::floating_point<T>
  void number(std::string name, T& value, T least, std::string help) {
    add(std::move(name), "N", std::move(help), [&value, least](std::string_view text) {
      T parsed{};
      const char* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data(), end, parsed);
      if (error != std::errc() || stop != end || text.empty()) return "is not such a number";
      if (!(parsed >= least)) return "is too small";
      value = parsed;
      return "";
    });
  }

  /// A time with its unit: `250ms`, `2s`, `10min`.
  template <typename Duration>
  void time(std::string name, Duration& value, std::string help) {
    add(std::move(name), "TIME", std::move(help), [&value](std::string_view text) {
      const std::size_t unit = text.find_first_not_of("0123456789");
      std::int64_t count = 0;
      if (unit == std::string_view::npos || !read_number(text.substr(0, unit), count))
        return "is not a time such as 250ms, 2s or 10min";
      if (count > 1'000'000'000) return "is too long";
      const std::string_view suffix = text.substr(unit);
      if (suffix == "ms") {
        value = std::chrono::milliseconds(count);
      } else if (suffix == "s") {
        value = std::chrono::seconds(count);
      } else if (suffix == "min") {
        value = std::chrono::minutes(count);
      } else {
        return "is not a time such as 250ms, 2s or 10min";
      }
      return "";
    });
  }

  /// Any text.
  void text(std::string name, std::string& value, std::string help) {
    add(std::move(name), "TEXT", std::move(help), [&value](std::string_view text) {
      value = text;
      return "";
    });
  }

  /// A text that may be given more than once.
  void texts(std::string name, std::vector<std::string>& values, std::string help) {
    add(std::move(name), "TEXT", std::move(help), [&values](std::string_view text) {
      values.emplace_back(text);
      return "";
    });
  }

  /// True where it is named; it has no value.
  void toggle(std::string name, bool& value, std::string help) {
    add(std::move(name), "", std::move(help), [&value](std::string_view) {
      value = true;
      return "";
    });
  }

  /// Whatever is no flag, in order; `-` alone is none. Without it such a word is an error.
  void words(std::vector<std::string>& values) { words_ = &values; }

  /// Sets the values that are named in `arguments`.
  ///
  /// \returns false if `--help` is among them. \throws flag_error for anything else unknown.
  bool parse(std::span<const char* const> arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      std::string_view name = arguments[i];
      if (name == "--help" || name == "-h") return false;
      if (words_ != nullptr && (!name.starts_with('-') || name == "-")) {
        words_->emplace_back(name);
        continue;
      }
      std::string_view value;
      const std::size_t equals = name.find('=');
      const bool joined = equals != std::string_view::npos;
      if (joined) {
        value = name.substr(equals + 1);
        name = name.substr(0, equals);
      }
      const flag& f = find(name);
      if (f.kind.empty() && joined) throw flag_error(std::string(name) + " takes no value");
      if (!joined && !f.kind.empty()) {
        if (i + 1 == arguments.size()) throw flag_error(std::string(name) + " needs a value");
        value = arguments[++i];
      }
      if (const std::string_view complaint = f.set(value); !complaint.empty())
        throw flag_error(std::string(name) + ": '" + std::string(value) + "' " +
                         std::string(complaint));
    }
    return true;
  }

  /// One line for each flag.
  void print_help(std::ostream& out) const {
    for (const flag& f : flags_) {
      std::string left = "  " + f.name + " " + f.kind;
      left.resize(std::max<std::size_t>(left.size() + 1, 30), ' ');
      out << left << f.help << '\n';
    }
  }

 private:
  struct flag {
    std::string name;
    std::string kind;
    std::string help;
    std::function<std::string_view(std::string_view)> set;  // returns what is wrong, or nothing
  };

  void add(std::string name, std::string kind, std::string help,
           std::function<std::string_view(std::string_view)> set) {
    flags_.push_back({std::move(name), std::move(kind), std::move(help), std::move(set)});
  }

  const flag& find(std::string_view name) const {
    for (const flag& f : flags_)
      if (f.name == name) return f;
    throw flag_error(std::string(name) + " is not a flag of this program; see --help");
  }

  std::vector<flag> flags_;
  std::vector<std::string>* words_ = nullptr;
};

}  // namespace common

#endif  // WEIR_EXAMPLES_COMMON_FLAGS_HPP
