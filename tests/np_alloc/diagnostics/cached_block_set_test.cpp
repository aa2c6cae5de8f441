// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/diagnostics/cached_block_set.hpp>

#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>

#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace np = memory_pool::np;

namespace {
/// The cached blocks of this process, and a magazine of this thread.
struct cached_block_set : testing::Test
{
    static constexpr std::size_t bytes = 1000;
    static constexpr std::size_t size_class = np::sizes::of(bytes);

    std::array<void*, 4> blocks{};
    np::cached_block_set all{np::registry()};

    cached_block_set()
    {
        for (void*& each : blocks)
            each = np_alloc(bytes);
    }
    ~cached_block_set() override
    {
        for (void* each : blocks)
            np_free(each);
        EXPECT_FALSE(all.find_all()) << "the damage was repaired";
    }

    bool has(const void* block) const
    {
        const np::page_heap::region_type& region = np::pages().region();
        const np::slice_index slab = region.record_of(block).slab;
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - region.address(slab));
        return all.has(slab, np::block_at(np::class_info[size_class], offset));
    }

    std::string what_is_wrong()
    {
        const np::inconsistency found = all.find_all();
        return found ? found.what : "";
    }

    /// Returns: the inconsistency while `place` holds `value`.
    std::string what_is_wrong_with(void*& place, void* value)
    {
        void* const before = std::exchange(place, value);
        std::string found = what_is_wrong();
        place = before;
        return found;
    }
};

TEST_F(cached_block_set, contains_blocks_freed_by_this_thread)
{
    EXPECT_FALSE(all.has_marks());
    np_free(std::exchange(blocks[1], nullptr));
    void* const freed = *(np::this_thread.cache.top(size_class) - 1);
    EXPECT_EQ(what_is_wrong(), "");
    EXPECT_TRUE(all.has_marks());
    EXPECT_TRUE(has(freed));
    for (void* each : {blocks[0], blocks[2], blocks[3]})
        EXPECT_FALSE(has(each));
    blocks[1] = np_alloc(bytes);
    EXPECT_EQ(blocks[1], freed);
    EXPECT_TRUE(has(freed)) << "the set is a snapshot";
    EXPECT_EQ(what_is_wrong(), "");
    EXPECT_FALSE(has(freed));
}

TEST_F(cached_block_set, counts_blocks_in_transit)
{
    test::lasting_thread other;
    void* block = nullptr;
    other.does([&block] { block = np_alloc(16); });
    EXPECT_EQ(what_is_wrong(), "");
    const std::uint32_t before = all.in_transit(0);
    np_free(block);
    EXPECT_EQ(what_is_wrong(), "");
    EXPECT_EQ(all.in_transit(0), before + 1);
}

TEST_F(cached_block_set, reports_a_lack_of_memory)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::map, 1);
    EXPECT_EQ(what_is_wrong(), "no memory for the set of cached blocks");
    EXPECT_FALSE(all.has_marks());
}

TEST_F(cached_block_set, finds_invalid_pointers_in_a_magazine)
{
    np_free(std::exchange(blocks[0], nullptr));
    np_free(std::exchange(blocks[1], nullptr));
    void*& last = *(np::this_thread.cache.top(size_class) - 1);
    void* const one_before = *(&last - 1);
    int on_the_stack = 0;
    EXPECT_EQ(what_is_wrong_with(last, one_before), "a block is cached twice");
    EXPECT_EQ(what_is_wrong_with(last, &on_the_stack), "a cached block is in no slab");
    EXPECT_EQ(what_is_wrong_with(last, static_cast<std::byte*>(last) + 16),
              "a cached block does not begin at a block boundary");
    void* const of_other_size = np_alloc(500);
    EXPECT_EQ(what_is_wrong_with(last, of_other_size), "a block is in the magazine of another size class");
    np_free(of_other_size);
    EXPECT_EQ(what_is_wrong(), "");
}

TEST_F(cached_block_set, finds_cached_blocks_free_in_their_slab_and_magazines_without_end)
{
    np_free(std::exchange(blocks[0], nullptr));
    np_heap* const heap = np_heap_create();
    void* const in_heap = np_heap_alloc(heap, bytes);
    void* const kept = np_heap_alloc(heap, bytes);
    np_heap_free(heap, in_heap);
    void*& last = *(np::this_thread.cache.top(size_class) - 1);
    EXPECT_EQ(what_is_wrong_with(last, in_heap), "a cached block is also free in its slab");
    np_heap_free(heap, kept);
    np_heap_destroy(heap);
    void*& mark = *np::this_thread.cache.heap().end(size_class);
    EXPECT_EQ(what_is_wrong_with(mark, nullptr), "a magazine is out of place");
}
} // namespace
