// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The gateway's load client: more requests than it can take, of several users, some too slow.
//
//   gateway_load --port 8080 --seconds 10 --json client.json
//   gateway_load --compare client.json --with gateway.json
//   gateway_load --port 8080 --jobs 1000
//
// You will see how each user fared; with --compare, whether the gateway says the same; with --jobs,
// whether each job that was accepted was done, though the gateway be killed meanwhile.

#include "../../common/flags.hpp"
#include "compare.hpp"
#include "jobs.hpp"
#include "run.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

int main(int argc, char** argv) try {
  using namespace gateway::load;
  plan p;
  double seconds = 10;
  std::size_t jobs = 0;
  std::string json;
  std::string client;
  std::string accounts;
  common::flags f;
  f.number<std::uint16_t>("--port", p.port, 1, "where the gateway listens, on 127.0.0.1");
  f.number("--users", p.users, 1, "users who ask (8)");
  f.number("--concurrency", p.concurrency, 1, "connections, one request each at a time (48)");
  f.number<std::uint64_t>("--requests", p.requests, 0, "in all; 0: as time allows (0)");
  f.number("--seconds", seconds, 0.0, "to begin requests in (10)");
  f.number("--slow-share", p.slow_share, 0.0,
           "of requests that are slower than their deadline (0.1)");
  f.time("--slow-deadline", p.deadline, "of the slow requests (300ms)");
  f.time("--pause", p.pause, "between two requests of a connection, on average (5ms)");
  f.number<std::uint64_t>("--seed", p.seed, 0, "of the requests that are drawn (1)");
  f.number<std::size_t>("--jobs", jobs, 0, "to hand in instead, and to wait for (0)");
  f.text("--json", json, "file for the result");
  f.text("--compare", client, "do not run: compare this result of a run");
  f.text("--with", accounts, "and these accounts of a gateway");
  if (!f.parse(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)))) {
    std::cout << "usage: gateway_load [flags]\n";
    f.print_help(std::cout);
    return EXIT_SUCCESS;
  }
  if (client.empty() != accounts.empty())
    throw common::flag_error("--compare and --with go together");
  if (!client.empty())
    return compare(read_accounts(client), read_accounts(accounts), std::cout) ? EXIT_SUCCESS
                                                                              : EXIT_FAILURE;
  if (p.port == 0) throw common::flag_error("--port is missing");
  if (p.slow_share > 1) throw common::flag_error("--slow-share is more than 1");

  std::signal(SIGPIPE, SIG_IGN);  // a server that has gone is an error code, not a signal
  if (jobs > 0) {
    const job_report report = run_jobs({.port = p.port,
                                        .jobs = jobs,
                                        .users = p.users,
                                        .concurrency = p.concurrency,
                                        .pause = p.pause,
                                        .seed = p.seed});
    std::cout << report.to_text();
    return report.complete() ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  p.time = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  const tally result = run(p);
  std::cout << result.to_table() << std::flush;
  if (!json.empty()) {
    std::ofstream out(json);
    out << result.to_json() << std::flush;
    if (!out) throw std::runtime_error("cannot write " + json);
  }
  return EXIT_SUCCESS;
} catch (const std::exception& e) {
  std::cerr << "gateway_load: " << e.what() << '\n';
  return EXIT_FAILURE;
}
