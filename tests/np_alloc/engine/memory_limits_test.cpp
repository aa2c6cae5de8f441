// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The memory limits of a process, through the public interface.
#include <memory_pool/np_alloc.h>

#include <support/child.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace {
constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;
constexpr std::size_t slice_bytes = 64 * kibibyte;

std::size_t statistic(const char* name)
{
    std::size_t value = 0;
    EXPECT_EQ(np_statistics_by_name(name, &value), 0);
    return value;
}
std::size_t reserved()
{
    return statistic("bytes_reserved");
}

/// Without decay, free memory stays until it is needed. Tests set limits relative to the memory reserved at the start.
struct np_limits : testing::Test
{
    test::immediate_reuse at_once;
    test::option_for_now no_decay{np_option_decay_ms, NP_DECAY_NEVER};
    std::size_t at_first = 0;
    std::vector<void*> blocks;

    np_limits()
    {
        (void)np_trim();
        at_first = reserved();
    }
    ~np_limits() override
    {
        set(0, 0);
        free_all();
        (void)np_trim();
    }

    static void set(std::size_t hard, std::size_t soft)
    {
        EXPECT_EQ(np_option_set(np_option_limit_bytes, hard), 0);
        EXPECT_EQ(np_option_set(np_option_soft_limit_bytes, soft), 0);
    }
    bool takes(std::size_t bytes)
    {
        errno = 0;
        void* const block = np_alloc(bytes);
        if (block == nullptr) {
            EXPECT_EQ(errno, ENOMEM);
            return false;
        }
        std::memset(block, 1, bytes);
        blocks.push_back(block);
        return true;
    }
    void free_all()
    {
        std::for_each(blocks.begin(), blocks.end(), np_free);
        blocks.clear();
    }
};

TEST_F(np_limits, can_be_set_at_any_time)
{
    EXPECT_EQ(np_option_set_by_name("limit_bytes", "64G"), 0);
    EXPECT_EQ(np_option_get(np_option_limit_bytes), std::size_t{64} << 30);
    EXPECT_EQ(np_option_set_by_name("soft_limit_bytes", "60G"), 0);
    EXPECT_EQ(np_option_get(np_option_soft_limit_bytes), std::size_t{60} << 30);
    set(0, 0);
}

TEST_F(np_limits, are_exact_for_large_blocks)
{
    const std::size_t bytes = test::counted_bytes(mebibyte);
    set(at_first + 2 * bytes, 0);
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_EQ(reserved(), at_first + 2 * bytes);
    EXPECT_FALSE(takes(40 * kibibyte));
    np_free(blocks.back());
    blocks.pop_back();
    EXPECT_TRUE(takes(mebibyte));
    free_all();
    set(at_first + mebibyte - 1, 0);
    EXPECT_FALSE(takes(mebibyte));
}

TEST_F(np_limits, are_never_exceeded_by_small_blocks)
{
    for (const std::size_t bytes : {std::size_t{16}, std::size_t{1000}, 30 * kibibyte}) {
        const std::size_t limit = at_first + 3 * mebibyte;
        set(limit, 0);
        while (takes(bytes)) {
        }
        EXPECT_LE(reserved(), limit);
        EXPECT_GT(reserved(), limit - slice_bytes) << "blocks that fit in no slab are mapped individually";
        free_all();
        EXPECT_TRUE(takes(2 * mebibyte)) << "np_alloc sweeps the empty slabs";
        free_all();
        set(0, 0);
        (void)np_trim();
    }
}

TEST_F(np_limits, hold_for_every_function)
{
    void* const block = np_alloc(mebibyte);
    std::memset(block, 7, mebibyte);
    np_heap* const heap = np_heap_create();
    set(reserved(), 0);
    EXPECT_EQ(np_calloc(1, mebibyte), nullptr);
    EXPECT_EQ(np_aligned_alloc(mebibyte, mebibyte), nullptr);
    EXPECT_EQ(np_alloc_at(mebibyte, __FILE__, __LINE__), nullptr);
    EXPECT_EQ(np_heap_alloc(heap, mebibyte), nullptr);
    EXPECT_EQ(np_heap_alloc(heap, 100), nullptr);
    EXPECT_EQ(np_heap_aligned_alloc(heap, 4096, 4096), nullptr);
    void* aligned = nullptr;
    EXPECT_EQ(np_posix_memalign(&aligned, 4096, mebibyte), ENOMEM);
    errno = 0;
    EXPECT_EQ(np_expand(block, 2 * mebibyte), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(np_realloc(block, 2 * mebibyte), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    const auto* const bytes = static_cast<const unsigned char*>(block);
    EXPECT_TRUE(std::all_of(bytes, bytes + mebibyte, [](unsigned char each) { return each == 7; }));
    set(0, 0);
    void* const grown = np_realloc(block, 2 * mebibyte);
    EXPECT_NE(grown, nullptr);
    np_free(grown);
    np_heap_destroy(heap);
}

TEST_F(np_limits, sweep_all_heaps_before_failing)
{
    for (int i = 0; i != 4000; ++i)
        EXPECT_TRUE(takes(1000));
    set(reserved(), 0);
    EXPECT_FALSE(takes(2 * mebibyte));
    test::in_a_thread([this] { free_all(); });
    EXPECT_TRUE(takes(2 * mebibyte)) << "np_alloc drains remote frees";
}

TEST_F(np_limits, hold_for_many_threads_at_once)
{
    constexpr std::size_t max_blocks = 64;
    const std::size_t bytes = test::counted_bytes(slice_bytes);
    set(at_first + max_blocks * bytes, 0);
    std::atomic<std::size_t> taken{0};
    std::vector<std::vector<void*>> of_threads(8);
    test::in_threads(of_threads.size(), [&](std::size_t thread) {
        while (void* const block = np_alloc(slice_bytes)) {
            of_threads[thread].push_back(block);
            ++taken;
        }
    });
    EXPECT_EQ(taken, max_blocks);
    EXPECT_EQ(reserved(), at_first + max_blocks * bytes);
    for (const std::vector<void*>& each : of_threads)
        std::for_each(each.begin(), each.end(), np_free);
    EXPECT_TRUE(takes(slice_bytes));
}

/// A callback for the soft limit.
struct soft_limit_callback
{
    std::function<void()> action = [] {};
    std::atomic<int> calls{0};
    std::size_t bytes_reported = 0;

    soft_limit_callback()
    {
        np_set_soft_limit_callback(
            [](std::size_t bytes, void* self) {
                auto& callback = *static_cast<soft_limit_callback*>(self);
                ++callback.calls;
                callback.bytes_reported = bytes;
                callback.action();
            },
            this);
    }
    soft_limit_callback(const soft_limit_callback&) = delete;
    soft_limit_callback& operator=(const soft_limit_callback&) = delete;
    ~soft_limit_callback() { np_set_soft_limit_callback(nullptr, nullptr); }
};

TEST_F(np_limits, if_soft_call_back_once_per_crossing)
{
    const std::size_t bytes = test::counted_bytes(mebibyte);
    soft_limit_callback callback;
    set(0, at_first + 2 * bytes);
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_EQ(callback.calls, 0) << "at the limit";
    errno = 0;
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_EQ(callback.calls, 1) << "the call that crosses the limit";
    EXPECT_EQ(callback.bytes_reported, at_first + 3 * bytes);
    EXPECT_EQ(errno, 0);
    EXPECT_TRUE(takes(mebibyte));
    EXPECT_EQ(callback.calls, 1) << "above the limit already";
    free_all();
    (void)np_trim();
    for (int i = 0; i != 3; ++i)
        EXPECT_TRUE(takes(mebibyte));
    EXPECT_EQ(callback.calls, 2);
}

TEST_F(np_limits, if_soft_return_free_memory_before_the_callback)
{
    const std::size_t bytes = test::counted_bytes(mebibyte);
    soft_limit_callback callback;
    for (int i = 0; i != 4; ++i)
        EXPECT_TRUE(takes(mebibyte));
    set(0, at_first + 5 * bytes);
    for (const std::size_t place : {0U, 2U})
        np_free(std::exchange(blocks[place], nullptr));
    EXPECT_TRUE(takes(3 * mebibyte - slice_bytes)) << "neither free run is large enough, so both are purged";
    EXPECT_EQ(callback.calls, 0);
    EXPECT_EQ(statistic("bytes_dirty"), 0U);
}

TEST_F(np_limits, if_soft_return_memory_that_the_callback_frees)
{
    const std::size_t bytes = test::counted_bytes(mebibyte);
    soft_limit_callback callback;
    for (int i = 0; i != 4; ++i)
        EXPECT_TRUE(takes(mebibyte));
    callback.action = [this] {
        void* const other = np_alloc(2 * mebibyte); // No second crossing: the limit is exceeded already.
        free_all();
        np_free(other);
    };
    set(0, at_first + 4 * bytes);
    void* const last = np_alloc(mebibyte);
    EXPECT_EQ(callback.calls, 1);
    EXPECT_EQ(reserved(), at_first + bytes);
    np_free(last);
}

TEST_F(np_limits, if_soft_apply_to_every_function)
{
    soft_limit_callback callback;
    np_heap* const heap = np_heap_create();
    void* grown = np_alloc(mebibyte);
    const std::vector<std::function<void()>> ways = {
        [&] { EXPECT_TRUE(takes(mebibyte)); },
        [&] { blocks.push_back(np_aligned_alloc(mebibyte, mebibyte)); },
        [&] { blocks.push_back(np_heap_alloc(heap, mebibyte)); },
        [&] { blocks.push_back(np_heap_alloc(heap, 1000)); },
        [&] { grown = np_realloc(grown, 4 * mebibyte); },
        [&] {
            for (int i = 0; i != 3000; ++i)
                EXPECT_TRUE(takes(1000));
        },
    };
    for (const std::function<void()>& way : ways) {
        set(0, 0);
        (void)np_trim();
        callback.calls = 0;
        set(0, reserved());
        way();
        EXPECT_EQ(callback.calls, 1) << &way - ways.data();
    }
    set(0, 0);
    free_all();
    np_free(grown);
    np_heap_destroy(heap);
}

TEST_F(np_limits, if_soft_call_back_when_set_below_the_usage)
{
    soft_limit_callback callback;
    EXPECT_TRUE(takes(mebibyte));
    set(0, reserved() - 1);
    EXPECT_EQ(callback.calls, 1);
    set(0, 0);
    np_set_soft_limit_callback(nullptr, nullptr);
    set(0, 1);
    EXPECT_EQ(callback.calls, 1);
}

TEST_F(np_limits, if_soft_call_back_once_for_many_threads)
{
    soft_limit_callback callback;
    set(0, at_first + 8 * slice_bytes);
    std::vector<std::vector<void*>> of_threads(8);
    test::in_threads(of_threads.size(), [&](std::size_t thread) {
        for (int i = 0; i != 20; ++i)
            of_threads[thread].push_back(np_alloc(slice_bytes));
    });
    EXPECT_EQ(callback.calls, 1);
    for (const std::vector<void*>& each : of_threads)
        std::for_each(each.begin(), each.end(), np_free);
}

#if TESTS_MAY_FORK
TEST_F(np_limits, hold_in_the_child_of_a_fork)
{
    soft_limit_callback callback;
    EXPECT_TRUE(takes(mebibyte));
    const std::size_t bytes = test::counted_bytes(mebibyte);
    set(reserved() + 2 * bytes, reserved());
    test::expect_in_child([&] {
        const bool both = takes(mebibyte) && takes(mebibyte);
        return both && !takes(mebibyte) && callback.calls == 1;
    });
    EXPECT_EQ(callback.calls, 0);
}
#endif
} // namespace
