// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc under memory pressure. A directory simulates the files of the kernel.
#if defined(__linux__)
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/np_alloc.h>
#include <memory_pool/pooled_frame.hpp>

#include <np_alloc/engine/engine.hpp>

#include <support/block_batch.hpp>
#include <support/child.hpp>
#include <support/comes_true.hpp>
#include <support/option_for_now.hpp>
#include <support/resident_memory.hpp>
#include <support/sanitizers.hpp>
#include <support/simulated_cgroup.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <memory_resource>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t mega = std::size_t{1} << 20;

np_statistics statistics()
{
    np_statistics now;
    np_get_statistics(&now);
    return now;
}

std::string printed_statistics()
{
    std::string text;
    np_statistics_print(
        np_format_text,
        [](const char* part, std::size_t length, void* to) { static_cast<std::string*>(to)->append(part, length); },
        &text);
    return text;
}

class np_pressure_watch : public testing::Test
{
protected:
    np_pressure_watch()
    {
        group_.reach_high(0);
        EXPECT_TRUE(np::registry().maintenance().watch_pressure(true, group_.directory().c_str()));
    }
    ~np_pressure_watch() override { EXPECT_TRUE(np::registry().maintenance().watch_pressure(false)); }

    /// Effects: signals memory pressure, and waits until np_alloc has responded.
    void make_memory_short()
    {
        const std::size_t before = statistics().pressure_trims;
        group_.reach_high(++times_);
        np::registry().maintenance().pressure().interrupt(); // as the kernel would
        EXPECT_TRUE(test::comes_true([before] { return statistics().pressure_trims > before; }));
    }

    test::simulated_cgroup group_;
    int times_ = 0;
    test::option_for_now never_{np_option_decay_ms, NP_DECAY_NEVER};
};

TEST_F(np_pressure_watch, detects_pressure)
{
    EXPECT_EQ(statistics().pressure, static_cast<std::size_t>(np_pressure_none));
    EXPECT_NE(printed_statistics().find(" none\n"), std::string::npos);
    const std::size_t signals_before = statistics().pressure_signals;
    make_memory_short();
    EXPECT_EQ(statistics().pressure, static_cast<std::size_t>(np_pressure_some));
    EXPECT_NE(printed_statistics().find(" some\n"), std::string::npos);
    EXPECT_EQ(statistics().pressure_signals, signals_before + 1);
}

TEST_F(np_pressure_watch, purges_free_runs_even_if_decay_is_off)
{
    np_free(std::memset(np_alloc(64 * mega), 1, 64 * mega));
    const std::size_t kept = statistics().bytes_dirty;
    ASSERT_GE(kept, 64 * mega);
    const std::size_t returned_before = statistics().bytes_purged_under_pressure;
    make_memory_short();
    EXPECT_EQ(statistics().bytes_dirty, 0U);
    EXPECT_GE(statistics().bytes_purged_under_pressure - returned_before, kept);
}

TEST_F(np_pressure_watch, shortens_the_decay_time_under_pressure)
{
    make_memory_short();
    np_free(std::memset(np_alloc(64 * mega), 1, 64 * mega));
    EXPECT_TRUE(test::comes_true([] { return statistics().bytes_dirty == 0; }));
}

TEST_F(np_pressure_watch, empties_the_cache_of_a_thread_at_its_next_slow_call)
{
    std::vector<void*> blocks(500);
    test::lasting_thread worker;
    worker.does([&blocks] {
        for (void*& each : blocks)
            each = np_alloc(1000);
        std::for_each(blocks.begin(), blocks.end(), np_free);
    });
    const std::size_t cached_before = statistics().bytes_cached;
    make_memory_short();
    worker.does([] { np_free(np_alloc(3000)); }); // the cache has no block of this size
    EXPECT_LT(statistics().bytes_cached + 20'000, cached_before);
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(np_pressure_watch, wakes_event_loops)
{
    const int descriptor = np_pressure_fd();
    ASSERT_NE(descriptor, -1);
    EXPECT_EQ(np_pressure_fd(), descriptor) << "one descriptor for all callers";
    pollfd readable{descriptor, POLLIN, 0};
    std::uint64_t count = 0;
    if (poll(&readable, 1, 0) == 1) { // an event from an earlier test
        EXPECT_EQ(read(descriptor, &count, sizeof count), ssize_t{sizeof count});
    }
    EXPECT_EQ(poll(&readable, 1, 0), 0);
    make_memory_short();
    EXPECT_EQ(poll(&readable, 1, 10'000), 1);
    EXPECT_EQ(read(descriptor, &count, sizeof count), ssize_t{sizeof count});
    EXPECT_GE(count, 1U);
    EXPECT_EQ(poll(&readable, 1, 0), 0);
}

/// Effects: makes a pool hold much more memory than it needs.
/// Returns: the bytes that the pool holds.
std::size_t fill_and_empty(memory_pool::concurrent_block_pool& pool)
{
    std::vector<void*> blocks(10'000);
    for (void*& each : blocks)
        each = pool.allocate();
    for (void* const each : blocks)
        pool.deallocate(each);
    return pool.bytes_reserved();
}

TEST_F(np_pressure_watch, trims_concurrent_pools_over_new_and_delete)
{
    memory_pool::concurrent_block_pool pool(100, {}, std::pmr::new_delete_resource());
    void* const kept = pool.allocate();
    const std::size_t full = fill_and_empty(pool);
    make_memory_short();
    EXPECT_LT(pool.bytes_reserved(), full / 2);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(pool.in_use(), 1U);
    pool.deallocate(kept);
}

TEST_F(np_pressure_watch, trims_pooled_coroutine_frames)
{
    using frame = memory_pool::pooled_frame;
    std::vector<void*> frames(10'000);
    for (void*& each : frames)
        each = frame::operator new(100);
    for (void* const each : frames)
        frame::operator delete(each, 100);
    const std::size_t full = frame::bytes_reserved();
    make_memory_short();
    EXPECT_LT(frame::bytes_reserved(), full / 2);
    EXPECT_TRUE(frame::verify());
}

TEST_F(np_pressure_watch, keeps_the_reserved_capacity_of_pools)
{
    memory_pool::pool_options reserve;
    reserve.initial_capacity = 10'000;
    memory_pool::pool_options bound;
    bound.max_capacity = 10'000;
    for (const memory_pool::pool_options& each : {reserve, bound}) {
        memory_pool::concurrent_block_pool pool(100, each, std::pmr::new_delete_resource());
        const std::size_t full = fill_and_empty(pool);
        make_memory_short();
        EXPECT_EQ(pool.bytes_reserved(), full);
    }
}

TEST_F(np_pressure_watch, does_not_trim_pools_over_other_resources)
{
    std::pmr::monotonic_buffer_resource upstream; // not thread-safe
    memory_pool::concurrent_block_pool pool(100, {}, &upstream);
    const std::size_t full = fill_and_empty(pool);
    make_memory_short();
    EXPECT_EQ(pool.bytes_reserved(), full);
}

TEST_F(np_pressure_watch, keeps_outstanding_blocks_of_running_threads)
{
    std::atomic<bool> goes_on{true};
    memory_pool::concurrent_block_pool pool(64, {}, std::pmr::new_delete_resource());
    std::thread presses([this, &goes_on] {
        for (int times = 0; times != 20; ++times) {
            make_memory_short();
            EXPECT_TRUE(np::registry().maintenance().watch_pressure(false)); // restarting avoids the back-off
            EXPECT_TRUE(np::registry().maintenance().watch_pressure(true, group_.directory().c_str()));
        }
        goes_on = false;
    });
    test::in_threads(3, [&](std::size_t thread) {
        std::vector<unsigned char*> blocks(300);
        const auto mark = static_cast<unsigned char>(thread + 1);
        for (std::size_t step = 0; goes_on; ++step) {
            unsigned char*& block = blocks[step * 7 % blocks.size()];
            const std::size_t bytes = 16 + step * 131 % 3'000;
            ASSERT_TRUE(block == nullptr || *block == mark);
            np_free(block);
            block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), mark, bytes));
            void* const pooled = pool.allocate();
            std::memset(pooled, mark, 64);
            pool.deallocate(pooled);
            memory_pool::concurrent_block_pool passing(32 + step % 64, {}, std::pmr::new_delete_resource());
            if (step % 16 == 0)
                passing.deallocate(passing.allocate());
        }
        std::for_each(blocks.begin(), blocks.end(), np_free);
    });
    presses.join();
    EXPECT_EQ(np_verify(), 1);
    EXPECT_EQ(pool.in_use(), 0U);
    EXPECT_TRUE(pool.verify());
}

TEST_F(np_pressure_watch, can_be_stopped)
{
    make_memory_short();
    EXPECT_TRUE(np::registry().maintenance().watch_pressure(false));
    EXPECT_EQ(statistics().pressure, static_cast<std::size_t>(np_pressure_off));
    const std::size_t signals = statistics().pressure_signals;
    group_.reach_high(1000);
    np_free(std::memset(np_alloc(64 * mega), 1, 64 * mega));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_GE(statistics().bytes_dirty, 64 * mega) << "the decay time is no longer limited";
    EXPECT_EQ(statistics().pressure_signals, signals);
    (void)np_trim();
}

TEST_F(np_pressure_watch, recovers_when_the_group_returns)
{
    std::filesystem::remove(group_.file("memory.events"));
    ASSERT_EQ(close(np::registry().maintenance().pressure().events_descriptor()), 0); // reading fails from now on
    np::registry().maintenance().pressure().interrupt();
    EXPECT_TRUE(test::comes_true([] { return statistics().pressure == np_pressure_unknown; }));
    EXPECT_NE(printed_statistics().find("cannot be watched\n"), std::string::npos);
    group_.reach_high(0);
    np::registry().maintenance().pressure().interrupt();
    EXPECT_TRUE(test::comes_true([] { return statistics().pressure == np_pressure_none; }));
    make_memory_short();
}

#if !MEMORY_POOL_TSAN // ThreadSanitizer reports a race when the program closes a descriptor in use.
TEST_F(np_pressure_watch, survives_the_close_of_all_descriptors)
{
    const int descriptor = np_pressure_fd();
    ASSERT_GE(descriptor, 200);
    for (int file = 200; file != 220; ++file)
        (void)close(file);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    for (int file = 200; file != 220; ++file)
        ASSERT_EQ(dup2(ends[1], file), file);
    make_memory_short();
    EXPECT_TRUE(np::registry().maintenance().watch_pressure(false));
    for (int file = 200; file != 220; ++file)
        EXPECT_EQ(close(file), 0) << "the file of the program must stay open";
    EXPECT_EQ(close(ends[1]), 0);
    char text = 0;
    EXPECT_EQ(read(ends[0], &text, 1), 0) << "nothing may be written to the program's pipe";
    EXPECT_EQ(close(ends[0]), 0);
}
#endif

#if TESTS_MAY_FORK
TEST_F(np_pressure_watch, does_not_block_a_fork_while_it_trims_pools)
{
    std::vector<std::unique_ptr<memory_pool::concurrent_block_pool>> pools(500);
    for (auto& each : pools)
        each = std::make_unique<memory_pool::concurrent_block_pool>(64, memory_pool::pool_options{},
                                                                    std::pmr::new_delete_resource());
    std::atomic<bool> goes_on{true};
    std::thread presses([this, &goes_on] {
        while (goes_on) {
            make_memory_short();
            EXPECT_TRUE(np::registry().maintenance().watch_pressure(false));
            EXPECT_TRUE(np::registry().maintenance().watch_pressure(true, group_.directory().c_str()));
        }
    });
    for (int times = 0; times != 50; ++times)
        test::expect_in_child([] { return true; });
    goes_on = false;
    presses.join();
}
#endif

TEST_F(np_pressure_watch, keeps_watching_when_the_background_thread_option_is_reset)
{
    {
        const test::option_for_now background(np_option_background_thread, 1);
        EXPECT_EQ(np_option_get(np_option_background_thread), 1U);
    }
    EXPECT_EQ(np_option_get(np_option_background_thread), 0U);
    make_memory_short();
}

#if TESTS_MAY_FORK
TEST_F(np_pressure_watch, is_off_in_the_child_of_a_fork_until_restarted)
{
    make_memory_short();
    const int of_parent = np_pressure_fd();
    test::expect_in_child([this, of_parent] {
        const bool is_off = statistics().pressure == np_pressure_off && close(of_parent) == -1;
        group_.reach_high(0);
        if (!is_off || !np::registry().maintenance().watch_pressure(true, group_.directory().c_str()))
            return false;
        make_memory_short();
        return statistics().pressure == np_pressure_some && np::registry().maintenance().watch_pressure(false);
    });
    times_ = 100;
    make_memory_short();
}
#endif

TEST(np_pressure, is_unknown_without_a_memory_cgroup)
{
    const test::simulated_cgroup empty;
    EXPECT_TRUE(np::registry().maintenance().watch_pressure(true, empty.directory().c_str()));
    EXPECT_EQ(statistics().pressure, static_cast<std::size_t>(np_pressure_unknown));
    EXPECT_EQ(np_option_get(np_option_pressure), 1U);
    EXPECT_FALSE(np::registry().maintenance().background().is_running());
    EXPECT_EQ(np_option_set(np_option_pressure, 0), 0);
    EXPECT_EQ(statistics().pressure, static_cast<std::size_t>(np_pressure_off));
    EXPECT_EQ(np_option_get(np_option_pressure), 0U);
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY && TESTS_MAY_FORK
/// A control group (cgroup v1) whose limit triggers the OOM killer.
class limited_group
{
public:
    limited_group() : directory_("/sys/fs/cgroup/memory/np_pressure." + std::to_string(getpid()))
    {
        std::error_code failed;
        exists_ = std::filesystem::create_directory(directory_, failed);
    }
    limited_group(const limited_group&) = delete;
    limited_group& operator=(const limited_group&) = delete;
    ~limited_group()
    {
        std::error_code ignored;
        std::filesystem::remove(directory_, ignored);
    }

    bool exists() const { return exists_; }
    bool enter() const { return write("cgroup.procs", std::to_string(getpid())); }
    bool limit(std::size_t bytes) const { return write("memory.limit_in_bytes", std::to_string(bytes)); }

private:
    bool write(const char* name, const std::string& text) const
    {
        std::ofstream file(directory_ + "/" + name);
        return static_cast<bool>(file << text << std::flush);
    }

    std::string directory_;
    bool exists_ = false;
};

/// Returns: whether the process, with 700 MiB in use and 300 MiB freed, first survives memory.high at 1.10 times the
/// memory in use, and then memory.max at 1.15 times that memory.
bool survives_limits(const limited_group& group, const test::simulated_cgroup& simulated)
{
    constexpr std::size_t live = 700 * mega;
    if (!group.enter() || !np::registry().maintenance().watch_pressure(true, simulated.directory().c_str()))
        return false;
    const std::size_t before = test::resident_bytes();
    auto freed = std::make_unique<test::block_batch>(300 * mega);
    const test::block_batch kept(live);
    freed.reset();
    simulated.reach_high(1);
    const bool is_back = test::comes_true([=] { return test::resident_bytes() < before + live + live / 10; });
    // The system refuses a limit below the group's usage, which can lag behind on a busy machine.
    const bool is_limited = test::comes_true([&] { return group.limit(before + live + live * 15 / 100); });
    np_free(std::memset(np_alloc(20 * mega), 1, 20 * mega));
    return is_back && is_limited;
}

TEST(np_pressure, does_not_kill_a_process_with_much_free_memory)
{
    const limited_group group;
    if (!group.exists())
        GTEST_SKIP() << "cgroup v1 is not mounted or not writable";
    const test::option_for_now never(np_option_decay_ms, NP_DECAY_NEVER);
    const test::simulated_cgroup simulated;
    simulated.reach_high(0);
    test::expect_in_child([&] { return survives_limits(group, simulated); });
}
#endif
} // namespace
#endif
