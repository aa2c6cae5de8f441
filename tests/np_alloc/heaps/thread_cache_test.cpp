// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/thread_cache.hpp>
#include <memory_pool/np_alloc.h>

#include <support/error_recorder.hpp>
#include <support/np_heaps.hpp>

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <vector>

namespace np = memory_pool::np;

namespace {
struct thread_cache : testing::Test
{
    np::page_heap page_heap;
    np::outbox for_others{};
    np::thread_heap* memory = nullptr;
    np::thread_cache mine;

    thread_cache()
    {
        EXPECT_TRUE(page_heap.source().start(std::size_t{1} << 30));
        const np::run run = page_heap.source().take_bytes(sizeof(np::thread_heap), alignof(np::thread_heap));
        memory = ::new (page_heap.region().address(run.first)) np::thread_heap(page_heap, for_others);
    }
    ~thread_cache() override { page_heap.source().stop(); }

    void* take(std::size_t size_class)
    {
        void* block = nullptr;
        return mine.pop(size_class, block) ? block : mine.get(size_class);
    }

    void give(void* block)
    {
        const np::slice_tag size_class = mine.class_in(page_heap.region().tag_of(block).load());
        ASSERT_LT(size_class, np::class_count);
        if (!mine.push(size_class, block))
            mine.put(size_class, block);
    }

    /// Returns all cached blocks to their heaps, and drains the remote frees of this heap.
    void tidy(np::thread_cache& user)
    {
        np::misuse_list found;
        user.put_all_back(found);
        (void)memory->slabs.drain();
    }

    /// Returns: the cached bytes beyond min_room() blocks of each class.
    std::size_t bytes_held_beyond_a_few()
    {
        std::size_t bytes = 0;
        for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
            const std::size_t held = mine.held(size_class);
            bytes += (held - std::min<std::size_t>(held, np::min_room(size_class))) * np::sizes::size(size_class);
        }
        return bytes;
    }

    std::size_t outstanding()
    {
        std::size_t count = 0;
        memory->slabs.for_each_slab([&](const np::slice_record& slab) { count += slab.capacity - slab.free_count; });
        return count;
    }
};

TEST_F(thread_cache, is_empty_and_owns_nothing_without_a_heap)
{
    EXPECT_FALSE(mine.has_heap());
    void* block = nullptr;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        EXPECT_FALSE(mine.pop(size_class, block));
    EXPECT_GE(mine.class_in(np::no_owner), np::class_count);
    EXPECT_GE(mine.class_in(np::large_block), np::class_count);
    EXPECT_GE(mine.class_in(memory->slabs.own_tag() | 3), np::class_count);
}

TEST(cached_classes, have_a_coarse_class_at_most_half_larger)
{
    const auto alignment = [](std::size_t bytes) { return bytes & (~bytes + 1); };
    for (std::size_t number = 0; number != np::class_count; ++number) {
        const std::size_t coarse = np::class_info[number].coarse_class;
        const std::size_t bytes = np::sizes::size(number);
        EXPECT_GE(np::sizes::size(coarse), bytes);
        EXPECT_LE(np::sizes::size(coarse), bytes + bytes / 2);
        EXPECT_GE(alignment(np::sizes::size(coarse)), alignment(bytes)) << bytes;
        EXPECT_EQ(np::class_info[coarse].coarse_class, coarse) << bytes;
    }
}

TEST_F(thread_cache, borrows_from_a_larger_class_if_it_is_one_of_many)
{
    if (np::is_checked)
        GTEST_SKIP() << "the checked build does not borrow from larger classes";
    constexpr std::size_t size_class = np::sizes::of(400);
    mine.use(*memory);
    EXPECT_EQ(memory->class_to_allocate(size_class), size_class);
    memory->is_one_of_many = true;
    std::size_t borrowed = 0;
    while (memory->class_to_allocate(size_class) == np::sizes::of(512))
        ++borrowed;
    EXPECT_EQ(borrowed, 4096U / np::sizes::size(size_class)) << "a page of blocks";
    EXPECT_EQ(memory->class_to_allocate(size_class), size_class);
    EXPECT_EQ(memory->class_to_allocate(np::sizes::of(512)), np::sizes::of(512));
    give(take(np::sizes::of(300)));
    EXPECT_EQ(memory->class_to_allocate(np::sizes::of(300)), np::sizes::of(300)) << "the class has a magazine";
}

TEST_F(thread_cache, is_found_by_the_tags_of_its_slabs)
{
    EXPECT_EQ(&np::thread_heap::of(memory->slabs.own_tag() | 5), memory);
}

TEST_F(thread_cache, fits_its_heap_and_a_few_small_magazines_in_two_pages)
{
    if (np::is_checked || memory_pool::detail::os::page_size() != 4096)
        GTEST_SKIP() << "the heap of the checked build contains its quarantine";
    mine.use(*memory);
    for (const std::size_t bytes : {100U, 200U, 300U, 400U, 500U, 600U, 700U}) {
        std::vector<void*> blocks(8);
        std::generate(blocks.begin(), blocks.end(), [&] { return take(np::sizes::of(bytes)); });
        std::for_each(blocks.begin(), blocks.end(), [this](void* block) { give(block); });
    }
    EXPECT_LE(memory_pool::detail::os::resident_pages(memory, sizeof *memory), 2U);
}

TEST_F(thread_cache, keeps_blocks_when_a_magazine_outgrows_its_small_place)
{
    mine.use(*memory);
    test::heap other(page_heap);
    std::vector<void*> blocks(20);
    for (void*& block : blocks)
        ASSERT_EQ(other.take(20, &block, 1), 1U);
    mine.put(20, blocks[0]);
    void** const small = memory->begin(20);
    std::for_each(blocks.begin() + 1, blocks.end(), [this](void* block) { mine.put(20, block); });
    EXPECT_NE(memory->begin(20), small);
    EXPECT_TRUE(std::equal(blocks.begin(), blocks.end(), memory->begin(20), mine.top(20)));
    give(take(7));
    EXPECT_EQ(memory->begin(7), small);
    tidy(mine);
    (void)other.drain();
    EXPECT_EQ(other.outstanding(20), 0U);
    other.give_back_empty_slabs();
}

TEST_F(thread_cache, owns_its_blocks_while_it_ticks)
{
    mine.use(*memory);
    void* const block = take(5);
    const np::slice_tag word = memory->slabs.own_tag() | 5;
    mine.start_ticks(0, 0);
    EXPECT_GE(mine.class_in(word), np::class_count);
    EXPECT_FALSE(mine.stays_at_once(np::class_count - 1));
    EXPECT_TRUE(mine.owns(word));
    EXPECT_TRUE(mine.may_stay(np::class_count - 1));
    EXPECT_TRUE(mine.has_heap());
    mine.stop_ticks(0, 0);
    EXPECT_EQ(mine.class_in(word), 5U);
    EXPECT_TRUE(mine.stays_at_once(np::class_count - 1));
    give(block);
}

TEST_F(thread_cache, knows_the_class_of_its_own_blocks_only)
{
    mine.use(*memory);
    EXPECT_EQ(mine.class_in(memory->slabs.own_tag() | 3), 3U);
    EXPECT_GE(mine.class_in(np::no_owner), np::class_count);
    EXPECT_GE(mine.class_in(np::large_block), np::class_count);
    EXPECT_GE(mine.class_in((memory->slabs.own_tag() + 128) | 3), np::class_count);
}

TEST_F(thread_cache, is_last_in_first_out)
{
    mine.use(*memory);
    void* const a = take(5);
    void* const b = take(5);
    give(a);
    give(b);
    EXPECT_EQ(take(5), b);
    EXPECT_EQ(take(5), a);
}

TEST_F(thread_cache, exchanges_blocks_with_slabs_when_empty_or_full)
{
    mine.use(*memory);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t count = 3 * std::size_t{np::max_room(size_class)} + 1;
        std::vector<void*> blocks;
        blocks.reserve(count);
        for (std::size_t i = 0; i != count; ++i)
            blocks.push_back(take(size_class));
        ASSERT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), count);
        for (void* block : blocks) {
            give(block);
            ASSERT_LE(mine.held(size_class), np::max_room(size_class));
        }
        std::size_t held = 0;
        for (std::size_t each = 0; each != np::class_count; ++each)
            held += mine.held(each);
        ASSERT_EQ(outstanding(), held);
    }
}

TEST_F(thread_cache, grows_with_the_demand_of_its_thread)
{
    mine.use(*memory);
    give(take(0));
    EXPECT_LE(mine.held(0), np::min_room(0));
    std::vector<void*> blocks;
    for (std::uint32_t i = 0; i != 2 * np::max_room(0); ++i)
        blocks.push_back(take(0)); // NOLINT(performance-inefficient-vector-operation): take() grows the room
    EXPECT_EQ(memory->room(0), np::max_room(0));
    for (void* block : blocks)
        give(block);
}

TEST_F(thread_cache, holds_only_a_few_blocks_with_thread_cache_bytes_0)
{
    const std::size_t before = np_option_get(np_option_thread_cache_bytes);
    ASSERT_EQ(np_option_set(np_option_thread_cache_bytes, 0), 0);
    mine.use(*memory);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks)
        block = take(0);
    for (void* block : blocks)
        give(block);
    EXPECT_LE(mine.held(0), np::min_room(0));
    ASSERT_EQ(np_option_set(np_option_thread_cache_bytes, before), 0);
}

TEST_F(thread_cache, has_room_for_a_few_blocks_of_a_class_above_the_limit)
{
    mine.use(*memory);
    std::vector<void*> blocks(1000);
    for (void*& block : blocks)
        block = take(0);
    const std::size_t before = np_option_get(np_option_thread_cache_bytes);
    ASSERT_EQ(np_option_set(np_option_thread_cache_bytes, 0), 0);
    give(take(1));
    EXPECT_EQ(memory->room(1), np::min_room(1));
    EXPECT_EQ(*memory->end(1), np::thread_heap::full_mark());
    for (void* block : blocks)
        give(block);
    ASSERT_EQ(np_option_set(np_option_thread_cache_bytes, before), 0);
}

/// Allocates many blocks of one size and frees them.
void need_many(thread_cache& fixture, std::size_t size_class)
{
    std::vector<void*> blocks(2 * std::size_t{np::max_room(size_class)});
    std::generate(blocks.begin(), blocks.end(), [&] { return fixture.take(size_class); });
    std::for_each(blocks.begin(), blocks.end(), [&fixture](void* block) { fixture.give(block); });
}

/// Allocates and frees many blocks of each size class from `first` on.
void need_many_of_each(thread_cache& fixture, std::size_t first = 0)
{
    for (std::size_t size_class = first; size_class != np::class_count; ++size_class)
        need_many(fixture, size_class);
}

TEST_F(thread_cache, limits_all_classes_together_to_its_share)
{
    mine.use(*memory);
    need_many_of_each(*this);
    EXPECT_LE(bytes_held_beyond_a_few(), np_option_get(np_option_thread_cache_bytes));
}

TEST_F(thread_cache, has_another_share_for_each_32_mib_in_use)
{
    mine.use(*memory);
    constexpr std::size_t largest = np::class_count - 1;
    std::vector<void*> in_use((std::size_t{100} << 20) / np::sizes::size(largest));
    for (void*& block : in_use)
        block = take(largest);
    const std::size_t share = np_option_get(np_option_thread_cache_bytes);
    need_many_of_each(*this);
    const std::size_t kept = bytes_held_beyond_a_few();
    EXPECT_GT(kept, 2 * share);
    EXPECT_LE(kept, 4 * share);
    for (void* block : in_use)
        give(block);
}

constexpr std::size_t first_small = 3;
constexpr std::size_t first_of_others = 11;

/// Effects: allocates and frees many blocks of a few small classes, in turn.
/// Returns: how often the thread locked its heap.
std::uint32_t slow_calls_for_small_classes(thread_cache& fixture)
{
    const np::heap& slabs = fixture.mine.heap().slabs;
    const std::uint32_t before = slabs.owner_locks();
    std::vector<void*> blocks(2000);
    for (int round = 0; round != 20; ++round) {
        std::size_t taken = 0;
        for (void*& block : blocks)
            block = fixture.take(first_small + taken++ % (first_of_others - first_small));
        for (void* block : blocks)
            fixture.give(block);
    }
    return slabs.owner_locks() - before;
}

/// Returns: the result of slow_calls_for_small_classes() in a new heap.
std::uint32_t slow_calls_in_a_new_heap()
{
    struct : thread_cache
    {
        void TestBody() override {}
    } fresh;
    fresh.mine.use(*fresh.memory);
    return slow_calls_for_small_classes(fresh);
}

TEST_F(thread_cache, moves_room_from_idle_to_busy_classes)
{
    mine.use(*memory);
    need_many_of_each(*this, first_of_others);
    (void)slow_calls_for_small_classes(*this);
    EXPECT_LT(slow_calls_for_small_classes(*this), slow_calls_in_a_new_heap());
    EXPECT_LE(bytes_held_beyond_a_few(), np_option_get(np_option_thread_cache_bytes));
    tidy(mine);
    EXPECT_EQ(outstanding(), 0U);
}

TEST_F(thread_cache, moves_room_from_classes_of_the_previous_thread)
{
    mine.use(*memory);
    need_many_of_each(*this, first_of_others);
    mine.leave();
    mine.use(*memory);
    EXPECT_LT(slow_calls_for_small_classes(*this), 3 * slow_calls_in_a_new_heap());
    EXPECT_LE(bytes_held_beyond_a_few(), np_option_get(np_option_thread_cache_bytes));
    tidy(mine);
    EXPECT_EQ(outstanding(), 0U);
}

/// Makes the next of the 32 largest classes need more room.
void need_many_of_the_next(thread_cache& fixture, std::size_t& next)
{
    constexpr std::size_t few = 32;
    need_many(fixture, np::class_count - few + next++ % few);
}

TEST_F(thread_cache, takes_no_room_from_a_class_that_uses_all_of_it)
{
    mine.use(*memory);
    need_many_of_each(*this, first_of_others);
    (void)slow_calls_for_small_classes(*this);
    const std::uint32_t room = memory->room(first_small);
    ASSERT_GE(room, 8 * np::min_room(first_small));
    std::vector<void*> blocks(mine.held(first_small));
    for (std::size_t next = 0; next != 400;) {
        std::generate(blocks.begin(), blocks.end(), [this] { return take(first_small); });
        need_many_of_the_next(*this, next);
        ASSERT_EQ(memory->room(first_small), room);
        std::for_each(blocks.begin(), blocks.end(), [this](void* block) { give(block); });
        need_many_of_the_next(*this, next);
        ASSERT_EQ(memory->room(first_small), room);
    }
}

TEST_F(thread_cache, takes_no_room_from_a_class_that_keeps_running_empty)
{
    mine.use(*memory);
    need_many_of_each(*this, first_of_others);
    (void)slow_calls_for_small_classes(*this);
    while (mine.held(first_small) != 0)
        (void)take(first_small);
    const std::uint32_t room = memory->room(first_small);
    ASSERT_GE(room, 8 * np::min_room(first_small));
    for (std::size_t next = 0; next != 200;) {
        do
            (void)take(first_small);
        while (mine.held(first_small) != 0);
        need_many_of_the_next(*this, next);
    }
    EXPECT_GE(memory->room(first_small), room);
}

TEST_F(thread_cache, leaves_cached_blocks_to_the_next_thread)
{
    mine.use(*memory);
    void* const kept = take(0);
    void* const last = take(7);
    give(last);
    const std::size_t held = mine.held(7);
    mine.leave();
    EXPECT_FALSE(mine.has_heap());
    void* none = nullptr;
    EXPECT_FALSE(mine.pop(7, none));
    np::thread_cache next;
    next.use(*memory);
    EXPECT_EQ(next.held(7), held);
    none = next.get(7);
    EXPECT_EQ(none, last);
    next.put(7, last);
    next.put(0, kept);
    tidy(next);
    EXPECT_EQ(outstanding(), 0U);
}

TEST_F(thread_cache, keeps_small_magazines_for_outstanding_blocks)
{
    mine.use(*memory);
    std::vector<void*> blocks(np::max_room(0));
    for (const std::size_t size_class : {7U, 0U}) {
        std::generate(blocks.begin(), blocks.end(), [&] { return take(size_class); });
        std::for_each(blocks.begin(), blocks.end(), [this](void* block) { give(block); });
    }
    void* const kept = take(0);
    tidy(mine);
    mine.leave();
    memory->slabs.give_back_empty_slabs();
    memory->drop_magazines();
    EXPECT_EQ(memory->room(7), 0U);
    EXPECT_EQ(memory->room(0), np::min_room(0));
    EXPECT_EQ(memory->tops[7], nullptr);
    mine.use(*memory);
    give(kept);
    EXPECT_EQ(mine.held(0), 1U);
    for (const std::size_t size_class : {7U, 0U}) {
        std::generate(blocks.begin(), blocks.end(), [&] { return take(size_class); });
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
        std::for_each(blocks.begin(), blocks.end(), [this](void* block) { give(block); });
    }
    tidy(mine);
    EXPECT_EQ(outstanding(), 0U);
}

TEST_F(thread_cache, reports_a_double_free_in_a_row)
{
    mine.use(*memory);
    test::error_recorder recorder;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        void* const block = take(size_class);
        give(block);
        const std::size_t held = mine.held(size_class);
        EXPECT_FALSE(mine.push(size_class, block));
        mine.put(size_class, block);
        EXPECT_EQ(mine.held(size_class), held);
        EXPECT_EQ(recorder.kinds().size(), size_class + 1);
    }
    EXPECT_EQ(recorder.kinds().back(), memory_pool::error_kind::double_free);
}

TEST_F(thread_cache, ignores_the_word_before_an_empty_magazine)
{
    mine.use(*memory);
    const test::error_recorder recorder;
    void* const block = take(1);
    while (mine.held(1) != 0)
        (void)take(1);
    memory->begin(1)[-1] = block; // The word belongs to another magazine and may have any value.
    give(block);
    EXPECT_EQ(mine.held(1), 1U);
    EXPECT_TRUE(recorder.kinds().empty());
}

TEST_F(thread_cache, returns_blocks_to_the_heap_that_allocated_them)
{
    mine.use(*memory);
    test::heap other(page_heap);
    std::vector<void*> blocks(3 * std::size_t{np::max_room(20)});
    for (void*& block : blocks)
        ASSERT_EQ(other.take(20, &block, 1), 1U);
    for (void* block : blocks)
        mine.put(20, block);
    tidy(mine);
    (void)other.drain();
    EXPECT_EQ(other.outstanding(20), 0U);
    other.send_all(); // Returns the batches.
    (void)memory->slabs.drain();
    EXPECT_EQ(outstanding(), 0U);
    other.give_back_empty_slabs();
}

TEST_F(thread_cache, reports_a_free_in_the_slab_of_batches_on_drain)
{
    mine.use(*memory);
    test::heap other(page_heap);
    void* theirs = nullptr;
    ASSERT_EQ(other.take(20, &theirs, 1), 1U);
    mine.put(20, theirs);
    tidy(mine);
    std::byte* free_block = nullptr;
    memory->slabs.for_each_slab([&free_block](const np::slice_record& slab) {
        free_block =
            slab.size_class == np::free_batch::size_class ? slab.begin + 5 * np::free_batch::bytes : free_block;
    });
    ASSERT_NE(free_block, nullptr);
    give(free_block);
    EXPECT_EQ(mine.held(np::free_batch::size_class), 1U);
    test::error_recorder recorder;
    tidy(mine);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::double_free});
    (void)other.drain();
    other.send_all();
    (void)memory->slabs.drain();
    EXPECT_EQ(outstanding(), 0U);
    other.give_back_empty_slabs();
}

TEST_F(thread_cache, caches_small_remote_blocks_only_after_many_frees)
{
    const std::size_t size_of_line = np::sizes::of(memory_pool::cache_line_size);
    mine.use(*memory);
    EXPECT_TRUE(mine.may_stay(size_of_line));
    EXPECT_FALSE(mine.may_stay(size_of_line - 1));
    for (int i = 0; i != 1023; ++i)
        mine.note_passed();
    EXPECT_FALSE(mine.may_stay(size_of_line - 1));
    mine.note_passed();
    EXPECT_TRUE(mine.may_stay(0));
    mine.leave();
    EXPECT_FALSE(mine.may_stay(size_of_line - 1)) << "leave() resets the count";
}
} // namespace
