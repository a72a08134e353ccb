// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include "command.hpp"

#include "../common/flags.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <ostream>
#include <string_view>

namespace weirctl {

namespace {

struct usage {
  std::string_view name;
  std::string_view words;
  std::string_view help;
};

constexpr std::array usages{
    usage{"enqueue", "KIND [FILE|-]", "a job for each line, or for each --payload"},
    usage{"watch", "", "how many jobs there are, until --time or Ctrl-C"},
    usage{"stats", "", "the same, once"},
    usage{"list", "", "dead letters, from --after on, --limit of them"},
    usage{"show", "ID", "all that is known of a job"},
    usage{"requeue", "ID…|--all", "dead letters run again"},
    usage{"purge", "ID…|--all", "dead letters are forgotten"},
    usage{"cancel", "ID…", "jobs are taken back"},
    usage{"drain", "", "waits until nothing is left to do, or for --time"},
};

common::flags make_flags(command& c, std::vector<std::string>& words) {
  common::flags f;
  f.words(words);
  f.text("--queue", c.queue, "FILE, sqlite://FILE, redis://HOST[:PORT][/DB][#NAME] or unix://PATH");
  f.texts("--payload", c.payloads, "enqueue: of one job; repeatable");
  f.text("--user", c.user, "enqueue: whose slot it takes");
  f.number("--priority", c.priority, std::numeric_limits<int>::min(),
           "enqueue: the greater goes first (0)");
  f.time("--delay", c.delay, "enqueue: before it may run (0s)");
  f.text("--unique", c.unique, "enqueue: key of the first job; the n-th has KEY:n");
  f.number("--attempts", c.attempts, 1, "enqueue: before it is a dead letter (20)");
  f.time("--keep", c.keep, "enqueue: its result, when it is done (0s)");
  f.number<weir::job_id>("--after", c.after, 0, "list: greater ids only (0)");
  f.number("--limit", c.limit, 1, "list: so many (100)");
  f.toggle("--all", c.all, "requeue, purge: all dead letters");
  f.time("--time", c.time, "watch, drain: so long and no longer");
  return f;
}

weir::job_id read_id(const std::string& word) {
  weir::job_id id = 0;
  if (!common::read_number(word, id) || id < 1) throw common::flag_error(word + " is not an id");
  return id;
}

}  // namespace

std::optional<command> parse(std::span<const char* const> arguments) {
  command c;
  std::vector<std::string> words;
  if (!make_flags(c, words).parse(arguments)) return {};
  if (words.empty()) throw common::flag_error("there is no command; see --help");
  c.name = words.front();
  words.erase(words.begin());
  const auto found =
      std::find_if(usages.begin(), usages.end(), [&](const usage& u) { return u.name == c.name; });
  if (found == usages.end()) throw common::flag_error(c.name + " is not a command; see --help");
  if (c.queue.empty()) throw common::flag_error("--queue is missing");

  const auto wrong = [&] {
    return common::flag_error("usage: weirctl --queue QUEUE " + c.name + ' ' +
                              std::string(found->words));
  };
  if (c.name == "enqueue") {
    if (words.empty() || words.size() > 2 || words[0].empty()) throw wrong();
    if (words.size() == 2 && !c.payloads.empty()) throw wrong();
    c.kind = words[0];
    c.file = words.size() == 2 ? words[1] : "-";
    return c;
  }
  for (const std::string& word : words) c.ids.push_back(read_id(word));
  const bool takes_all = found->words.ends_with("--all");
  const bool takes_ids = found->words.starts_with("ID");
  const bool one_id = found->words == "ID";
  if ((!takes_ids && !c.ids.empty()) || (!takes_all && c.all)) throw wrong();
  if (takes_ids && c.ids.empty() != (takes_all && c.all)) throw wrong();
  if (one_id && c.ids.size() != 1) throw wrong();
  return c;
}

void print_help(std::ostream& out) {
  out << "usage: weirctl --queue QUEUE COMMAND [flags]\n\n";
  for (const usage& u : usages) {
    std::string left = "  " + std::string(u.name) + " " + std::string(u.words);
    // An ellipsis is three bytes and one column.
    const std::size_t width = u.words.find("…") == std::string_view::npos ? 30 : 32;
    left.resize(std::max(left.size() + 1, width), ' ');
    out << left << u.help << '\n';
  }
  out << '\n';
  command c;
  std::vector<std::string> words;
  make_flags(c, words).print_help(out);
  out << "\nexit status: 0 done, 1 not done or not all of it, 2 the command line makes no sense\n";
}

}  // namespace weirctl
