// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// The tool for queues, on virtual time and a queue in memory: it knows of no other kind than
// `task_queue`.

#include "common/flags.hpp"
#include "common/open_queue.hpp"
#include "weirctl/command.hpp"
#include "weirctl/format.hpp"
#include "weirctl/run.hpp"

#include <weir/memory_queue.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <exception>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gateway::test {

BOOST_AUTO_TEST_SUITE(weirctl_tool)

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using words = std::vector<const char*>;

/// A queue, and the tool that works on it.
struct tool {
  weir::test::virtual_time time;
  weir::memory_queue queue{time.get_executor()};
  std::string out;
  std::string err;

  /// Runs a command for as long as it takes. \returns its exit status.
  int run(words arguments, const std::string& input = "", bool terminal = false) {
    std::istringstream in(input);
    std::ostringstream to;
    std::ostringstream errors;
    int status = -1;
    arguments.insert(arguments.begin(), {"--queue", "memory:"});
    const auto command = weirctl::parse(arguments);
    const auto body = [&]() -> asio::awaitable<void> {
      const weirctl::streams streams{in, to, errors, terminal};
      status = co_await weirctl::run(queue, command.value(), streams);
    };
    time.spawn(body);
    time.run();
    out = to.str();
    err = errors.str();
    return status;
  }

  weir::queue_stats stats() {
    weir::queue_stats s;
    queue.async_stats([&](const weir::error_code&, const weir::queue_stats& now) { s = now; });
    time.run();
    return s;
  }

  std::vector<weir::lease> take(int max = 100) {
    std::vector<weir::lease> got;
    queue.async_lease({.max = max}, [&](const weir::error_code&, std::vector<weir::lease> leases) {
      got = std::move(leases);
    });
    time.run();
    return got;
  }

  /// Makes dead letters of all that is ready.
  void bury() {
    for (const weir::lease& l : take(10'000))
      queue.async_nack(l.key, {.reason = "no\tuse", .dead = true}, [](const weir::error_code&) {});
    time.run();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(enqueue_makes_a_job_of_each_line) {
  tool t;
  BOOST_TEST(t.run({"enqueue", "hash", "--user", "ada", "--priority", "-2", "--attempts", "3"},
                   "one\n\ntwo words") == 0);
  BOOST_TEST(t.out == "enqueued 3\n");
  const auto leases = t.take();
  BOOST_TEST_REQUIRE(leases.size() == 3U);
  BOOST_TEST(leases[0].job.payload == "one");
  BOOST_TEST(leases[1].job.payload.empty());
  BOOST_TEST(leases[2].job.payload == "two words");
  BOOST_TEST(leases[0].job.kind == "hash");
  BOOST_TEST(leases[0].job.user == "ada");
  BOOST_TEST(leases[0].job.priority == -2);
  BOOST_TEST(leases[0].job.max_attempts == 3);
}

BOOST_AUTO_TEST_CASE(enqueue_takes_payloads_delays_and_keys) {
  tool t;
  BOOST_TEST(t.run({"enqueue", "mail", "--payload", "a", "--delay", "10min", "--unique", "k"}) ==
             0);
  BOOST_TEST(t.out == "enqueued 1, id 1\n");
  BOOST_TEST(t.stats().scheduled == 1U);
  // The same job again, and a second one beside it.
  BOOST_TEST(t.run({"enqueue", "mail", "--payload=a", "--payload=b", "--unique=k"}) == 0);
  BOOST_TEST(t.out == "enqueued 1, duplicates 1\n");
  BOOST_TEST(t.run({"enqueue", "mail", "--payload=a", "--payload=b", "--unique=k"}) == 0);
  BOOST_TEST(t.out == "enqueued 0, duplicates 2\n");
}

BOOST_AUTO_TEST_CASE(enqueue_reads_a_file_of_any_length_and_says_if_it_cannot) {
  tool t;
  std::string lines;
  for (int i = 0; i < 1'501; ++i) lines += std::to_string(i) + '\n';
  BOOST_TEST(t.run({"enqueue", "a", "-"}, lines) == 0);
  BOOST_TEST(t.out == "enqueued 1501\n");
  BOOST_TEST(t.stats().ready == 1'501U);
  BOOST_TEST(t.take(2).back().job.payload == "1");
  BOOST_TEST(t.run({"enqueue", "a", "/no/such/file"}) == 1);
  BOOST_TEST(t.err == "weirctl: cannot read /no/such/file\n");
  BOOST_TEST(t.run({"enqueue", "a"}) == 0);
  BOOST_TEST(t.out == "enqueued 0\n");
}

BOOST_AUTO_TEST_CASE(stats_and_show_tell_what_is_known) {
  tool t;
  t.run({"enqueue", "hash", "--payload", "a\\\x01", "--user", "ada", "--unique", "k"});
  BOOST_TEST(t.run({"stats"}) == 0);
  BOOST_TEST(t.out == "ready 1  leased 0  scheduled 0  done 0  cancelled 0  dead 0\n");
  BOOST_TEST(t.run({"show", "1"}) == 0);
  BOOST_TEST(t.out.starts_with("id: 1\nstate: ready\nkind: hash\nuser: ada\npriority: 0\n"), t.out);
  BOOST_TEST(t.out.ends_with("unique key: k\npayload: a\\x5c\\x01\n"), t.out);
  BOOST_TEST(t.run({"show", "2"}) == 1);
  BOOST_TEST(t.out.empty());
  BOOST_TEST(t.err == "weirctl: there is no job 2\n");
}

BOOST_AUTO_TEST_CASE(dead_letters_are_listed_run_again_and_purged) {
  tool t;
  t.run({"enqueue", "a", "--user", "ada"}, "1\n2\n3\n4\n");
  t.bury();
  BOOST_TEST(t.run({"list", "--limit", "2"}) == 0);
  BOOST_TEST(t.out == "1\ta\tada\t1/20\tno\\x09use\n2\ta\tada\t1/20\tno\\x09use\n");
  BOOST_TEST(t.run({"list", "--after", "3"}) == 0);
  BOOST_TEST(t.out == "4\ta\tada\t1/20\tno\\x09use\n");
  BOOST_TEST(t.run({"requeue", "1", "2"}) == 0);
  BOOST_TEST(t.out == "requeued 2\n");
  BOOST_TEST(t.stats().ready == 2U);
  // One of them is no dead letter any more.
  BOOST_TEST(t.run({"purge", "2", "3"}) == 1);
  BOOST_TEST(t.out == "purged 1\n");
  BOOST_TEST(t.err.starts_with("weirctl: 1 not: "), t.err);
  BOOST_TEST(t.run({"purge", "--all"}) == 0);
  BOOST_TEST(t.out == "purged 1\n");
  BOOST_TEST(t.run({"requeue", "--all"}) == 0);
  BOOST_TEST(t.out == "requeued 0\n");
}

BOOST_AUTO_TEST_CASE(all_is_all_however_many_they_are) {
  tool t;
  std::string lines;
  for (int i = 0; i < 2'300; ++i) lines += "x\n";
  t.run({"enqueue", "a"}, lines);
  t.bury();
  BOOST_TEST(t.run({"list", "--limit", "5000"}) == 0);
  BOOST_TEST(std::count(t.out.begin(), t.out.end(), '\n') == 2'300);
  BOOST_TEST(t.run({"requeue", "--all"}) == 0);
  BOOST_TEST(t.out == "requeued 2300\n");
  BOOST_TEST(t.stats().ready == 2'300U);
}

BOOST_AUTO_TEST_CASE(cancel_takes_back_what_has_not_ended) {
  tool t;
  t.run({"enqueue", "a"}, "1\n2\n");
  BOOST_TEST(t.run({"cancel", "1", "7", "2"}) == 1);
  BOOST_TEST(t.out == "cancelled 1\ncancelled 2\n");
  BOOST_TEST(t.err == "weirctl: job 7 has ended, or never was\n");
  BOOST_TEST(t.run({"cancel", "1"}) == 1);
}

BOOST_AUTO_TEST_CASE(watch_prints_a_line_a_second_or_draws_over_one) {
  tool t;
  t.run({"enqueue", "a"}, "1\n2\n3\n");
  const auto leases = t.take(2);
  weir::steady_timer timer(t.time.get_executor(), 1500ms);
  timer.async_wait([&](const weir::error_code&) {
    for (const weir::lease& l : leases) t.queue.async_ack(l.key, [](const weir::error_code&) {});
  });
  BOOST_TEST(t.run({"watch", "--time", "3s"}) == 0);
  BOOST_TEST(t.out ==
             "ready 1  leased 2  scheduled 0  done 0  cancelled 0  dead 0\n"
             "ready 1  leased 2  scheduled 0  done 0  cancelled 0  dead 0  +0/s\n"
             "ready 1  leased 0  scheduled 0  done 0  cancelled 0  dead 0  -2/s\n"
             "ready 1  leased 0  scheduled 0  done 0  cancelled 0  dead 0  +0/s\n");
  BOOST_TEST(t.run({"watch", "--time", "400ms"}, "", true) == 0);
  BOOST_TEST(std::count(t.out.begin(), t.out.end(), '\r') == 3);
  BOOST_TEST(std::count(t.out.begin(), t.out.end(), '\n') == 1);
}

BOOST_AUTO_TEST_CASE(watch_without_a_time_goes_on_until_it_is_cancelled) {
  tool t;
  std::istringstream in;
  std::ostringstream out;
  const words arguments{"--queue", "memory:", "watch"};
  const auto command = weirctl::parse(arguments);
  asio::cancellation_signal interrupt;
  std::exception_ptr failure;
  asio::co_spawn(t.time.get_executor(),
                 weirctl::run(t.queue, command.value(), weirctl::streams{in, out, out, false}),
                 asio::bind_cancellation_slot(interrupt.slot(),
                                              [&](std::exception_ptr e, int) { failure = e; }));
  t.time.run_for(1h);
  BOOST_TEST(!failure);
  interrupt.emit(asio::cancellation_type::terminal);
  t.time.run();
  BOOST_REQUIRE(failure);
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(failure), boost::system::system_error,
                        [](const auto& e) { return e.code() == asio::error::operation_aborted; });
}

BOOST_AUTO_TEST_CASE(drain_waits_until_nothing_is_left_to_do) {
  tool t;
  BOOST_TEST(t.run({"drain"}) == 0);
  t.run({"enqueue", "a", "--delay", "10s"}, "1\n");
  BOOST_TEST(t.run({"drain", "--time", "1s"}) == 1);
  BOOST_TEST(t.err.starts_with("weirctl: not drained: ready 0  leased 0  scheduled 1"), t.err);
  weir::steady_timer timer(t.time.get_executor(), 20s);
  timer.async_wait([&](const weir::error_code&) {
    t.queue.async_lease({}, [&](const weir::error_code&, const std::vector<weir::lease>& got) {
      t.queue.async_ack(got.at(0).key, [](const weir::error_code&) {});
    });
  });
  const auto before = t.time.elapsed();
  BOOST_TEST(t.run({"drain"}) == 0);
  BOOST_TEST((t.time.elapsed() - before >= 19s && t.time.elapsed() - before <= 21s));
}

BOOST_AUTO_TEST_CASE(command_lines_that_make_no_sense_are_told_so) {
  const std::vector<words> bad{
      {},
      {"--queue", "q"},
      {"stats"},
      {"--queue", "q", "dance"},
      {"--queue", "q", "stats", "7"},
      {"--queue", "q", "show"},
      {"--queue", "q", "show", "1", "2"},
      {"--queue", "q", "show", "x"},
      {"--queue", "q", "show", "0"},
      {"--queue", "q", "cancel"},
      {"--queue", "q", "requeue"},
      {"--queue", "q", "requeue", "1", "--all"},
      {"--queue", "q", "cancel", "1", "--all"},
      {"--queue", "q", "enqueue"},
      {"--queue", "q", "enqueue", "a", "b", "c"},
      {"--queue", "q", "enqueue", "a", "file", "--payload", "p"},
      {"--queue", "q", "enqueue", "a", "--attempts", "0"},
      {"--queue", "q", "list", "--limit", "0"},
      {"--queue", "q", "list", "--all=1"},
      {"--queue", "q", "list", "--dead"},
      {"--queue"},
  };
  for (const words& arguments : bad)
    BOOST_CHECK_THROW(weirctl::parse(arguments), common::flag_error);
  const words help{"enqueue", "--help"};
  BOOST_TEST(!weirctl::parse(help).has_value());
  std::ostringstream out;
  weirctl::print_help(out);
  BOOST_TEST(out.str().find("  drain") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(address_that_names_no_queue_is_an_error) {
  asio::io_context io;
  BOOST_CHECK_THROW(common::open_queue(io.get_executor(), {.text = "/no/such/dir/jobs.db"}),
                    boost::system::system_error);
  BOOST_CHECK_THROW(
      common::open_queue(io.get_executor(), {.text = "sqlite:///no/such.db", .create = false}),
      boost::system::system_error);
  BOOST_TEST(common::open_queue(io.get_executor(), {.text = "memory:"}) != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace gateway::test
