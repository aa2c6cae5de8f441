// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// What whoever is at work in np_alloc does for all others, now and then.
#include <memory_pool/np_alloc.h>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace
{
std::size_t dirty_bytes()
{
    np_statistics now;
    np_get_statistics(&now);
    return now.bytes_dirty;
}

/// Blocks that come and go in slabs that stay, so that whoever works with them never needs a run.
class busy_blocks
{
public:
    busy_blocks() : blocks_(2000)
    {
        for (void*& block : blocks_)
            block = np_alloc(bytes);
    }
    busy_blocks(const busy_blocks&) = delete;
    busy_blocks& operator=(const busy_blocks&) = delete;
    ~busy_blocks()
    {
        for (void* block : blocks_)
            np_free(block);
    }

    void come_and_go()
    {
        for (int round = 0; round != 300; ++round) {
            for (std::size_t i = 0; i < blocks_.size(); i += 2)
                np_free(blocks_[i]);
            for (std::size_t i = 0; i < blocks_.size(); i += 2)
                blocks_[i] = np_alloc(bytes);
        }
    }

private:
    static constexpr std::size_t bytes = 200;

    std::vector<void*> blocks_;
};

TEST(np_process, gives_the_memory_of_old_runs_back_while_the_program_works_but_needs_none)
{
    constexpr std::size_t bytes = std::size_t{4} << 20;
    busy_blocks busy;
    (void)np_trim();
    const test::option_for_now is_young(np_option_decay_ms, 1'000'000);
    np_free(np_alloc(bytes));
    busy.come_and_go();
    EXPECT_GE(dirty_bytes(), bytes);
    const test::option_for_now is_old(np_option_decay_ms, 0);
    busy.come_and_go();
    EXPECT_LT(dirty_bytes(), bytes);
}
} // namespace
