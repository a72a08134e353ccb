// Copyright (c) 2026 The weir authors
// Distributed under the Boost Software License, Version 1.0. (See LICENSE)

#include <weir/detail/cpu_quota.hpp>
#include <weir/pool_options.hpp>
#include <weir/usable_cpus.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(usable_cpus)

namespace {

/// A directory that looks like the root of a machine, gone at the end of the case.
class fake_root {
 public:
  fake_root() : path_(fs::temp_directory_path() / unique_name()) { fs::create_directories(path_); }
  fake_root(const fake_root&) = delete;
  fake_root& operator=(const fake_root&) = delete;
  ~fake_root() {
    std::error_code ignored;  // what stays behind in the temporary directory harms no test
    fs::remove_all(path_, ignored);
  }

  fake_root& write(const std::string& name, const std::string& text) {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  fake_root& cgroup(const std::string& lines) { return write("proc/self/cgroup", lines); }
  fake_root& v2(const std::string& group, const std::string& text) {
    return write("sys/fs/cgroup/" + group + "/cpu.max", text);
  }
  fake_root& v1(const std::string& group, const std::string& runtime, const std::string& period) {
    write("sys/fs/cgroup/cpu/" + group + "/cpu.cfs_quota_us", runtime);
    return write("sys/fs/cgroup/cpu/" + group + "/cpu.cfs_period_us", period);
  }

  std::optional<int> quota() const { return weir::detail::cpu_quota(path_); }

 private:
  static std::string unique_name() {
    static std::atomic<int> number{0};
    return "weir_usable_cpus_" + std::to_string(::getpid()) + "_" + std::to_string(++number);
  }

  fs::path path_;
};

constexpr auto none = std::nullopt;

}  // namespace

BOOST_AUTO_TEST_CASE(machine_without_cgroups_has_no_quota) {
  BOOST_TEST((fake_root().quota() == none));
  BOOST_TEST((weir::detail::cpu_quota("/there/is/no/such/root") == none));
  BOOST_TEST((fake_root().cgroup("").quota() == none));
  BOOST_TEST((fake_root().cgroup("0::/app\n").quota() == none));
}

BOOST_AUTO_TEST_CASE(v2_quota_is_that_of_the_own_group) {
  BOOST_TEST((fake_root().cgroup("0::/app\n").v2("app", "200000 100000\n").quota() == 2));
  BOOST_TEST((fake_root().cgroup("0::/app\n").v2("other", "200000 100000\n").quota() == none));
}

BOOST_AUTO_TEST_CASE(v2_quota_is_rounded_up) {
  const auto quota = [](const std::string& text) {
    return fake_root().cgroup("0::/app\n").v2("app", text).quota();
  };
  BOOST_TEST((quota("1 100000") == 1));
  BOOST_TEST((quota("99999 100000") == 1));
  BOOST_TEST((quota("100000 100000") == 1));
  BOOST_TEST((quota("100001 100000") == 2));
  BOOST_TEST((quota("250000 100000") == 3));
  BOOST_TEST((quota("50000 20000") == 3));
}

BOOST_AUTO_TEST_CASE(v2_max_is_no_quota) {
  BOOST_TEST((fake_root().cgroup("0::/app\n").v2("app", "max 100000\n").quota() == none));
}

BOOST_AUTO_TEST_CASE(v2_parents_hold_their_children) {
  fake_root root;
  root.cgroup("0::/a/b/c\n").v2("a/b/c", "max 100000\n").v2("a/b", "800000 100000\n");
  BOOST_TEST((root.quota() == 8));
  root.v2("a", "300000 100000\n");
  BOOST_TEST((root.quota() == 3));
  root.v2("a/b/c", "100000 100000\n");
  BOOST_TEST((root.quota() == 1));
}

BOOST_AUTO_TEST_CASE(v2_root_of_a_container_counts_whatever_the_path_says) {
  // In a container the mount point is the group itself, while the path may be the host's.
  fake_root root;
  root.cgroup("0::/docker/0123abcd\n").v2("", "400000 100000\n");
  BOOST_TEST((root.quota() == 4));
  BOOST_TEST((fake_root().cgroup("0::/\n").v2("", "400000 100000\n").quota() == 4));
}

BOOST_AUTO_TEST_CASE(v2_sibling_does_not_count) {
  fake_root root;
  root.cgroup("0::/a/b\n").v2("a/b", "500000 100000\n").v2("a/c", "100000 100000\n");
  BOOST_TEST((root.quota() == 5));
}

BOOST_AUTO_TEST_CASE(group_may_have_colons_and_spaces_in_its_name) {
  fake_root root;
  root.cgroup("0::/a:b c/d\n").v2("a:b c/d", "200000 100000\n");
  BOOST_TEST((root.quota() == 2));
}

BOOST_AUTO_TEST_CASE(v1_quota_is_that_of_the_cpu_controller) {
  const std::string lines = "9:memory:/m\n4:cpu,cpuacct:/app\n2:cpuset:/s\n";
  BOOST_TEST((fake_root().cgroup(lines).v1("app", "150000\n", "100000\n").quota() == 2));
  BOOST_TEST((fake_root().cgroup("4:cpuacct,cpu:/app\n").v1("app", "50000", "50000").quota() == 1));
  BOOST_TEST((fake_root().cgroup("4:cpu:/app\n").v1("app", "300000", "100000").quota() == 3));
}

BOOST_AUTO_TEST_CASE(v1_controllers_of_similar_name_do_not_count) {
  const std::string lines = "4:cpuacct:/app\n2:cpuset:/app\n1:name=cpu:/app\n";
  BOOST_TEST((fake_root().cgroup(lines).v1("app", "100000", "100000").quota() == none));
}

BOOST_AUTO_TEST_CASE(v1_minus_one_is_no_quota) {
  BOOST_TEST((fake_root().cgroup("4:cpu:/app\n").v1("app", "-1\n", "100000\n").quota() == none));
}

BOOST_AUTO_TEST_CASE(v1_parents_hold_their_children) {
  fake_root root;
  root.cgroup("4:cpu:/a/b\n").v1("a/b", "-1", "100000").v1("a", "600000", "100000");
  BOOST_TEST((root.quota() == 6));
  root.v1("", "200000", "100000");
  BOOST_TEST((root.quota() == 2));
}

BOOST_AUTO_TEST_CASE(v1_needs_both_files) {
  fake_root only_quota;
  only_quota.cgroup("4:cpu:/app\n").write("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "200000");
  BOOST_TEST((only_quota.quota() == none));
  fake_root only_period;
  only_period.cgroup("4:cpu:/app\n").write("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000");
  BOOST_TEST((only_period.quota() == none));
}

BOOST_AUTO_TEST_CASE(hybrid_takes_the_controller_where_it_is) {
  // The usual one: version 2 is mounted beside for systemd's own use, without controllers.
  fake_root root;
  root.cgroup("4:cpu,cpuacct:/app\n0::/app\n").v1("app", "300000", "100000");
  BOOST_TEST((root.quota() == 3));
  // Where both speak, the stricter holds, in either order.
  root.v2("app", "200000 100000\n");
  BOOST_TEST((root.quota() == 2));
  root.v2("app", "500000 100000\n");
  BOOST_TEST((root.quota() == 3));
  root.cgroup("0::/app\n4:cpu,cpuacct:/app\n");
  BOOST_TEST((root.quota() == 3));
}

BOOST_AUTO_TEST_CASE(garbage_in_v2_is_no_quota) {
  for (const char* text :
       {"", "\n", "max", "100000", "garbage", "garbage 100000", "100000 garbage", "-100000 100000",
        "100000 -100000", "0 100000", "100000 0", "99999999999999999999999999 100000",
        "100000 99999999999999999999999999", "max max", "\xff\xfe 1"})
    BOOST_TEST((fake_root().cgroup("0::/app\n").v2("app", text).quota() == none), text);
}

BOOST_AUTO_TEST_CASE(number_with_a_tail_is_garbage) {
  BOOST_TEST((fake_root().cgroup("0::/app\n").v2("app", "100000x 100000").quota() == none));
}

BOOST_AUTO_TEST_CASE(garbage_in_v1_is_no_quota) {
  for (const char* text : {"", "garbage", "0", "99999999999999999999999999"}) {
    BOOST_TEST((fake_root().cgroup("4:cpu:/app\n").v1("app", text, "100000").quota() == none),
               text);
    BOOST_TEST((fake_root().cgroup("4:cpu:/app\n").v1("app", "100000", text).quota() == none),
               text);
  }
}

BOOST_AUTO_TEST_CASE(garbage_among_groups_does_not_hide_the_rest) {
  for (const char* lines : {"\n\n0::/app\n", "garbage\n0::/app\n", "a:b\n0::/app\n",
                            "::\n0::/app\n", ":\n0::/app\n", "0::/app"})
    BOOST_TEST((fake_root().cgroup(lines).v2("app", "200000 100000").quota() == 2), lines);
}

BOOST_AUTO_TEST_CASE(group_that_is_gone_leaves_those_above_it) {
  fake_root root;
  root.cgroup("0::/a/gone (deleted)\n").v2("a", "200000 100000");
  BOOST_TEST((root.quota() == 2));
}

BOOST_AUTO_TEST_CASE(absurd_quota_is_large_and_not_undefined) {
  const auto v2 = fake_root().cgroup("0::/app\n").v2("app", "9223372036854775807 2").quota();
  BOOST_TEST((!v2 || *v2 >= 1 << 20));
  const auto v1 = fake_root().cgroup("4:cpu:/app\n").v1("app", "9223372036854775807", "2").quota();
  BOOST_TEST((!v1 || *v1 >= 1 << 20));
}

BOOST_AUTO_TEST_CASE(there_is_always_one) {
  BOOST_TEST(weir::usable_cpus() >= 1);
  const auto machine = static_cast<int>(std::thread::hardware_concurrency());
  if (machine > 0) BOOST_TEST(weir::usable_cpus() <= machine);
}

BOOST_AUTO_TEST_CASE(default_workers_are_four_to_a_cpu) {
  BOOST_TEST(weir::default_workers() == 4 * weir::usable_cpus());
  BOOST_TEST(weir::pool_options{}.workers == weir::default_workers());
}

#if defined(__linux__)
BOOST_AUTO_TEST_CASE(affinity_mask_of_one_means_one) {
  // On a thread of its own, so that no mask has to be restored.
  int narrowed = 0;
  int workers = 0;
  bool set = false;
  std::thread([&] {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &mask)) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    set = sched_setaffinity(0, sizeof one, &one) == 0;
    narrowed = weir::usable_cpus();
    workers = weir::default_workers();
  }).join();
  BOOST_TEST_REQUIRE(set);
  BOOST_TEST(narrowed == 1);
  BOOST_TEST(workers == 4);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
