// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/front.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <vector>

namespace np = memory_pool::np;

namespace
{
struct front : testing::Test
{
    np::backend backend;
    np::heap_memory* memory = nullptr;
    np::front mine;

    front()
    {
        EXPECT_TRUE(backend.start(std::size_t{1} << 30));
        const np::run run = backend.take_bytes(sizeof(np::heap_memory), alignof(np::heap_memory));
        memory = ::new (backend.memory().address(run.first)) np::heap_memory(backend);
    }
    ~front() override { backend.stop(); }

    void* take(std::size_t size_class)
    {
        void* block = nullptr;
        return mine.pop(size_class, block) ? block : mine.refill(size_class);
    }

    void give(void* block)
    {
        const np::owner_word size_class =
            mine.class_in(backend.memory().owner(backend.memory().slice_of(block)).load());
        ASSERT_LT(size_class, np::class_count);
        if (!mine.push(size_class, block))
            mine.flush_half(size_class);
    }

    std::size_t away()
    {
        std::size_t count = 0;
        memory->slabs.for_each_slab([&](const np::slice_record& slab) { count += slab.carved - slab.free_count; });
        return count;
    }
};

TEST_F(front, has_nothing_at_hand_and_knows_no_block_before_it_has_a_heap)
{
    EXPECT_FALSE(mine.has_heap());
    void* block = nullptr;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        EXPECT_FALSE(mine.pop(size_class, block));
    EXPECT_GE(mine.class_in(np::nobody), np::class_count);
    EXPECT_GE(mine.class_in(np::large_block), np::class_count);
    EXPECT_GE(mine.class_in(memory->slabs.word() | 3), np::class_count);
}

TEST_F(front, tells_the_class_of_its_own_blocks_and_that_others_are_not_its)
{
    mine.use(*memory);
    EXPECT_EQ(mine.class_in(memory->slabs.word() | 3), 3U);
    EXPECT_GE(mine.class_in(np::nobody), np::class_count);
    EXPECT_GE(mine.class_in(np::large_block), np::class_count);
    EXPECT_GE(mine.class_in((memory->slabs.word() + 128) | 3), np::class_count);
}

TEST_F(front, hands_out_first_what_came_back_last)
{
    mine.use(*memory);
    void* const a = take(5);
    void* const b = take(5);
    give(a);
    give(b);
    EXPECT_EQ(take(5), b);
    EXPECT_EQ(take(5), a);
}

TEST_F(front, goes_to_the_slabs_when_it_is_empty_or_full_and_loses_nothing)
{
    mine.use(*memory);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t count = 3 * std::size_t{np::magazine_room(size_class)} + 1;
        std::vector<void*> blocks;
        blocks.reserve(count);
        for (std::size_t i = 0; i != count; ++i)
            blocks.push_back(take(size_class));
        ASSERT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count);
        for (void* block : blocks) {
            give(block);
            ASSERT_LT(mine.held(size_class), np::magazine_room(size_class));
        }
        std::size_t held = 0;
        for (std::size_t each = 0; each != np::class_count; ++each)
            held += mine.held(each);
        ASSERT_EQ(away(), held);
    }
}

TEST_F(front, puts_everything_back_when_the_thread_leaves)
{
    mine.use(*memory);
    void* const kept = take(0);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        give(take(size_class));
    mine.leave();
    EXPECT_FALSE(mine.has_heap());
    EXPECT_EQ(away(), 1U);
    memory->slabs.put(kept);
    EXPECT_EQ(away(), 0U);
}
} // namespace
