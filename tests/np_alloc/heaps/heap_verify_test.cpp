// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap_verify.hpp>

#include <np_alloc/heaps/heap.hpp>
#include <np_alloc/page_heap/page_heap.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
/// A heap with a full slab and a partly used slab of one class, and with a slab of several slices.
struct heap_verify : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1024);
    static constexpr std::size_t class_of_several_slices = np::sizes::of(std::size_t{32} * 1024);

    np::page_heap page_heap;
    np::outbox for_others{};
    np::heap heap{page_heap, for_others};
    std::vector<void*> blocks;

    heap_verify()
    {
        EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20));
        take(class_of_several_slices, 1);
        take(size_class, np::slab_capacity(size_class) + 2);
    }
    ~heap_verify() override
    {
        EXPECT_EQ(inconsistency(), "") << "all changes were undone";
        page_heap.source().stop();
    }

    void take(std::size_t of_class, std::size_t count)
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(heap, found);
        for (; count != 0; --count) {
            void* block = nullptr;
            EXPECT_EQ(heap.take(of_class, &block, 1), 1U);
            blocks.push_back(block);
        }
    }

    np::slice_index slab_of(const void* block) { return page_heap.region().record_of(block).slab; }
    np::slice_record& record_of(const void* block) { return page_heap.region().record(slab_of(block)); }

    std::string inconsistency() const
    {
        const np::inconsistency found = np::verify(heap);
        return found ? found.what : "";
    }

    /// Returns: the inconsistency that verify() finds while `part` has another value.
    template <class Part, class Value>
    std::string inconsistency_with(Part& part, Value value)
    {
        const Part before = std::exchange(part, value);
        std::string found = inconsistency();
        part = before;
        return found;
    }
    std::string inconsistency_with_tag(np::slice_index slice, np::slice_tag tag)
    {
        auto& current = page_heap.region().tag(slice);
        const np::slice_tag before = current.exchange(tag);
        std::string found = inconsistency();
        current = before;
        return found;
    }
};

TEST_F(heap_verify, accepts_an_intact_heap)
{
    EXPECT_EQ(inconsistency(), "");
    for (std::size_t each = 0; each != np::class_count; ++each)
        take(each, 3);
    EXPECT_EQ(inconsistency(), "");
}

TEST_F(heap_verify, finds_wrong_slice_tags)
{
    const np::slice_index first = slab_of(blocks[0]);
    EXPECT_EQ(inconsistency_with_tag(first, np::no_owner),
              "the list of slabs of a heap leads to a slab that is not its own");
    EXPECT_EQ(inconsistency_with_tag(first + 1, np::no_owner), "a slice is not tagged as part of its slab");
    EXPECT_EQ(inconsistency_with(page_heap.region().record(first + 1).slab, first + 1),
              "a slice is not tagged as part of its slab");
}

TEST_F(heap_verify, finds_wrong_slab_records)
{
    np::slice_record& slab = record_of(blocks.back());
    EXPECT_EQ(inconsistency_with(slab.free_count, slab.free_count - 1),
              "the free count of a slab does not match its bitmap");
    EXPECT_EQ(inconsistency_with(slab.carved_end, slab.begin - 1), "the carved part of a slab is not in the slab");
    EXPECT_EQ(inconsistency_with(slab.carved_end, slab.carved_end + slab.block_bytes),
              "the counts of slabs of a heap, or of their carved bytes, do not match its slabs");
    EXPECT_EQ(inconsistency_with(slab.block_bytes, slab.block_bytes + 16), "slab metadata is inconsistent");
}

TEST_F(heap_verify, finds_broken_lists)
{
    np::slice_record& newest = record_of(blocks.back());
    const np::slice_index far_away = np::slice_at(page_heap.region().max_slices() - 1);
    EXPECT_EQ(inconsistency_with(newest.next_in_heap, far_away),
              "the list of slabs of a heap leads to uncommitted memory");
    EXPECT_EQ(inconsistency_with(newest.previous_in_heap, slab_of(blocks.back())),
              "the list of slabs of a heap is broken at a slab");
    EXPECT_EQ(inconsistency_with(newest.previous_slab, slab_of(blocks[0])),
              "the list of slabs with free blocks is broken at a slab");
}

TEST_F(heap_verify, finds_wrong_counts)
{
    np::slice_record& slab = record_of(blocks.back());
    ASSERT_TRUE(slab.has_blocks());
    const auto put = [&] { (void)slab.put(np::class_info[size_class], &blocks.back(), 1, [](auto&&...) { FAIL(); }); };
    put(); // Bypasses the counts of the heap.
    EXPECT_EQ(inconsistency(), "the outstanding-block count of a heap does not match its slabs");
    void* again = nullptr;
    EXPECT_EQ(slab.take(&again, 1), 1U);
}
} // namespace
