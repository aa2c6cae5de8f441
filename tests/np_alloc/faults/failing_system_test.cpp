// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc when system calls fail. Each test performs an action of a program. For each system call of the action, one
// new process repeats the action while only that call fails, and another one while that call and all later calls of its
// kind fail.
#include <memory_pool/np_alloc.h>

#include <support/np_blocks.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using test::system_call;
using test::system_calls;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

// Actions of a program.

/// Blocks that the destructor frees.
class blocks
{
public:
    blocks() = default;
    blocks(const blocks&) = delete;
    blocks& operator=(const blocks&) = delete;
    ~blocks() { free_all(); }

    /// Effects: keeps the block from `allocate()` and marks its ends; expects ENOMEM if `allocate()` returns nullptr.
    /// Returns: whether `allocate()` returned a block.
    template <class Allocate>
    bool take(std::size_t bytes, Allocate&& allocate)
    {
        errno = 0;
        auto* const address = static_cast<unsigned char*>(allocate());
        if (address == nullptr) {
            EXPECT_EQ(errno, ENOMEM);
            return false;
        }
        const block taken{address, bytes, static_cast<unsigned char>(++count_)};
        taken.mark();
        blocks_.push_back(taken);
        return true;
    }

    bool take(std::size_t bytes)
    {
        return take(bytes, [bytes] { return np_alloc(bytes); });
    }

    bool take_aligned(std::size_t alignment, std::size_t bytes)
    {
        const bool has_block = take(bytes, [&] { return np_aligned_alloc(alignment, bytes); });
        EXPECT_TRUE(!has_block || reinterpret_cast<std::uintptr_t>(blocks_.back().address) % alignment == 0);
        return has_block;
    }

    bool take_zeroed(std::size_t bytes)
    {
        return take(bytes, [bytes] {
            auto* const zeros = static_cast<unsigned char*>(np_calloc(bytes, 1));
            EXPECT_TRUE(zeros == nullptr || (zeros[0] == 0 && zeros[bytes / 2] == 0 && zeros[bytes - 1] == 0));
            return zeros;
        });
    }

    bool take_some_of_each_kind()
    {
        bool has_all = true;
        for (const std::size_t bytes : test::sizes_of_all_kinds)
            for (int i = 0; i != 10; ++i)
                has_all = take(bytes) && has_all;
        return has_all;
    }

    /// Resizes the last block, and checks its contents. Returns: whether realloc succeeded.
    bool resize_last(std::size_t bytes)
    {
        block& last = blocks_.back();
        errno = 0;
        auto* const resized = static_cast<unsigned char*>(np_realloc(last.address, bytes));
        if (resized == nullptr) {
            EXPECT_EQ(errno, ENOMEM);
            EXPECT_TRUE(last.is_marked());
            return false;
        }
        EXPECT_EQ(resized[0], last.number);
        EXPECT_TRUE(bytes < last.bytes || resized[last.bytes - 1] == last.number);
        last = {resized, bytes, last.number};
        last.mark();
        return true;
    }

    void free_last()
    {
        EXPECT_TRUE(blocks_.back().is_marked());
        errno = 77;
        np_free(blocks_.back().address);
        EXPECT_EQ(errno, 77);
        blocks_.pop_back();
    }

    void free_all()
    {
        while (!blocks_.empty())
            free_last();
    }

private:
    struct block
    {
        unsigned char* address;
        std::size_t bytes;
        unsigned char number;

        void mark() const { address[0] = address[bytes - 1] = number; }
        bool is_marked() const { return address[0] == number && address[bytes - 1] == number; }
    };

    std::vector<block> blocks_;
    unsigned count_ = 0;
};

bool take_blocks_of_each_kind()
{
    return blocks().take_some_of_each_kind();
}

bool take_large_blocks()
{
    blocks mine;
    bool has_all = true;
    for (const std::size_t bytes : {mebibyte, 10 * mebibyte, 100 * mebibyte})
        has_all = mine.take(bytes) && has_all;
    return has_all;
}

bool take_zeroed_blocks()
{
    blocks mine;
    bool has_all = true;
    for (int round = 0; round != 2; ++round) { // The second round reuses memory that is not zero.
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, 30 * kibibyte, mebibyte})
            has_all = mine.take_zeroed(bytes) && has_all;
        mine.free_all();
    }
    return has_all;
}

/// Makes the region too small for all blocks of the action.
void use_a_small_region()
{
    (void)np_option_set(np_option_region_bytes, 16 * mebibyte); // Fails in later rounds: the option is already set.
}

/// Takes all slices of the region, and some blocks outside the region.
bool use_up_the_region(blocks& into)
{
    bool has_all = true;
    for (int i = 0; i != 20; ++i)
        has_all = into.take(mebibyte) && has_all;
    for (int i = 0; i != 20; ++i)
        has_all = into.take(64 * kibibyte) && has_all;
    return has_all;
}

// The processes.

/// The results of a process.
struct findings
{
    std::array<std::size_t, test::kinds_of_system_calls> made; ///< System calls of the first action.
    std::size_t refused;
    std::size_t mapped; ///< Bytes that the library has mapped at the end.
    bool is_done;
};

/// The system calls that fail.
struct refusal
{
    system_call kind;
    std::size_t number; ///< The first call that fails; 0 if none fails.
    bool is_permanent;

    void begin() const
    {
        if (number != 0)
            is_permanent ? system_calls::refuse_from(kind, number) : system_calls::refuse(kind, number);
    }
};

void expect_that_nothing_is_lost()
{
    EXPECT_EQ(np_verify(), 1);
    np_statistics statistics;
    np_get_statistics(&statistics);
    EXPECT_EQ(statistics.bytes_in_use, 0U);
    EXPECT_EQ(statistics.large_blocks, 0U);
    EXPECT_EQ(statistics.heaps, 0U);
    EXPECT_EQ(statistics.misuse_reports, 0U);
}

using action = bool (*)();

/// Performs the action while the refused calls fail, then twice while all calls succeed.
void do_with(const refusal& refused, action act, findings& found)
{
    const system_calls calls;
    refused.begin();
    const bool is_done = act();
    for (std::size_t kind = 0; kind != found.made.size(); ++kind)
        found.made[kind] = system_calls::made(static_cast<system_call>(kind));
    found.refused = system_calls::refused();
    EXPECT_TRUE(is_done || found.refused != 0) << "the action failed, although no system call did";
    system_calls::refuse_nothing();
    expect_that_nothing_is_lost();
    for (int i = 0; i != 2; ++i) {
        EXPECT_TRUE(act()) << "the action failed after system calls succeeded again";
        expect_that_nothing_is_lost();
    }
    (void)np_trim();
    found.mapped = system_calls::mapped();
    found.is_done = true;
}

class np_with_a_failing_system : public testing::Test
{
protected:
    np_with_a_failing_system()
        : shared_(mmap(nullptr, sizeof(findings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
    }
    ~np_with_a_failing_system() override { munmap(shared_, sizeof(findings)); }

    /// Performs the action in new processes. In each, one system call fails, alone or with all later calls of its kind.
    void expect_recovery(action act)
    {
        const findings usual = in_a_process({system_call::any, 0, false}, act);
        ASSERT_TRUE(usual.is_done);
        std::size_t refused = 0;
        for (std::size_t kind = 0; kind != static_cast<std::size_t>(system_call::any); ++kind) {
            for (const bool is_permanent : {false, true}) {
                findings found{};
                for (std::size_t number = 1; usual.made[kind] != 0 && (number == 1 || found.refused != 0); ++number) {
                    const refusal next{static_cast<system_call>(kind), number, is_permanent};
                    found = in_a_process(next, act);
                    refused += found.refused;
                    const std::string which = "kind " + std::to_string(kind) + ", call " + std::to_string(number) +
                                              (is_permanent ? ", and on" : "");
                    ASSERT_TRUE(found.is_done) << which;
                    // Memory whose munmap failed stays mapped.
                    ASSERT_TRUE(found.mapped <= usual.mapped || next.kind == system_call::unmap) << which;
                }
            }
        }
        EXPECT_NE(refused, 0U);
    }

private:
    /// Returns: the results of the process; `is_done` is true if the process succeeded.
    findings in_a_process(const refusal& refused, action act)
    {
        auto& found = *static_cast<findings*>(shared_);
        found = {};
        (void)std::fflush(stdout);
        const pid_t child = _Fork(); // Calls no fork handlers of the library.
        EXPECT_GE(child, 0);
        if (child == 0) {
            alarm(20); // Ends a deadlock.
            do_with(refused, act, found);
            (void)std::fflush(stdout);
            _exit(HasFailure() ? 1 : 0);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        found.is_done = found.is_done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        return found;
    }

    void* const shared_;
};

TEST_F(np_with_a_failing_system, allocates_its_first_block)
{
    expect_recovery([] { return blocks().take(100); });
}

TEST_F(np_with_a_failing_system, allocates_blocks_of_each_kind)
{
    expect_recovery(&take_blocks_of_each_kind);
}

TEST_F(np_with_a_failing_system, allocates_many_blocks)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 1500; ++i)
            has_all = mine.take(16 * kibibyte) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, allocates_large_blocks)
{
    expect_recovery(&take_large_blocks);
}

TEST_F(np_with_a_failing_system, allocates_blocks_beyond_the_region)
{
    expect_recovery([] {
        use_a_small_region();
        blocks mine;
        bool has_all = mine.take(15 * mebibyte);
        has_all = mine.take(mebibyte) && mine.resize_last(2 * mebibyte) && has_all;
        has_all = mine.take_aligned(mebibyte, mebibyte) && has_all;
        has_all = mine.take_zeroed(mebibyte) && has_all;
        for (const std::size_t bytes : test::sizes_of_all_kinds)
            has_all = mine.take(bytes) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, allocates_many_blocks_beyond_the_region)
{
    expect_recovery([] {
        use_a_small_region();
        blocks mine;
        bool has_all = mine.take(15 * mebibyte);
        for (int i = 0; i != 50; ++i) // Enough blocks to make their table grow.
            has_all = mine.take(70 * kibibyte) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, allocates_aligned_blocks)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = true;
        for (std::size_t alignment = 32; alignment <= 4 * mebibyte; alignment *= 2)
            has_all = mine.take_aligned(alignment, 3 * alignment / 2) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, allocates_zeroed_blocks)
{
    expect_recovery(&take_zeroed_blocks);
}

TEST_F(np_with_a_failing_system, grows_a_block_in_place)
{
    expect_recovery([] {
        blocks mine;
        return mine.take(mebibyte) && mine.resize_last(3 * mebibyte) && mine.resize_last(20 * mebibyte);
    });
}

TEST_F(np_with_a_failing_system, moves_a_growing_block)
{
    expect_recovery([] {
        blocks mine;
        blocks behind;
        bool is_done = mine.take(10);
        for (std::size_t bytes = 100; is_done && bytes < 40 * mebibyte; bytes *= 3)
            is_done = mine.resize_last(bytes) && behind.take(bytes); // Prevents growth in place.
        return is_done;
    });
}

/// Shrinking a block succeeds even if all system calls fail.
TEST_F(np_with_a_failing_system, shrinks_a_block)
{
    expect_recovery([] {
        use_a_small_region();
        blocks mine;
        blocks others;
        if (!mine.take(100 * kibibyte))
            return false;
        const bool has_all = use_up_the_region(others);
        for (const std::size_t bytes : {30 * kibibyte, kibibyte, std::size_t{1}})
            EXPECT_TRUE(mine.resize_last(bytes));
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, uses_a_heap)
{
    expect_recovery([] {
        np_heap* const heap = np_heap_create();
        if (heap == nullptr) {
            EXPECT_EQ(errno, ENOMEM);
            return false;
        }
        bool has_all = true;
        for (const std::size_t bytes : {std::size_t{10}, 1000 * kibibyte, 20 * kibibyte, 8 * mebibyte}) {
            errno = 0;
            auto* block = static_cast<unsigned char*>(np_heap_alloc(heap, bytes));
            if (block != nullptr) {
                block[bytes - 1] = 7;
                auto* const larger = static_cast<unsigned char*>(np_heap_realloc(heap, block, 2 * bytes));
                EXPECT_EQ((larger != nullptr ? larger : block)[bytes - 1], 7);
                block = larger;
            }
            EXPECT_TRUE(block != nullptr || errno == ENOMEM);
            has_all = block != nullptr && np_heap_calloc(heap, bytes, 1) != nullptr && has_all;
        }
        np_heap_destroy(heap);
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, records_call_sites)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = true;
        for (int line = 1; line != 300; ++line)
            has_all = mine.take(10, [line] { return np_alloc_at(10, "a.c", line); }) && has_all;
        has_all = mine.take(mebibyte, [] { return np_alloc_at(mebibyte, "a.c", 0); }) && has_all;
        return has_all && mine.resize_last(3 * mebibyte);
    });
}

TEST_F(np_with_a_failing_system, handles_the_end_of_threads)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = mine.take(10);
        for (int i = 0; i != 3; ++i)
            test::in_a_thread([&] { has_all = blocks().take_some_of_each_kind() && has_all; });
        test::in_threads(2, [&](std::size_t) { (void)blocks().take_some_of_each_kind(); });
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, handles_remote_frees)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 1000; ++i)
            has_all = mine.take(32) && mine.take(100) && has_all;
        test::in_a_thread([&] { mine.free_all(); });
        return mine.take_some_of_each_kind() && has_all;
    });
}

TEST_F(np_with_a_failing_system, handles_remote_frees_of_many_threads)
{
    expect_recovery([] {
        blocks mine;
        bool has_all = true;
        std::array<test::lasting_thread, 20> others;
        for (test::lasting_thread& each : others) {
            has_all = mine.take(100) && has_all;
            each.does([&mine] { mine.free_all(); });
        }
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, handles_remote_frees_without_memory_for_batches)
{
    expect_recovery([] {
        use_a_small_region();
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 100; ++i)
            has_all = mine.take(32) && has_all;
        test::lasting_thread other;
        other.does([&] { has_all = blocks().take(32) && has_all; });
        blocks others;
        has_all = use_up_the_region(others) && has_all;
        other.does([&] { mine.free_all(); });
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, returns_memory_to_the_system)
{
    expect_recovery([] {
        bool has_all = take_blocks_of_each_kind();
        (void)np_trim();
        (void)np_option_set(np_option_decay_ms, 0); // From here on, frees return memory at once.
        has_all = take_large_blocks() && has_all;
        (void)np_trim();
        return take_zeroed_blocks() && has_all;
    });
}

TEST_F(np_with_a_failing_system, reuses_discarded_memory)
{
    expect_recovery([] {
        bool has_all = take_large_blocks();
        (void)np_trim();
        blocks mine;
        has_all = mine.take(mebibyte) && mine.resize_last(20 * mebibyte) && has_all;
        return mine.take_zeroed(30 * mebibyte) && mine.take_some_of_each_kind() && has_all;
    });
}

TEST_F(np_with_a_failing_system, forks)
{
    expect_recovery([] {
        blocks mine;
        const bool has_all = mine.take_some_of_each_kind();
        const pid_t child = fork();
        if (child == 0) {
            mine.free_all();
            bool is_served = blocks().take_some_of_each_kind();
            test::in_a_thread([&] { is_served = blocks().take_some_of_each_kind() && is_served; });
            if (testing::Test::HasFailure())
                _exit(2);
            _exit(is_served ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << "status of the child: " << status;
        return has_all && status == 0;
    });
}
} // namespace
