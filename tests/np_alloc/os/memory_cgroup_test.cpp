// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#if defined(__linux__)
#include <np_alloc/os/memory_cgroup.hpp>

#include <support/simulated_cgroup.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>

namespace os = memory_pool::detail::os;

namespace {
class memory_cgroup : public testing::Test
{
protected:
    /// Returns: the directory of the group according to both files; empty if there is no group.
    std::string found(const std::string& cgroup, const std::string& mountinfo)
    {
        for (const char* const name : {"cgroup", "mountinfo"})
            (void)std::remove(group_.file(name).c_str());
        group_.write("cgroup", cgroup);
        group_.write("mountinfo", mountinfo);
        os::memory_cgroup::path directory{};
        const bool is_found =
            os::memory_cgroup::find(group_.file("cgroup").c_str(), group_.file("mountinfo").c_str(), directory);
        return is_found ? directory.data() : "";
    }

    test::simulated_cgroup group_;
    os::memory_cgroup read_;
};

constexpr const char* of_cgroup2 = "31 23 0:28 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";

TEST_F(memory_cgroup, is_the_cgroup_path_below_the_mount_point)
{
    EXPECT_EQ(found("0::/app/worker\n", of_cgroup2), "/sys/fs/cgroup/app/worker");
    EXPECT_EQ(found("5:memory:/x\n0::/app\n", std::string("22 1 8:1 / / rw - ext4 /dev/sda rw\n") + of_cgroup2),
              "/sys/fs/cgroup/app");
}

TEST_F(memory_cgroup, is_the_mount_point_in_a_cgroup_namespace)
{
    EXPECT_EQ(found("0::/\n", of_cgroup2), "/sys/fs/cgroup");
}

TEST_F(memory_cgroup, resolves_host_paths_in_a_container)
{
    const std::string mounted = "31 23 0:28 /docker/77 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    EXPECT_EQ(found("0::/docker/77\n", mounted), "/sys/fs/cgroup");
    EXPECT_EQ(found("0::/docker/77/a\n", mounted), "/sys/fs/cgroup/a");
    EXPECT_EQ(found("0::/docker/778\n", mounted), "/sys/fs/cgroup") << "a prefix of a name is no parent";
    EXPECT_EQ(found("0::/../78\n", mounted), "/sys/fs/cgroup");
}

TEST_F(memory_cgroup, unescapes_the_mount_point)
{
    EXPECT_EQ(found("0::/a\n", R"(31 23 0:28 / /my\040groups\134x rw - cgroup2 none rw)"), R"(/my groups\x/a)");
}

TEST_F(memory_cgroup, skips_long_lines)
{
    EXPECT_EQ(found("0::/a\n", "22 1 8:1 / /" + std::string(10'000, 'x') + " rw - ext4 x rw\n" + of_cgroup2),
              "/sys/fs/cgroup/a");
}

TEST_F(memory_cgroup, is_not_found_without_cgroup_v2)
{
    EXPECT_EQ(found("5:memory:/x\n", of_cgroup2), "");
    EXPECT_EQ(found("0::/\n", "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"), "");
    EXPECT_EQ(found("0::/" + std::string(5'000, 'x') + "\n", of_cgroup2), "") << "path too long";
    EXPECT_EQ(found("0::/a\n", "31 23 0:28 / /" + std::string(1'500, 'x') + " rw - cgroup2 cgroup rw\n"), "");
    EXPECT_EQ(found("0::/a\n", "31 - cgroup2 cgroup"), "") << "truncated line";
    EXPECT_EQ(found("", ""), "");
    EXPECT_FALSE(read_.open("/nonexistent"));
    EXPECT_FALSE(read_.read());
    EXPECT_EQ(read_.descriptor(), -1);
}

TEST_F(memory_cgroup, rejects_a_path_that_is_no_directory)
{
    group_.write("memory.events", "high 1\n");
    EXPECT_FALSE(read_.open(group_.file("memory.events").c_str()));
    EXPECT_FALSE(read_.read());
}

TEST_F(memory_cgroup, defaults_to_the_cgroup_of_the_process)
{
    os::memory_cgroup::path directory{};
    const bool is_found = os::memory_cgroup::find("/proc/self/cgroup", "/proc/self/mountinfo", directory);
    os::memory_cgroup other;
    EXPECT_EQ(read_.open(nullptr), is_found && other.open(directory.data()));
    EXPECT_EQ(read_.read().has_value(), other.read().has_value());
}

TEST_F(memory_cgroup, counts_all_events_except_memory_low)
{
    group_.write("memory.events", "low 1000\nhigh 1\nmax 20\noom 300\noom_kill 4000\noom_group_kill 50000\n");
    ASSERT_TRUE(read_.open(group_.directory().c_str()));
    EXPECT_EQ(read_.read()->events, 4321U);
    EXPECT_FALSE(read_.read()->waited_us) << "no memory.pressure file";
}

TEST_F(memory_cgroup, reads_the_stall_time_of_memory_pressure)
{
    group_.write("memory.events", "high 0\n");
    group_.write("memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
    ASSERT_TRUE(read_.open(group_.directory().c_str()));
    EXPECT_EQ(read_.read()->waited_us, 123456U);
}

TEST_F(memory_cgroup, reads_current_values)
{
    group_.write("memory.events", "high 1\n");
    ASSERT_TRUE(read_.open(group_.directory().c_str()));
    EXPECT_EQ(read_.read()->events, 1U);
    group_.write("memory.events", "high 2\n");
    EXPECT_EQ(read_.read()->events, 2U);
}

TEST_F(memory_cgroup, reopens_its_files_if_the_program_closes_them)
{
    group_.write("memory.events", "high 1\n");
    ASSERT_TRUE(read_.open(group_.directory().c_str()));
    const int lost = read_.descriptor();
    ASSERT_EQ(close(lost), 0);
    ASSERT_EQ(dup2(STDIN_FILENO, lost), lost); // the number now refers to a file of the program
    EXPECT_EQ(read_.descriptor(), -1);
    EXPECT_EQ(read_.read()->events, 1U);
    EXPECT_NE(read_.descriptor(), lost);
    read_.close();
    EXPECT_EQ(close(lost), 0) << "the file of the program must stay open";
}

TEST_F(memory_cgroup, is_the_nearest_ancestor_with_memory_events)
{
    group_.write("memory.events", "high 5\n");
    group_.write("cgroup.procs", "");
    const test::simulated_cgroup below(group_.directory() + "/below");
    const test::simulated_cgroup far_below(below.directory() + "/far");
    below.write("cgroup.procs", "");
    ASSERT_TRUE(read_.open(far_below.directory().c_str()));
    EXPECT_EQ(read_.read()->events, 5U);
}
} // namespace
#endif
