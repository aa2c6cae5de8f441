// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Two heaps of np_alloc over their own page heap, and queries for tests.
#pragma once

#include <np_alloc/heaps/heap.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace test {
struct own_outbox
{
    memory_pool::np::outbox for_others{};
};

/// A heap like the heaps of threads, but without magazines.
struct heap : private own_outbox, public memory_pool::np::heap
{
    explicit heap(memory_pool::np::page_heap& from) noexcept : memory_pool::np::heap(from, for_others) {}
};

/// The layout of a batch of remote frees, up to its first pointer.
struct batch
{
    void* encoded_next;
    std::uint64_t encoded_count;
    void* encoded_first;
};

/// Returns the next batch that a heap will send.
inline batch& batch_in(heap& sender)
{
    batch* found = nullptr;
    (void)sender.for_each_in_transit([&found](const void* first) {
        found = static_cast<batch*>(const_cast<void*>(first));
        return false;
    });
    return *found;
}

struct heap_fixture : testing::Test
{
    memory_pool::np::page_heap page_heap;
    heap mine{page_heap};
    heap other{page_heap};
    first_touch_costs unknown{0}; ///< Independent of the fault costs of the machine.

    heap_fixture() { EXPECT_TRUE(page_heap.source().start(std::size_t{1} << 30)); }
    ~heap_fixture() override { page_heap.source().stop(); }

    std::vector<void*> take(memory_pool::np::heap& from, std::size_t size_class, std::uint32_t count)
    {
        std::vector<void*> blocks(count);
        std::uint32_t taken = 0;
        while (taken != count)
            taken += from.take(size_class, blocks.data() + taken, std::min<std::uint32_t>(count - taken, 32));
        return blocks;
    }

    std::vector<std::unique_ptr<heap>> make_heaps(std::size_t count)
    {
        std::vector<std::unique_ptr<heap>> made(count);
        for (std::unique_ptr<heap>& each : made)
            each = std::make_unique<heap>(page_heap);
        return made;
    }

    /// Frees a block through `back`: directly if the block is from that heap, or as a remote free.
    void put(memory_pool::np::heap& back, void* block)
    {
        const memory_pool::np::slice_tag owner = page_heap.region().tag_of(block).load();
        back.put(owner & memory_pool::np::class_bits, &block, 1);
    }

    std::size_t in_transit(const memory_pool::np::heap& from)
    {
        std::size_t count = 0;
        (void)from.for_each_in_transit([&count](const void*) { return ++count, true; });
        return count;
    }

    /// Returns the bytes that the heap has sent, minus the bytes that it has received, modulo 2^64.
    std::size_t sent_minus_received(const memory_pool::np::heap& of)
    {
        std::size_t bytes = 0;
        for (std::size_t size_class = 0; size_class != memory_pool::np::class_count; ++size_class)
            bytes += memory_pool::np::sizes::size(size_class) *
                     static_cast<std::size_t>(static_cast<std::int32_t>(of.sent_minus_received(size_class)));
        return bytes;
    }

    std::size_t outstanding(const memory_pool::np::heap& from)
    {
        std::size_t count = 0;
        from.for_each_slab(
            [&count](const memory_pool::np::slice_record& slab) { count += slab.capacity - slab.free_count; });
        return count;
    }

    memory_pool::np::huge_page_use huge_pages_under(const void* block)
    {
        return page_heap.region().huge_pages(page_heap.region().slices_before(block) /
                                             memory_pool::np::slices_of_huge_page);
    }

    std::size_t slices_in_use()
    {
        return page_heap.source().with_runs([](const auto& runs) { return runs.is_valid() ? runs.in_use() : 0; });
    }
};
} // namespace test
