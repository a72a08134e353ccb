// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

// Jobs by the clock, on more than one machine. Three machines share a queue and have the same
// entries. You will see when a cron expression fires next; that a day of it is as many jobs as it
// has times, though each machine enqueues them all; that it does not matter which of the machines
// are up; and that a report which nobody enqueued, because all of them were down, is made up for
// once when they come back, while what is done every quarter of an hour is not.

// expect: ^office hours after Friday 18:45: Monday 08:00$
// expect: ^half past eight on the 31st, after January: March$
// expect: ^bad: cron day of week 'mun-fri' is not a value of it
// expect: ^three machines, a day: 44 syncs, 1 report, 90 were duplicates$
// expect: ^one machine, a day: 44 syncs, 1 report, 0 were duplicates$
// expect: ^none for two days, and 1 is back: 1 report made up for$

#include <weir/cron_schedule.hpp>
#include <weir/memory_queue.hpp>
#include <weir/periodic_jobs.hpp>
#include <weir/test/virtual_time.hpp>

#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using std::chrono::sys_days;
using weir::cron_schedule;

namespace {

std::string text(weir::wall_time t, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(t);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char buffer[64];
  return {buffer, std::strftime(buffer, sizeof buffer, format, &parts)};
}

/// What one machine does at its start; its `async_run` ends when it is destroyed.
std::unique_ptr<weir::periodic_jobs> machine(weir::task_queue& queue,
                                             std::map<std::string, int>& fired) {
  auto periodic = std::make_unique<weir::periodic_jobs>(
      queue, weir::periodic_options{.on_firing = [&fired](const weir::periodic_firing& f) {
        ++fired[f.job.duplicate ? "duplicate" : std::string(f.name)];
      }});
  periodic->add("sync", cron_schedule::parse("*/15 8-18 * * *"), {.kind = "sync"});
  periodic->add("report", cron_schedule::parse("0 6 * * *"), {.kind = "report"}, 24h);
  periodic->async_run([](const weir::error_code&) {});
  return periodic;
}

}  // namespace

int main() {
  const auto office = cron_schedule::parse("*/15 8-18 * * mon-fri");
  const auto friday = sys_days(2026y / 1 / 9) + 18h + 45min;
  std::printf("office hours after Friday 18:45: %s\n",
              text(office.next(friday).value(), "%A %H:%M").c_str());
  const auto rare = cron_schedule::parse("30 8 31 * *").next(sys_days(2026y / 2 / 1));
  std::printf("half past eight on the 31st, after January: %s\n", text(rare.value(), "%B").c_str());
  try {
    cron_schedule::parse("*/15 * * * mun-fri");
  } catch (const boost::system::system_error& e) {
    std::printf("bad: %s\n", e.what());
  }

  weir::test::virtual_time time;  // so that days take none
  weir::memory_queue queue(time.get_executor());
  std::map<std::string, int> fired;
  std::vector<std::unique_ptr<weir::periodic_jobs>> machines;
  for (int i = 0; i < 3; ++i) machines.push_back(machine(queue, fired));
  time.run_for(24h);  // to be where the day is, as the first hours may be made up for
  fired.clear();
  time.run_for(24h);
  std::printf("three machines, a day: %d syncs, %d report, %d were duplicates\n", fired["sync"],
              fired["report"], fired["duplicate"]);

  machines.resize(1);
  fired.clear();
  time.run_for(24h);
  std::printf("one machine, a day: %d syncs, %d report, %d were duplicates\n", fired["sync"],
              fired["report"], fired["duplicate"]);

  machines.clear();
  time.run_for(48h);
  fired.clear();
  machines.push_back(machine(queue, fired));
  time.run_for(1s);
  std::printf("none for two days, and 1 is back: %d report made up for\n", fired["report"]);
  machines.clear();
}
