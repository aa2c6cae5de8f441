// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: corrupted batches of remote frees.
#include <np_alloc/heaps/heap_registry.hpp>
#include <np_alloc/heaps/remote_frees.hpp>
#include <np_alloc/support/pointer_encoding.hpp>

#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/np_heaps.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mp = memory_pool;
namespace np = memory_pool::np;

namespace {
using checked_batches = test::heap_fixture;

/// Effects: marks a block as in use, with a requested size of `bytes`.
void use(np::page_heap& all, const void* block, std::size_t bytes)
{
    const np::checked_slice& slab = all.region().record(all.region().record_of(block).slab);
    np::block_state& state =
        slab.blocks[static_cast<std::size_t>(static_cast<const std::byte*>(block) - slab.begin) / slab.block_bytes];
    (void)state.hand_out(bytes);
    state.begin_use();
}

TEST_F(checked_batches, does_not_free_a_block_in_use)
{
    ASSERT_TRUE(np::registry().heaps().start()) << "draws the key of addresses";
    void* const in_use = take(mine, 5, 1)[0];
    use(page_heap, in_use, 1);
    put(other, take(mine, 5, 1)[0]);
    const std::size_t away_before = outstanding(mine);
    test::batch& sent = test::batch_in(other);
    sent.encoded_first = np::the_pointer_encoding.encode(in_use);
    other.send_all();
    test::error_recorder recorder;
    (void)mine.drain();
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::write_after_free});
    EXPECT_EQ(recorder.reports()[0].address, &sent);
    EXPECT_EQ(outstanding(mine), away_before);
}

TEST_F(checked_batches, reports_an_overflow_into_a_batch)
{
    const test::immediate_reuse in_order;
    const std::vector<void*> blocks = take(other, np::free_batch::size_class, 1);
    put(other, take(mine, 5, 1)[0]);
    test::batch& sent = test::batch_in(other);
    ASSERT_EQ(reinterpret_cast<std::byte*>(&sent), static_cast<std::byte*>(blocks[0]) + np::free_batch::bytes);
    use(page_heap, blocks[0], 500);
    std::memset(static_cast<std::byte*>(blocks[0]) + 500, 0x41, 12);
    other.send_all();
    test::error_recorder recorder;
    (void)mine.drain();
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::buffer_overflow});
    EXPECT_EQ(recorder.reports()[0].address, blocks[0]);
    EXPECT_EQ(recorder.reports()[0].block_size, 500U);
    EXPECT_EQ(in_transit(mine), 0U) << "the contents of the batch are intact";
    (void)mine.drain();
    EXPECT_EQ(recorder.reports().size(), 1U);
}
} // namespace
