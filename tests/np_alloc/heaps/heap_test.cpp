// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap.hpp>

#include <support/error_recorder.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace mp = memory_pool;
namespace np = memory_pool::np;

namespace
{
struct heap : testing::Test
{
    np::page_heap page_heap;
    np::heap mine{page_heap};
    np::heap other{page_heap};
    test::first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    heap() { EXPECT_TRUE(page_heap.start(std::size_t{1} << 30)); }
    ~heap() override { page_heap.stop(); }

    std::vector<void*> take(np::heap& from, std::size_t size_class, std::uint32_t count)
    {
        std::vector<void*> blocks(count);
        std::uint32_t taken = 0;
        while (taken != count)
            taken += from.take(size_class, blocks.data() + taken, std::min<std::uint32_t>(count - taken, 32));
        return blocks;
    }

    std::vector<std::unique_ptr<np::heap>> make_heaps(std::size_t count)
    {
        std::vector<std::unique_ptr<np::heap>> made(count);
        for (std::unique_ptr<np::heap>& each : made)
            each = std::make_unique<np::heap>(page_heap);
        return made;
    }

    /// Puts a block back into the heap that it is from, or has `back` keep it for that.
    void put(np::heap& back, void* block)
    {
        const np::slice_tag owner = page_heap.region().tag(page_heap.region().slice_of(block)).load();
        back.put(owner & np::class_bits, &block, 1);
    }

    std::size_t in_transit(const np::heap& from)
    {
        std::size_t count = 0;
        (void)from.for_each_in_transit([&count](const void*) { return ++count, true; });
        return count;
    }

    std::size_t outstanding(const np::heap& from)
    {
        std::size_t count = 0;
        from.for_each_slab([&count](const np::slice_record& slab) { count += slab.capacity - slab.free_count; });
        return count;
    }

    np::huge_page_use huge_pages_under(const void* block)
    {
        return page_heap.region().huge_pages(page_heap.region().slice_of(block) / np::slices_of_huge_page);
    }

    std::size_t slices_in_use()
    {
        return page_heap.with_runs([](const auto& runs) { return runs.is_valid() ? runs.in_use() : 0; });
    }
};

TEST_F(heap, hands_out_blocks_of_every_class_that_do_not_overlap)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t size = np::sizes::size(size_class);
        const std::vector<void*> blocks = take(mine, size_class, np::slab_capacity(size_class) + 3);
        std::set<std::uintptr_t> starts;
        for (void* block : blocks) {
            std::memset(block, 0xAB, size);
            starts.insert(reinterpret_cast<std::uintptr_t>(block));
        }
        ASSERT_EQ(starts.size(), blocks.size());
        for (auto each = std::next(starts.begin()); each != starts.end(); ++each)
            ASSERT_GE(*each - *std::prev(each), size);
        for (void* block : blocks)
            put(mine, block);
    }
    EXPECT_EQ(outstanding(mine), 0U);
}

TEST_F(heap, aligns_blocks_to_every_power_of_two_that_their_size_is_a_multiple_of)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class) {
        const std::size_t size = np::sizes::size(size_class);
        for (void* block : take(mine, size_class, 10))
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % (size & (~size + 1)), 0U) << size;
    }
}

TEST_F(heap, writes_the_lowest_of_fresh_blocks_last_as_that_goes_out_first)
{
    const std::vector<void*> blocks = take(mine, 0, 8);
    EXPECT_TRUE(std::is_sorted(blocks.rbegin(), blocks.rend()));
}

TEST_F(heap, keeps_one_empty_slab_of_a_class_and_gives_the_others_back)
{
    const std::vector<void*> blocks = take(mine, 63, 3 * np::slab_capacity(63));
    EXPECT_EQ(mine.slabs(), 3U);
    for (void* block : blocks)
        put(mine, block);
    EXPECT_EQ(mine.slabs(), 1U);
    EXPECT_EQ(slices_in_use(), 1U);
    mine.give_back_empty_slabs();
    EXPECT_EQ(mine.slabs(), 0U);
    EXPECT_EQ(slices_in_use(), 0U);
}

TEST_F(heap, has_huge_pages_for_the_slabs_of_a_class_with_many_blocks_in_use_if_it_is_large)
{
    constexpr std::size_t class_of_1k = np::sizes::of(1024);
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        (void)take(mine, size_class, 1);
    const std::vector<void*> many_of_little = take(mine, class_of_1k, 5'000);
    EXPECT_EQ(huge_pages_under(many_of_little.back()), np::huge_page_use::untold);
    const std::vector<void*> many = take(mine, class_of_1k, 20'000);
    EXPECT_EQ(huge_pages_under(many.back()), np::huge_page_use::asked_for);
}

TEST_F(heap, has_huge_pages_for_them_if_most_of_its_slabs_are_in_use)
{
    constexpr std::size_t class_of_1k = np::sizes::of(1024);
    const std::vector<void*> few = take(mine, class_of_1k, 900);
    EXPECT_EQ(huge_pages_under(few.back()), np::huge_page_use::untold);
    const std::vector<void*> many = take(mine, class_of_1k, 4'000);
    EXPECT_EQ(huge_pages_under(many.back()), np::huge_page_use::asked_for);
}

TEST_F(heap, has_no_huge_pages_for_the_slabs_of_classes_with_few_blocks_each_however_large_it_is)
{
    constexpr std::size_t class_of_32k = np::sizes::of(32 * 1024);
    (void)take(mine, class_of_32k, 400);
    const test::system_calls calls;
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        (void)take(mine, size_class, size_class != class_of_32k ? np::slab_slices(size_class) : 0);
    EXPECT_EQ(calls.made(test::system_call::advise_huge_pages), 0U);
}

TEST_F(heap, is_the_owner_of_its_slabs_by_their_words)
{
    const std::size_t size_class = np::sizes::of(5000);
    void* const block = take(mine, size_class, 1)[0];
    const std::size_t first = page_heap.region().slice_of(block);
    for (std::size_t slice = first; slice != first + np::slab_slices(size_class); ++slice)
        EXPECT_EQ(page_heap.region().tag(slice).load(), mine.own_tag() | size_class);
    put(mine, block);
    mine.give_back_empty_slabs();
    EXPECT_EQ(page_heap.region().tag(first).load(), np::no_owner);
}

TEST_F(heap, drains_what_another_has_buffered_for_it_when_that_is_sent)
{
    for (void* block : take(mine, 3, 10))
        put(other, block);
    EXPECT_EQ(in_transit(other), 11U) << "with the batch";
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 10U) << "not sent yet";
    other.send_all();
    EXPECT_EQ(in_transit(other), 0U);
    EXPECT_EQ(in_transit(mine), 11U);
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U) << "the batch is back";
    EXPECT_EQ(mine.sent_minus_received() + other.sent_minus_received(), 0U);
}

TEST_F(heap, drains_batches_of_every_length)
{
    for (std::uint32_t length = 1; length <= 200; length += length < 5 ? 1 : 13) {
        for (void* block : take(mine, 0, length))
            put(other, block);
        other.send_all();
        (void)mine.drain();
        ASSERT_EQ(outstanding(mine), 0U) << length;
        const std::vector<void*> again = take(mine, 0, length);
        EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), length);
        for (void* block : again)
            put(mine, block);
    }
}

TEST_F(heap, buffers_batches_for_many_others_and_sends_one_when_its_slot_is_needed)
{
    std::vector<std::unique_ptr<np::heap>> owners = make_heaps(1000);
    for (const std::unique_ptr<np::heap>& each : owners)
        for (void* block : take(*each, 63, 5))
            put(other, block);
    EXPECT_LE(in_transit(other), 64U * (5 + 1));
    other.send_all();
    for (const std::unique_ptr<np::heap>& each : owners) {
        each->drain();
        EXPECT_EQ(outstanding(*each), 0U);
    }
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U);
}

TEST_F(heap, takes_no_more_memory_for_batches_to_many_others_than_the_blocks_in_them_have)
{
    std::vector<std::unique_ptr<np::heap>> owners = make_heaps(1000);
    for (int round = 0; round != 10; ++round)
        for (const std::unique_ptr<np::heap>& each : owners)
            for (void* block : take(*each, 3, 2))
                put(other, block);
    EXPECT_LE(outstanding(other), 64U) << "batches that are not sent yet";
    other.send_all();
    std::size_t sent_minus_received = 0;
    for (const std::unique_ptr<np::heap>& each : owners) {
        each->drain();
        EXPECT_EQ(outstanding(*each), 0U);
        sent_minus_received += each->sent_minus_received();
    }
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U);
    EXPECT_EQ(sent_minus_received + other.sent_minus_received(), 0U);
}

TEST_F(heap, sends_a_block_as_its_own_batch_if_there_is_no_memory_for_one)
{
    const std::vector<void*> blocks = take(mine, 0, 5);
    const auto all = static_cast<std::uint32_t>(page_heap.region().slices());
    const auto used = page_heap.with_runs([](const auto& runs) { return static_cast<std::uint32_t>(runs.used()); });
    const np::run rest = page_heap.take_large(std::size_t{all - used} * np::slice_bytes, 1);
    ASSERT_NE(rest.first, np::no_slice);
    for (void* block : blocks)
        put(other, block);
    EXPECT_EQ(in_transit(other), 0U);
    EXPECT_EQ(in_transit(mine), 5U);
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    EXPECT_EQ(mine.sent_minus_received() + other.sent_minus_received(), 0U);
    page_heap.give_large(rest.first);
}

TEST_F(heap, reports_a_block_that_is_free_already_and_one_that_begins_nowhere)
{
    test::error_recorder recorder;
    const std::vector<void*> blocks = take(mine, 5, 2);
    put(mine, blocks[0]);
    put(mine, blocks[0]);
    put(mine, static_cast<std::byte*>(blocks[1]) + 16);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::double_free, mp::error::misaligned_pointer}));
    EXPECT_EQ(outstanding(mine), 1U);
    put(mine, blocks[1]);
    EXPECT_EQ(outstanding(mine), 0U);
}

TEST_F(heap, reports_a_block_that_two_others_have_sent)
{
    test::error_recorder recorder;
    void* const block = take(mine, 5, 2)[0];
    np::heap third(page_heap);
    put(other, block);
    put(third, block);
    other.send_all();
    third.send_all();
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::double_free}));
    EXPECT_EQ(outstanding(mine), 1U);
}

// A slab of such blocks is given back as soon as none of them is outstanding.
constexpr std::size_t class_of_large_slabs = np::sizes::of(5000);

TEST_F(heap, reports_a_block_that_comes_back_when_its_slab_is_gone)
{
    test::error_recorder recorder;
    void* const block = take(mine, class_of_large_slabs, 1)[0];
    EXPECT_FALSE(mine.put(class_of_large_slabs, block).has_value());
    EXPECT_EQ(mine.slabs(), 0U);
    mine.put(class_of_large_slabs, &block, 1);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::double_free}));
    EXPECT_EQ(mine.put(class_of_large_slabs, block), mp::error::double_free);
    ASSERT_EQ(take(other, class_of_large_slabs, 1)[0], block);
    EXPECT_EQ(mine.put(class_of_large_slabs, block), mp::error::double_free);
    EXPECT_EQ(outstanding(other), 1U) << "it is another's now";
}

TEST_F(heap, reports_a_block_that_two_others_have_sent_when_its_slab_is_gone)
{
    test::error_recorder recorder;
    void* const block = take(mine, class_of_large_slabs, 1)[0];
    np::heap third(page_heap);
    put(other, block);
    put(third, block);
    other.send_all();
    (void)mine.drain();
    EXPECT_EQ(mine.slabs(), 0U);
    ASSERT_EQ(take(other, class_of_large_slabs, 1)[0], block);
    third.send_all();
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::double_free}));
    mine.send_all();
    (void)other.drain();
    EXPECT_EQ(other.outstanding(class_of_large_slabs), 1U) << "it is another's now";
}

TEST_F(heap, reports_a_block_that_was_sent_twice_as_its_own_batch)
{
    test::error_recorder recorder;
    const std::vector<void*> blocks = take(mine, 5, 3);
    for (const std::size_t each : {0U, 1U, 0U}) // The last one has the first come again behind the second.
        (void)mine.send_one(5, blocks[each]);
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::double_free}));
    EXPECT_EQ(outstanding(mine), 1U);
    void* const only_one = take(mine, class_of_large_slabs, 1)[0];
    (void)mine.send_one(class_of_large_slabs, only_one);
    (void)mine.send_one(class_of_large_slabs, only_one);
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), test::kinds(2, mp::error::double_free));
    EXPECT_EQ(outstanding(mine), 1U);
}

TEST_F(heap, reports_what_lies_behind_the_last_block_of_a_slab)
{
    test::error_recorder recorder;
    const np::class_facts& its = np::facts[5];
    auto* const first = static_cast<std::byte*>(take(mine, 5, 1)[0]);
    const std::size_t end = std::size_t{its.capacity} * its.block_bytes;
    ASSERT_LT(end, its.slab_bytes);
    put(mine, first + end);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error::misaligned_pointer}));
    EXPECT_EQ(outstanding(mine), 1U);
}

TEST_F(heap, has_all_blocks_of_a_slab_whatever_its_record_was_before)
{
    (void)take(mine, 5, np::slab_capacity(5));
    mine.give_back_slabs();
    const std::vector<void*> blocks = take(mine, 5, np::slab_capacity(5));
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_EQ(mine.slabs(), 1U);
}

TEST_F(heap, names_the_size_of_a_block_whose_slab_has_gone_since_it_was_freed)
{
    test::error_recorder recorder;
    constexpr std::size_t size_class = 75;
    void* const block = take(mine, size_class, 1)[0];
    put(mine, block);
    mine.give_back_empty_slabs();
    mine.put(size_class, &block, 1);
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error::double_free});
    EXPECT_EQ(recorder.reports()[0].block_size, np::sizes::size(size_class));
}

TEST_F(heap, reports_a_batch_that_was_written_to_and_believes_nothing_of_it)
{
    struct batch
    {
        void* next;
        std::uint64_t count;
        void* first;
    };
    int local = 0;
    const batch sound{nullptr, 1, nullptr}; // with the block that it has brought, if nothing else is said
    std::vector<batch> written(4, sound);
    written[0].next = &local;
    written[1].count = 1000;
    written[2].first = &local;
    written[3].first = reinterpret_cast<void*>(std::uintptr_t{0x4141'4141'4141'4141});
    for (const batch& each : written) {
        test::error_recorder recorder;
        void* const brought = take(mine, 5, 1)[0];
        put(other, brought);
        const std::size_t away_before = outstanding(mine);
        batch* sent = nullptr;
        (void)other.for_each_in_transit([&sent](const void* first) {
            sent = static_cast<batch*>(const_cast<void*>(first));
            return false;
        });
        other.send_all();
        *sent = each;
        sent->first = each.first != nullptr ? each.first : brought;
        (void)mine.drain();
        ASSERT_EQ(recorder.kinds(), test::kinds{mp::error::write_after_free});
        EXPECT_EQ(recorder.reports()[0].address, sent);
        EXPECT_EQ(in_transit(mine), 0U);
        EXPECT_EQ(outstanding(mine), away_before);
    }
}

TEST_F(heap, reports_what_is_wrong_with_a_batch_when_its_place_is_needed)
{
    const std::vector<std::unique_ptr<np::heap>> owners = make_heaps(1000);
    int local = 0;
    void* const mine_again = take(other, 5, 1)[0]; // as if it had been in a slab that was another's before
    for (void* written : {static_cast<void*>(&local), mine_again}) {
        test::error_recorder recorder;
        put(other, take(mine, 5, 1)[0]);
        const void* batch = nullptr;
        (void)other.for_each_in_transit([&batch](const void* first) {
            batch = first;
            return false;
        });
        std::memcpy(static_cast<std::byte*>(const_cast<void*>(batch)) + 16, &written, sizeof written);
        for (const std::unique_ptr<np::heap>& each : owners)
            put(other, take(*each, 5, 1)[0]);
        const bool is_block = written == mine_again;
        ASSERT_EQ(recorder.kinds(), test::kinds{is_block ? mp::error::double_free : mp::error::write_after_free});
        EXPECT_EQ(recorder.reports()[0].address, is_block ? written : batch);
        EXPECT_EQ(local, 0);
        other.send_all();
    }
}

TEST_F(heap, counts_the_blocks_of_a_batch_where_no_program_writes)
{
    const std::vector<void*> blocks = take(mine, 5, 2);
    put(other, blocks[0]);
    (void)other.for_each_in_transit([](const void* batch) {
        std::memset(const_cast<void*>(batch), 0x41, 16);
        return false;
    });
    put(other, blocks[1]);
    EXPECT_EQ(in_transit(other), 3U) << "with the batch";
}

TEST_F(heap, has_no_block_to_give_when_the_region_is_used_up_and_has_later)
{
    const auto all = static_cast<std::uint32_t>(page_heap.region().slices());
    const np::run rest = page_heap.take_large(std::size_t{all} * np::slice_bytes, 1);
    ASSERT_NE(rest.first, np::no_slice);
    void* block = nullptr;
    EXPECT_EQ(mine.take(0, &block, 1), 0U);
    page_heap.give_large(rest.first);
    EXPECT_EQ(mine.take(0, &block, 1), 1U);
}

TEST_F(heap, loses_nothing_when_many_threads_free_into_it)
{
    constexpr std::size_t threads = 4;
    constexpr int rounds = 300;
    constexpr std::uint32_t blocks_each = 50;
    std::array<std::atomic<std::vector<void*>*>, threads> hand_over{};
    std::array<std::unique_ptr<np::heap>, threads> heaps;
    for (std::unique_ptr<np::heap>& each : heaps)
        each = std::make_unique<np::heap>(page_heap);
    std::vector<std::thread> freeing;
    freeing.reserve(threads);
    for (std::size_t thread = 0; thread != threads; ++thread) {
        freeing.emplace_back([&, thread] {
            np::heap& own = *heaps[thread];
            for (int round = 0; round != rounds; ++round) {
                std::vector<void*>* blocks = nullptr;
                while ((blocks = hand_over[thread].exchange(nullptr)) == nullptr)
                    std::this_thread::yield();
                for (void* block : *blocks) {
                    std::uint64_t marked = 0;
                    std::memcpy(&marked, block, sizeof marked);
                    EXPECT_EQ(marked, reinterpret_cast<std::uintptr_t>(block));
                    put(own, block);
                }
                delete blocks; // NOLINT: it was handed over
            }
            own.send_all();
        });
    }
    std::mt19937 random(3); // NOLINT: the same in each run
    for (std::size_t i = 0; i != threads * rounds; ++i) {
        auto* const blocks =
            std::make_unique<std::vector<void*>>(take(mine, random() % 5, blocks_each)).release(); // handed over below
        for (void* block : *blocks) {
            const auto mark = reinterpret_cast<std::uintptr_t>(block);
            std::memcpy(block, &mark, sizeof mark);
        }
        std::vector<void*>* none = nullptr;
        while (!hand_over[i % threads].compare_exchange_weak(none, blocks)) {
            none = nullptr;
            std::this_thread::yield();
        }
    }
    for (std::thread& each : freeing)
        each.join();
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    mine.give_back_empty_slabs();
    EXPECT_EQ(mine.slabs(), 0U);
}
} // namespace
