// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/state_arrays.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <vector>

namespace np = memory_pool::np;

namespace {
struct state_arrays : testing::Test
{
    struct alignas(64) chunk
    {
        std::array<std::byte, np::state_arrays::chunk_bytes> bytes;
    };
    static constexpr std::size_t count = 600; // At least 24 arrays fit in a chunk.

    std::set<void*> chunks;
    np::state_arrays all;

    ~state_arrays() override { EXPECT_TRUE(chunks.empty()); }

    np::block_state* take(std::size_t states = count)
    {
        return all.take(states, [this]() -> void* { return *chunks.insert(new chunk).first; });
    }
    void give(np::block_state* array, std::size_t states = count)
    {
        all.give(array, states, [this](void* given) {
            EXPECT_EQ(chunks.erase(given), 1U);
            delete static_cast<chunk*>(given);
        });
    }
    std::vector<np::block_state*> take_many()
    {
        std::vector<np::block_state*> taken(100);
        std::generate(taken.begin(), taken.end(), [this] { return take(); });
        return taken;
    }
};

TEST_F(state_arrays, do_not_overlap)
{
    const std::vector<np::block_state*> arrays = take_many();
    for (np::block_state* each : arrays)
        for (std::size_t i = 0; i != count; ++i)
            (void)each[i].hand_out(i);
    for (const std::size_t other : {std::size_t{1}, std::size_t{np::largest_capacity}}) {
        np::block_state* const states = take(other);
        for (std::size_t i = 0; i != other; ++i)
            states[i].forget();
        give(states, other);
    }
    EXPECT_LE(chunks.size(), 5U);
    for (np::block_state* each : arrays) {
        EXPECT_EQ(each[1].last_bytes(), 1U);
        EXPECT_EQ(each[count - 1].last_bytes(), count - 1);
        give(each);
    }
}

TEST_F(state_arrays, are_reused)
{
    const std::vector<np::block_state*> taken = take_many();
    const std::set<void*> chunks_then = chunks;
    for (std::size_t i = 0; i != taken.size(); i += 2)
        give(taken[i]);
    for (std::size_t i = 0; i != taken.size(); i += 2)
        EXPECT_EQ(std::count(taken.begin(), taken.end(), take()), 1);
    EXPECT_EQ(chunks, chunks_then);
    std::for_each(taken.begin(), taken.end(), [this](np::block_state* each) { give(each); });
}

TEST_F(state_arrays, are_refused_without_memory)
{
    EXPECT_EQ(all.take(count, []() -> void* { return nullptr; }), nullptr);
}
} // namespace
