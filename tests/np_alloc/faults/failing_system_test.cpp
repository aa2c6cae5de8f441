// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// What np_alloc does when a call of the system fails: each call of each kind in turn, alone and with all that follow,
// in each thing that a program does. Each of that in a process of its own, which has not asked for memory before.
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

// What a program does.

/// Blocks of a program, which gives them all back in the end.
class blocks
{
public:
    blocks() = default;
    blocks(const blocks&) = delete;
    blocks& operator=(const blocks&) = delete;
    ~blocks() { give_back(); }

    /// Effects: keeps what `allocate()` gives, and marks its ends; or sees that the program was told why there is
    ///   nothing.
    /// Returns: whether it has the block.
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
        const bool has_it = take(bytes, [&] { return np_aligned_alloc(alignment, bytes); });
        EXPECT_TRUE(!has_it || reinterpret_cast<std::uintptr_t>(blocks_.back().address) % alignment == 0);
        return has_it;
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

    /// Effects: has the last one resized.
    /// Returns: whether it was. If not, it is as it was.
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

    void give_back_last()
    {
        EXPECT_TRUE(blocks_.back().is_marked());
        errno = 77;
        np_free(blocks_.back().address);
        EXPECT_EQ(errno, 77);
        blocks_.pop_back();
    }

    void give_back()
    {
        while (!blocks_.empty())
            give_back_last();
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
    for (int round = 0; round != 2; ++round) { // the second has blocks that were written to
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, 30 * kibibyte, mebibyte})
            has_all = mine.take_zeroed(bytes) && has_all;
        mine.give_back();
    }
    return has_all;
}

/// The region is small, so that all of this does not fit into it.
void use_little_addresses()
{
    (void)np_option_set(np_option_region_bytes, 16 * mebibyte); // Not the second time, which is no harm.
}

/// Effects: takes all slices of the region, and some blocks that have to be outside of it.
bool use_all_addresses(blocks& into)
{
    bool has_all = true;
    for (int i = 0; i != 20; ++i)
        has_all = into.take(mebibyte) && has_all;
    for (int i = 0; i != 20; ++i)
        has_all = into.take(64 * kibibyte) && has_all;
    return has_all;
}

// The processes.

/// What a process tells of itself.
struct findings
{
    std::array<std::size_t, test::kinds_of_system_calls> made; ///< Calls until it was done for the first time.
    std::size_t refused;
    std::size_t mapped; ///< Bytes that the library has of the system when all is done.
    bool is_done;
};

/// Which calls are refused.
struct refusal
{
    system_call kind;
    std::size_t number; ///< The first of them; 0: none.
    bool is_for_good;

    void begin() const
    {
        if (number != 0)
            is_for_good ? system_calls::refuse_from(kind, number) : system_calls::refuse(kind, number);
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

using deed = bool (*)();

/// Does it with those calls refused, and then twice without.
void do_with(const refusal& refused, deed act, findings& found)
{
    const system_calls calls;
    refused.begin();
    const bool is_done = act();
    for (std::size_t kind = 0; kind != found.made.size(); ++kind)
        found.made[kind] = system_calls::made(static_cast<system_call>(kind));
    found.refused = system_calls::refused();
    EXPECT_TRUE(is_done || found.refused != 0) << "it was not done, although nothing was refused";
    system_calls::refuse_nothing();
    expect_that_nothing_is_lost();
    for (int i = 0; i != 2; ++i) {
        EXPECT_TRUE(act()) << "it was not done later";
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

    /// Effects: does it in new processes, in which each of the calls that it makes is refused.
    void expect_to_get_over_it(deed act)
    {
        const findings usual = in_a_process({system_call::any, 0, false}, act);
        ASSERT_TRUE(usual.is_done);
        std::size_t refused = 0;
        for (std::size_t kind = 0; kind != static_cast<std::size_t>(system_call::any); ++kind) {
            for (const bool is_for_good : {false, true}) {
                findings found{};
                for (std::size_t number = 1; usual.made[kind] != 0 && (number == 1 || found.refused != 0); ++number) {
                    const refusal next{static_cast<system_call>(kind), number, is_for_good};
                    found = in_a_process(next, act);
                    refused += found.refused;
                    const std::string which = "kind " + std::to_string(kind) + ", call " + std::to_string(number) +
                                              (is_for_good ? ", and on" : "");
                    ASSERT_TRUE(found.is_done) << which;
                    // Addresses that the system has not taken back stay.
                    ASSERT_TRUE(found.mapped <= usual.mapped || next.kind == system_call::unmap) << which;
                }
            }
        }
        EXPECT_NE(refused, 0U);
    }

private:
    /// Returns: what the process found, which ended as it should if that `is_done`.
    findings in_a_process(const refusal& refused, deed act)
    {
        auto& found = *static_cast<findings*>(shared_);
        found = {};
        (void)std::fflush(stdout);
        const pid_t child = _Fork(); // For the library, this is no fork: no handlers of it are called.
        EXPECT_GE(child, 0);
        if (child == 0) {
            alarm(20); // A process that waits for a lock would wait for ever.
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

TEST_F(np_with_a_failing_system, takes_its_first_block)
{
    expect_to_get_over_it([] { return blocks().take(100); });
}

TEST_F(np_with_a_failing_system, takes_blocks_of_each_kind)
{
    expect_to_get_over_it(&take_blocks_of_each_kind);
}

TEST_F(np_with_a_failing_system, takes_more_and_more)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 1500; ++i)
            has_all = mine.take(16 * kibibyte) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, takes_large_blocks)
{
    expect_to_get_over_it(&take_large_blocks);
}

TEST_F(np_with_a_failing_system, takes_blocks_beyond_the_region)
{
    expect_to_get_over_it([] {
        use_little_addresses();
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

TEST_F(np_with_a_failing_system, takes_many_blocks_beyond_the_region)
{
    expect_to_get_over_it([] {
        use_little_addresses();
        blocks mine;
        bool has_all = mine.take(15 * mebibyte);
        for (int i = 0; i != 50; ++i) // so that the table of these blocks has to grow
            has_all = mine.take(70 * kibibyte) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, takes_aligned_blocks)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = true;
        for (std::size_t alignment = 32; alignment <= 4 * mebibyte; alignment *= 2)
            has_all = mine.take_aligned(alignment, 3 * alignment / 2) && has_all;
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, takes_zeroed_blocks)
{
    expect_to_get_over_it(&take_zeroed_blocks);
}

TEST_F(np_with_a_failing_system, makes_a_block_larger_where_it_is)
{
    expect_to_get_over_it([] {
        blocks mine;
        return mine.take(mebibyte) && mine.resize_last(3 * mebibyte) && mine.resize_last(20 * mebibyte);
    });
}

TEST_F(np_with_a_failing_system, makes_a_block_larger_somewhere_else)
{
    expect_to_get_over_it([] {
        blocks mine;
        blocks behind;
        bool is_done = mine.take(10);
        for (std::size_t bytes = 100; is_done && bytes < 40 * mebibyte; bytes *= 3)
            is_done = mine.resize_last(bytes) && behind.take(bytes); // So it has no room where it is.
        return is_done;
    });
}

/// Whatever the system refuses, a block that there is can become smaller.
TEST_F(np_with_a_failing_system, makes_a_block_smaller)
{
    expect_to_get_over_it([] {
        use_little_addresses();
        blocks mine;
        blocks others;
        if (!mine.take(100 * kibibyte))
            return false;
        const bool has_all = use_all_addresses(others);
        for (const std::size_t bytes : {30 * kibibyte, kibibyte, std::size_t{1}})
            EXPECT_TRUE(mine.resize_last(bytes));
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, uses_a_heap)
{
    expect_to_get_over_it([] {
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

TEST_F(np_with_a_failing_system, has_lines_remembered)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = true;
        for (int line = 1; line != 300; ++line)
            has_all = mine.take(10, [line] { return np_alloc_at(10, "a.c", line); }) && has_all;
        has_all = mine.take(mebibyte, [] { return np_alloc_at(mebibyte, "a.c", 0); }) && has_all;
        return has_all && mine.resize_last(3 * mebibyte);
    });
}

TEST_F(np_with_a_failing_system, has_threads_that_end)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = mine.take(10);
        for (int i = 0; i != 3; ++i)
            test::in_a_thread([&] { has_all = blocks().take_some_of_each_kind() && has_all; });
        test::in_threads(2, [&](std::size_t) { (void)blocks().take_some_of_each_kind(); });
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, has_blocks_freed_by_another_thread)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 1000; ++i)
            has_all = mine.take(32) && mine.take(100) && has_all;
        test::in_a_thread([&] { mine.give_back(); });
        return mine.take_some_of_each_kind() && has_all;
    });
}

TEST_F(np_with_a_failing_system, has_blocks_freed_by_more_threads_than_it_has_heaps_for)
{
    expect_to_get_over_it([] {
        blocks mine;
        bool has_all = true;
        std::array<test::lasting_thread, 20> others;
        for (test::lasting_thread& each : others) {
            has_all = mine.take(100) && has_all;
            each.does([&mine] { mine.give_back(); });
        }
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, has_blocks_freed_by_a_thread_that_finds_no_memory_for_batches)
{
    expect_to_get_over_it([] {
        use_little_addresses();
        blocks mine;
        bool has_all = true;
        for (int i = 0; i != 100; ++i)
            has_all = mine.take(32) && has_all;
        test::lasting_thread other;
        other.does([&] { has_all = blocks().take(32) && has_all; });
        blocks others;
        has_all = use_all_addresses(others) && has_all;
        other.does([&] { mine.give_back(); });
        return has_all;
    });
}

TEST_F(np_with_a_failing_system, gives_memory_back_to_the_system)
{
    expect_to_get_over_it([] {
        bool has_all = take_blocks_of_each_kind();
        (void)np_trim();
        (void)np_option_set(np_option_decay_ms, 0); // from here on, at once
        has_all = take_large_blocks() && has_all;
        (void)np_trim();
        return take_zeroed_blocks() && has_all;
    });
}

TEST_F(np_with_a_failing_system, uses_memory_that_it_has_discarded)
{
    expect_to_get_over_it([] {
        bool has_all = take_large_blocks();
        (void)np_trim();
        blocks mine;
        has_all = mine.take(mebibyte) && mine.resize_last(20 * mebibyte) && has_all;
        return mine.take_zeroed(30 * mebibyte) && mine.take_some_of_each_kind() && has_all;
    });
}

TEST_F(np_with_a_failing_system, forks)
{
    expect_to_get_over_it([] {
        blocks mine;
        const bool has_all = mine.take_some_of_each_kind();
        const pid_t child = fork();
        if (child == 0) {
            mine.give_back();
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
