// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <climits>
#include <pthread.h>
#endif

namespace {
np_statistics now()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics;
}

constexpr std::array<std::size_t, 7> sizes_of_all_kinds{1, 48, 500, 5000, 30'000, 100'000, 3'000'000};

std::vector<void*> some_blocks(std::size_t count, std::size_t bytes)
{
    std::vector<void*> blocks(count);
    std::generate(blocks.begin(), blocks.end(), [bytes] { return np_alloc(bytes); });
    return blocks;
}

void free_all(const std::vector<void*>& blocks)
{
    std::for_each(blocks.begin(), blocks.end(), np_free);
}

TEST(np_statistics, count_bytes_in_use_exactly)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const np_statistics before = now();
        const std::vector<void*> blocks = some_blocks(20, bytes);
        EXPECT_EQ(now().bytes_in_use - before.bytes_in_use, 20 * test::counted_bytes(bytes)) << bytes;
        EXPECT_GE(now().bytes_reserved, now().bytes_in_use);
        free_all(blocks);
        EXPECT_EQ(now().bytes_in_use, before.bytes_in_use) << bytes;
    }
}

TEST(np_statistics, are_exact_while_idle_threads_cache_blocks)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const np_statistics before = now();
        test::lasting_thread other;
        std::vector<void*> kept;
        other.does([&] { kept = some_blocks(20, bytes); });
        EXPECT_EQ(now().bytes_in_use - before.bytes_in_use, 20 * test::counted_bytes(bytes)) << bytes;
        other.does([&] { free_all(kept); });
        EXPECT_EQ(now().bytes_in_use, before.bytes_in_use) << bytes;
    }
}

TEST(np_statistics, do_not_count_blocks_in_transit_as_in_use)
{
    const test::immediate_reuse no_quarantine;
    (void)np_trim(); // No earlier block is in transit.
    const np_statistics before = now();
    test::lasting_thread owner;
    test::lasting_thread other;
    std::vector<void*> blocks;
    owner.does([&] { blocks = some_blocks(40, 16); });
    other.does([&] { free_all(blocks); });
    EXPECT_GE(now().bytes_in_transit - before.bytes_in_transit, 40 * 16U);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
}

TEST(np_statistics, count_cached_blocks_of_all_threads_even_ended_ones)
{
    (void)np_trim(); // Makes room in the cache for the block freed below.
    void* const block = np_alloc(700);
    const std::size_t cached = now().bytes_cached;
    np_free(block);
    EXPECT_EQ(now().bytes_cached, cached + test::counted_bytes(700));
    std::size_t of_all = 0;
    {
        test::lasting_thread other;
        void* of_other = nullptr;
        other.does([&] { of_other = np_alloc(500); });
        const std::size_t before = now().bytes_cached;
        other.does([&] { np_free(of_other); });
        of_all = now().bytes_cached;
        EXPECT_EQ(of_all, before + test::counted_bytes(500));
    }
    EXPECT_EQ(now().bytes_cached, of_all);
}

TEST(np_statistics, count_thread_heaps_and_parked_heaps)
{
    np_free(np_alloc(10));
    const np_statistics before = now();
    {
        test::lasting_thread one;
        one.does([] { np_free(np_alloc(10)); });
        EXPECT_EQ(now().thread_heaps - now().parked_heaps, before.thread_heaps - before.parked_heaps + 1);
    }
    EXPECT_EQ(now().thread_heaps - now().parked_heaps, before.thread_heaps - before.parked_heaps);
    EXPECT_GE(now().parked_heaps, 1U);
}

#if defined(__unix__) && !MEMORY_POOL_TSAN // ThreadSanitizer has ended its own thread state by the last round.
/// A thread that frees blocks while it lives, and in its last round of destructors, after which np_alloc cannot observe
/// the end of the thread.
class freeing_thread
{
public:
    freeing_thread(std::size_t while_it_lives, std::size_t at_last)
        : freed_while_it_lives_(some_blocks(while_it_lives, 100)), freed_at_last_(some_blocks(at_last, 100))
    {
        EXPECT_EQ(pthread_key_create(&key_, &end), 0);
    }
    freeing_thread(const freeing_thread&) = delete;
    freeing_thread& operator=(const freeing_thread&) = delete;
    ~freeing_thread() { pthread_key_delete(key_); }

    void run()
    {
        pthread_t thread{};
        ASSERT_EQ(pthread_create(&thread, nullptr, &live, this), 0);
        ASSERT_EQ(pthread_join(thread, nullptr), 0);
        EXPECT_EQ(rounds_, PTHREAD_DESTRUCTOR_ITERATIONS);
    }

private:
    static void* live(void* self)
    {
        auto& thread = *static_cast<freeing_thread*>(self);
        pthread_setspecific(thread.key_, self);
        free_all(thread.freed_while_it_lives_);
        return nullptr;
    }

    static void end(void* self)
    {
        auto& thread = *static_cast<freeing_thread*>(self);
        if (++thread.rounds_ != PTHREAD_DESTRUCTOR_ITERATIONS)
            pthread_setspecific(thread.key_, self);
        else
            free_all(thread.freed_at_last_);
    }

    std::vector<void*> freed_while_it_lives_;
    std::vector<void*> freed_at_last_;
    pthread_key_t key_ = 0;
    int rounds_ = 0;
};

TEST(np_statistics, can_be_found_by_name)
{
    void* const block = np_alloc(1'000'000);
    const np_statistics all = now();
    std::size_t value = 0;
    EXPECT_EQ(np_statistics_by_name("bytes_large", &value), 0);
    EXPECT_EQ(value, all.bytes_large);
    EXPECT_EQ(np_statistics_by_name("peak_bytes_reserved", &value), 0);
    EXPECT_EQ(value, all.peak_bytes_reserved);
    EXPECT_EQ(np_statistics_by_name("bytes_resident", &value), 0);
    EXPECT_EQ(value == 0, np_resident_bytes() == 0);
    value = 7;
    for (const char* const none : {"", "bytes", "bytes_large ", "BYTES_LARGE"})
        EXPECT_EQ(np_statistics_by_name(none, &value), EINVAL) << none;
    EXPECT_EQ(np_statistics_by_name(nullptr, &value), EINVAL);
    EXPECT_EQ(np_statistics_by_name("slabs", nullptr), EINVAL);
    EXPECT_EQ(value, 7U);
    np_free(block);
}

TEST(np_statistics, count_no_cached_blocks_after_np_thread_idle)
{
    (void)np_trim();
    const std::size_t before = now().bytes_cached;
    std::vector<void*> blocks(100);
    for (void*& each : blocks)
        each = np_alloc(100);
    std::for_each(blocks.begin(), blocks.end(), np_free);
    EXPECT_GT(now().bytes_cached, before);
    errno = 7;
    np_thread_idle();
    EXPECT_EQ(errno, 7);
    EXPECT_EQ(now().bytes_cached, before);
    test::in_a_thread([] { np_thread_idle(); }); // A thread without a cache.
}

TEST(np_statistics, count_no_heap_for_frees_after_the_end_of_a_thread)
{
    np_free(np_alloc(10));
    for (const std::size_t while_it_lives : {0U, 1U, 25U}) {
        const np_statistics before = now();
        freeing_thread(while_it_lives, 25).run();
        EXPECT_EQ(now().thread_heaps - now().parked_heaps, before.thread_heaps - before.parked_heaps);
        EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
    }
}
#endif

TEST(np_statistics, count_heaps_of_the_program_and_their_blocks)
{
    const np_statistics before = now();
    np_heap* const heap = np_heap_create();
    EXPECT_EQ(now().heaps, before.heaps + 1);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use) << "the heap itself is not counted";
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const std::size_t in_use = now().bytes_in_use;
        (void)np_heap_alloc(heap, bytes);
        EXPECT_EQ(now().bytes_in_use - in_use, test::counted_bytes(bytes)) << bytes;
    }
    np_heap_destroy(heap);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(now().heaps, before.heaps);
}

TEST(np_statistics, count_blocks_with_a_call_site)
{
    const np_statistics before = now();
    void* const block = np_alloc_at(64, "orders.c", 42);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use + test::counted_bytes(64));
    np_free(block);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
}

TEST(np_statistics, count_resized_large_blocks)
{
    const np_statistics before = now();
    void* block = np_alloc(100'000);
    for (const std::size_t bytes : {100'000U, 200'000U, 5'000'000U, 300'000U, 20'000'000U}) {
        block = np_realloc(block, bytes);
        EXPECT_EQ(now().large_blocks, before.large_blocks + 1);
        EXPECT_GE(now().bytes_large - before.bytes_large, np_usable_size(block)) << bytes;
        EXPECT_EQ(now().bytes_in_use - before.bytes_in_use, now().bytes_large - before.bytes_large) << bytes;
    }
    block = np_realloc(block, 100);
    EXPECT_EQ(now().large_blocks, before.large_blocks);
    EXPECT_EQ(now().bytes_large, before.bytes_large);
    np_free(block);
}

TEST(np_statistics, count_reserved_dirty_and_purged_bytes)
{
    (void)np_trim();
    const np_statistics before = now();
    constexpr std::size_t bytes = std::size_t{30} << 20;
    void* const block = np_alloc(bytes);
    EXPECT_EQ(now().bytes_reserved, before.bytes_reserved + test::counted_bytes(bytes));
    EXPECT_GE(now().peak_bytes_reserved, now().bytes_reserved);
    np_free(block);
    const std::size_t trimmed = np_trim();
    EXPECT_EQ(now().bytes_dirty, 0U);
    EXPECT_EQ(now().bytes_reserved, before.bytes_reserved);
    EXPECT_GE(now().bytes_purged - before.bytes_purged, bytes);
    EXPECT_GE(now().bytes_purged - before.bytes_purged, trimmed);
    EXPECT_GE(now().peak_bytes_reserved, before.bytes_reserved + bytes);
}

TEST(np_statistics, count_slabs)
{
    (void)np_trim();
    const np_statistics before = now();
    const std::vector<void*> blocks = some_blocks(1000, 1000);
    EXPECT_GE(now().slabs - before.slabs, 1000 / 64U);
    free_all(blocks);
    (void)np_trim();
    EXPECT_LE(now().slabs, before.slabs);
}

TEST(np_statistics, count_misuse_reports)
{
    const std::size_t before = now().misuse_reports;
    int local = 0;
    const test::error_recorder recorder;
    np_free(&local);
    EXPECT_EQ(np_usable_size(&local), 0U);
    EXPECT_EQ(now().misuse_reports, before + 2);
}

TEST(np_statistics, count_size_mismatches)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "the checked build reports each of them";
    const std::size_t before = now().size_mismatches;
    for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{3'000'000}})
        np_free_sized(np_alloc(bytes), 2 * bytes);
    EXPECT_EQ(now().size_mismatches, before + 2) << "frees of large blocks are always checked";
    for (void* block : some_blocks(10'000, 100))
        np_free_sized(block, 200);
    EXPECT_GT(now().size_mismatches, before + 2 + 10) << "frees of small blocks are checked when the cache is full";
}

TEST(np_statistics, count_no_mismatch_for_the_requested_size)
{
    const std::size_t before = now().size_mismatches;
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{30'000}, std::size_t{100'000}})
        for (int i = 0; i != 1000; ++i) {
            np_free_sized(np_alloc(bytes), bytes);
            np_free_sized(np_realloc(np_alloc(2 * bytes), bytes), bytes);
            np_free_aligned_sized(np_aligned_alloc(4096, bytes), 4096, bytes);
        }
    for (void* block : some_blocks(10'000, 100))
        np_free_sized(block, 100);
    EXPECT_EQ(now().size_mismatches, before);
}

TEST(np_statistics, may_be_read_while_threads_start_work_and_end)
{
    std::atomic<bool> ends{false};
    std::thread reader([&] {
        while (!ends) {
            const np_statistics statistics = now();
            constexpr std::size_t far_too_much = std::size_t{1} << 40;
            EXPECT_LT(statistics.bytes_in_use, far_too_much);
            EXPECT_LT(statistics.bytes_cached, far_too_much);
            EXPECT_LT(statistics.bytes_in_transit, far_too_much);
            EXPECT_LT(statistics.bytes_reserved, far_too_much);
        }
    });
    const np_statistics before = now();
    std::array<std::atomic<void*>, 64> blocks{};
    for (int life = 0; life != 10; ++life)
        test::in_threads(3, [&](std::size_t thread) {
            std::mt19937 random(static_cast<unsigned>(thread));
            for (int step = 0; step != 1000; ++step)
                np_free(
                    blocks[random() % blocks.size()].exchange(np_alloc(random() % (step % 100 == 0 ? 100'000 : 2000))));
        });
    ends = true;
    reader.join();
    for (std::atomic<void*>& each : blocks)
        np_free(each);
    EXPECT_EQ(now().bytes_in_use, before.bytes_in_use);
}

#if TESTS_MAY_FORK
TEST(np_statistics, can_be_read_in_the_child_of_a_fork)
{
    test::lasting_thread other;
    void* block = nullptr;
    other.does([&block] {
        free_all(some_blocks(6, 500));
        block = np_alloc(100);
    });
    np_free(np_alloc(1)); // Creates the heap of this thread.
    const np_statistics before = now();
    test::expect_in_child([&] {
        void* const mine = np_alloc(48);
        const np_statistics in_child = now();
        np_free(mine);
        return in_child.bytes_in_use >= before.bytes_in_use + 48 && in_child.thread_heaps == before.thread_heaps;
    });
    np_free(block);
}
#endif

std::string printed(np_format format)
{
    std::string all;
    np_statistics_print(
        format,
        [](const char* text, std::size_t length, void* to) { static_cast<std::string*>(to)->append(text, length); },
        &all);
    return all;
}

/// Returns: the number behind `name` in `text`.
std::size_t number_behind(const std::string& name, const std::string& text)
{
    std::istringstream rest(text.substr(text.find(name) + name.size()));
    std::size_t number = 0;
    rest >> number;
    return number;
}

TEST(np_get_statistics, fills_a_smaller_or_larger_struct)
{
    struct newer
    {
        np_statistics known;
        std::size_t unknown;
        std::size_t behind;
    } larger{};
    void* const block = np_alloc(100);
    larger.unknown = larger.behind = 7;
    np_get_statistics_sized(&larger.known, offsetof(newer, behind));
    EXPECT_GE(larger.known.bytes_in_use, 100U);
    EXPECT_EQ(larger.known.size_mismatches, now().size_mismatches);
    EXPECT_EQ(larger.unknown, 0U);
    EXPECT_EQ(larger.behind, 7U);
    np_statistics older{};
    older.bytes_cached = 7;
    np_get_statistics_sized(&older, offsetof(np_statistics, bytes_cached));
    EXPECT_GE(older.bytes_in_use, 100U);
    EXPECT_EQ(older.bytes_cached, 7U) << "memory behind the smaller struct stays unchanged";
    np_free(block);
}

TEST(np_statistics_print, prints_each_value_on_a_line)
{
    const std::vector<void*> blocks = some_blocks(3, 100'000);
    const std::string text = printed(np_format_text);
    EXPECT_EQ(number_behind("\n    in use ", text), now().bytes_in_use);
    EXPECT_EQ(number_behind("\n  bytes reserved ", text), now().bytes_reserved);
    EXPECT_EQ(number_behind("\n  large blocks ", text), now().large_blocks);
    free_all(blocks);
}

TEST(np_statistics_print, prints_a_row_for_each_size_class_in_use)
{
    const std::vector<void*> blocks = some_blocks(300, 820);
    const std::string text = printed(np_format_text);
    EXPECT_GE(number_behind("\n         832 ", text), 300U);
    EXPECT_EQ(text.find("\n           0 "), std::string::npos);
    free_all(blocks);
}

TEST(np_statistics_print, prints_json)
{
    const std::vector<void*> blocks = some_blocks(300, 820);
    const std::string text = printed(np_format_json);
    EXPECT_EQ(number_behind("\"bytes_in_use\":", text), now().bytes_in_use);
    EXPECT_EQ(number_behind(R"("in_use":)", text.substr(text.find(R"({"block_bytes": 832,)"))),
              number_behind("\n         832 ", printed(np_format_text)));
    free_all(blocks);
}

TEST(np_statistics_print, propagates_exceptions_of_the_callback)
{
    const auto throw_number = [](const char*, std::size_t, void*) { throw 77; };
    EXPECT_THROW(np_statistics_print(np_format_text, throw_number, nullptr), int);
}

TEST(np_statistics_print, writes_to_stderr_by_default)
{
    testing::internal::CaptureStderr();
    np_statistics_print(np_format_text, nullptr, nullptr);
    EXPECT_EQ(number_behind("\n    in use ", testing::internal::GetCapturedStderr()), now().bytes_in_use);
    testing::internal::CaptureStderr();
    np_statistics_print();
    EXPECT_EQ(number_behind("\n    in use ", testing::internal::GetCapturedStderr()), now().bytes_in_use);
}

TEST(np_statistics_print, writes_to_a_file_or_stream)
{
    testing::internal::CaptureStdout();
    np_statistics_print(np_format_json, stdout);
    EXPECT_EQ(number_behind("\"bytes_in_use\":", testing::internal::GetCapturedStdout()), now().bytes_in_use);
    std::ostringstream stream;
    np_statistics_print(np_format_text, stream);
    EXPECT_EQ(number_behind("\n    in use ", stream.str()), now().bytes_in_use);
}

TEST(np_statistics_print, propagates_exceptions_of_the_stream)
{
    std::ostream broken(nullptr);
    np_statistics_print(np_format_text, broken);
    EXPECT_TRUE(broken.bad());
    EXPECT_THROW(broken.exceptions(std::ios::badbit), std::ios::failure);
    EXPECT_THROW(np_statistics_print(np_format_text, broken), std::ios::failure);
}
} // namespace
