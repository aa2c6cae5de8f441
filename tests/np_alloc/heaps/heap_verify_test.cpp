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
/// A heap with two slabs of a class, of which one is full, and one with more than a slice.
struct heap_verify : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1024);
    static constexpr std::size_t class_of_several_slices = np::sizes::of(std::size_t{32} * 1024);

    np::page_heap page_heap;
    np::outbox for_others{};
    np::heap its{page_heap, for_others};
    std::vector<void*> blocks;

    heap_verify()
    {
        EXPECT_TRUE(page_heap.source().start(std::size_t{256} << 20));
        take(class_of_several_slices, 1);
        take(size_class, np::slab_capacity(size_class) + 2);
    }
    ~heap_verify() override
    {
        EXPECT_EQ(what_is_wrong(), "") << "it is as before";
        page_heap.source().stop();
    }

    void take(std::size_t of_class, std::size_t count)
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(its, found);
        for (; count != 0; --count) {
            void* block = nullptr;
            EXPECT_EQ(its.take(of_class, &block, 1), 1U);
            blocks.push_back(block);
        }
    }

    np::slice_index slab_of(const void* block) { return page_heap.region().record_of(block).slab; }
    np::slice_record& record_of(const void* block) { return page_heap.region().record(slab_of(block)); }

    std::string what_is_wrong() const
    {
        const np::inconsistency found = np::verify(its);
        return found ? found.what : "";
    }

    /// Returns: what is wrong while a part has another value.
    template <class Part, class Value>
    std::string what_is_wrong_with(Part& part, Value value)
    {
        const Part before = std::exchange(part, value);
        std::string found = what_is_wrong();
        part = before;
        return found;
    }
    std::string what_is_wrong_with_tag(np::slice_index slice, np::slice_tag tag)
    {
        auto& its_tag = page_heap.region().tag(slice);
        const np::slice_tag before = its_tag.exchange(tag);
        std::string found = what_is_wrong();
        its_tag = before;
        return found;
    }
};

TEST_F(heap_verify, finds_nothing_wrong_with_a_heap_that_was_only_used)
{
    EXPECT_EQ(what_is_wrong(), "");
    for (std::size_t each = 0; each != np::class_count; ++each)
        take(each, 3);
    EXPECT_EQ(what_is_wrong(), "");
}

TEST_F(heap_verify, finds_slices_that_are_not_tagged_as_part_of_a_slab)
{
    const np::slice_index first = slab_of(blocks[0]);
    EXPECT_EQ(what_is_wrong_with_tag(first, np::no_owner),
              "the list of slabs of a heap leads to a slab that is not its own");
    EXPECT_EQ(what_is_wrong_with_tag(first + 1, np::no_owner), "a slice is not tagged as part of its slab");
    EXPECT_EQ(what_is_wrong_with(page_heap.region().record(first + 1).slab, first + 1),
              "a slice is not tagged as part of its slab");
}

TEST_F(heap_verify, finds_slabs_whose_records_are_wrong)
{
    np::slice_record& slab = record_of(blocks.back());
    EXPECT_EQ(what_is_wrong_with(slab.free_count, slab.free_count - 1),
              "the free count of a slab does not match its bitmap");
    EXPECT_EQ(what_is_wrong_with(slab.carved_end, slab.begin - 1), "the carved part of a slab is not in the slab");
    EXPECT_EQ(what_is_wrong_with(slab.carved_end, slab.carved_end + slab.block_bytes),
              "the counts of slabs of a heap, or of their carved bytes, do not match its slabs");
    EXPECT_EQ(what_is_wrong_with(slab.block_bytes, slab.block_bytes + 16), "slab metadata is inconsistent");
}

TEST_F(heap_verify, finds_lists_that_are_torn_or_lead_elsewhere)
{
    np::slice_record& newest = record_of(blocks.back());
    const np::slice_index far_away = np::slice_at(page_heap.region().most_slices() - 1);
    EXPECT_EQ(what_is_wrong_with(newest.next_in_heap, far_away), "the list of slabs of a heap leads out of memory");
    EXPECT_EQ(what_is_wrong_with(newest.previous_in_heap, slab_of(blocks.back())),
              "the list of slabs of a heap is torn at a slab");
    EXPECT_EQ(what_is_wrong_with(newest.previous_slab, slab_of(blocks[0])),
              "the list of slabs with free blocks is torn at a slab");
}

TEST_F(heap_verify, finds_counts_that_do_not_match_the_slabs)
{
    np::slice_record& slab = record_of(blocks.back());
    ASSERT_TRUE(slab.has_blocks());
    const auto put = [&] { (void)slab.put(np::facts[size_class], &blocks.back(), 1, [](auto&&...) { FAIL(); }); };
    put(); // The heap does not know.
    EXPECT_EQ(what_is_wrong(), "the outstanding-block count of a heap does not match its slabs");
    void* again = nullptr;
    EXPECT_EQ(slab.take(&again, 1), 1U);
}
} // namespace
