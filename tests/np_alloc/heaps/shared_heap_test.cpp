// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/shared_heap.hpp>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/page_heap/page_heap.hpp>

#include <support/error_recorder.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
struct shared_heap : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1000);

    np::page_heap page_heap;
    np::shared_heap all{page_heap};
    np::shared_heap other{page_heap};
    test::first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    shared_heap() { EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20)); }
    ~shared_heap() override
    {
        EXPECT_FALSE(all.verify());
        EXPECT_FALSE(other.verify());
        page_heap.source().stop();
    }

    np::slice_index make_large(np::shared_heap& owner, std::size_t slices)
    {
        const np::run taken = page_heap.large().take_large(slices * np::slice_bytes, 1);
        owner.adopt_large(taken.first);
        return taken.first;
    }
    std::size_t slices_in_use()
    {
        return page_heap.source().with_runs([](const auto& runs) { return runs.in_use(); });
    }
};

TEST_F(shared_heap, reports_double_frees_and_interior_pointers)
{
    const test::error_recorder recorder;
    void* const block = all.allocate(size_class, 1000);
    void* const kept = all.allocate(size_class, 1000);
    EXPECT_NE(block, kept);
    EXPECT_TRUE(all.is_in_use(block));
    EXPECT_FALSE(all.is_in_use(static_cast<std::byte*>(block) + 16));
    EXPECT_FALSE(other.is_in_use(block));
    all.free(size_class, block);
    EXPECT_FALSE(all.is_in_use(block));
    EXPECT_TRUE(recorder.reports().empty());
    all.free(size_class, block);
    all.free(size_class, static_cast<std::byte*>(kept) + 16);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::misaligned_pointer}));
    EXPECT_EQ(all.outstanding(size_class), 1U);
}

TEST_F(shared_heap, frees_only_its_own_large_blocks)
{
    const np::slice_index first = make_large(all, 3);
    const np::slice_index second = make_large(all, 2);
    EXPECT_EQ(all.large_blocks(), 2U);
    EXPECT_FALSE(other.free_large(first));
    EXPECT_TRUE(all.free_large(first));
    EXPECT_FALSE(all.free_large(first)) << "it was freed already";
    EXPECT_EQ(all.large_blocks(), 1U);
    EXPECT_TRUE(all.free_large(second));
    EXPECT_EQ(slices_in_use(), 0U);
}

TEST_F(shared_heap, counts_slabs_and_blocks)
{
    void* const block = all.allocate(size_class, 990);
    (void)all.allocate(size_class, 1000);
    (void)make_large(all, 3);
    (void)other.allocate(size_class, 1000);
    all.free(size_class, block);
    const np::heap_statistics statistics = all.statistics();
    EXPECT_EQ(statistics.slabs, 1U);
    EXPECT_EQ(statistics.slab_bytes, np::class_info[size_class].slab_bytes);
    EXPECT_EQ(statistics.outstanding_blocks, 1U);
    EXPECT_EQ(statistics.outstanding_bytes, np::sizes::size(size_class));
    EXPECT_EQ(statistics.large_blocks, 1U);
    EXPECT_EQ(statistics.large_bytes, 3 * np::slice_bytes);
}

TEST_F(shared_heap, frees_all_at_once_and_stays_usable)
{
    for (std::size_t each = 0; each != np::class_count; ++each)
        EXPECT_NE(all.allocate(each, np::sizes::size(each)), nullptr);
    (void)make_large(all, 3);
    all.free_all();
    EXPECT_EQ(slices_in_use(), 0U);
    EXPECT_EQ(all.statistics().slabs + all.statistics().large_blocks, 0U);
    void* const block = all.allocate(size_class, 1000);
    EXPECT_TRUE(all.is_in_use(block));
}

TEST_F(shared_heap, fails_without_memory)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::protect, 1);
    EXPECT_EQ(all.allocate(size_class, 1000), nullptr);
    EXPECT_EQ(all.statistics().slabs, 0U);
    calls.refuse_nothing();
    EXPECT_NE(all.allocate(size_class, 1000), nullptr);
}

TEST_F(shared_heap, is_thread_safe)
{
    constexpr std::size_t threads = 4;
    test::in_threads(threads, [this](std::size_t thread) {
        for (int round = 0; round != 200; ++round) {
            const auto value = static_cast<unsigned char>(thread);
            auto* const block = static_cast<unsigned char*>(std::memset(all.allocate(size_class, 1000), value, 1000));
            EXPECT_TRUE(block[0] == value && std::memcmp(block, block + 1, 999) == 0);
            all.free(size_class, block);
        }
    });
    EXPECT_EQ(all.outstanding(size_class), 0U);
}
} // namespace
