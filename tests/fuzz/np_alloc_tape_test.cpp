// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/np_alloc_tape.hpp>

#include <memory_pool/np_alloc.h>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace {
std::vector<std::uint8_t> tape_of(std::uint32_t seed)
{
    return fuzz::random_tape(seed, 4000);
}

void play_tapes(std::uint32_t first_seed, std::uint32_t count)
{
    // A tape that fails is found again by its seed, which the log of the failing run shows.
    for (std::uint32_t seed = first_seed; seed != first_seed + count / (test::under_a_sanitizer ? 8 : 1); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = tape_of(seed);
        fuzz::play_np_alloc(tape.data(), tape.size());
    }
}

TEST(np_alloc_tape, agrees_with_the_model_on_random_tapes)
{
    play_tapes(0, 64);
}

TEST(np_alloc_tape, agrees_with_the_model_where_few_addresses_are_left)
{
    if (np_option_set(np_option_region_bytes, std::size_t{16} << 20) != 0)
        GTEST_SKIP() << "another test has had a block before";
    play_tapes(1000, 32);
}

// Each of these is np_alloc with a fault.

struct hands_out_twice : fuzz::np_calls
{
    void* alloc(std::size_t bytes) override
    {
        if (last == nullptr)
            return last = np_alloc(bytes);
        return std::exchange(last, nullptr);
    }
    void* last = nullptr;
};

struct writes_where_others_are : fuzz::np_calls
{
    void* alloc(std::size_t bytes) override
    {
        if (last != nullptr)
            *last ^= 1U;
        last = static_cast<unsigned char*>(np_alloc(bytes));
        return last;
    }
    unsigned char* last = nullptr;
};

struct fills_with_no_zeros : fuzz::np_calls
{
    void* calloc(std::size_t count, std::size_t size) override
    {
        return std::memset(np_calloc(count, size), 1, count * size);
    }
};

struct forgets_alignment : fuzz::np_calls
{
    void* aligned_alloc(std::size_t, std::size_t bytes) override { return np_alloc(bytes); }
};

struct forgets_content : fuzz::np_calls
{
    void* realloc(void* block, std::size_t bytes) override
    {
        void* const moved = np_realloc(block, bytes);
        return moved != nullptr ? std::memset(moved, 0, bytes) : nullptr;
    }
};

/// Returns: whether it is not what a tape frees by mistake.
bool may_be_block(void* address)
{
    return reinterpret_cast<std::uintptr_t>(address) % 16 == 0 && np_owns(address) != 0;
}

struct loses_blocks : fuzz::np_calls
{
    void free(void* block) override
    {
        if (!may_be_block(block))
            np_free(block);
    }
};

struct frees_twice : fuzz::np_calls
{
    void free(void* block) override
    {
        const bool is_small_block = may_be_block(block) && np_usable_size(block) <= 1024;
        np_free(block);
        if (is_small_block)
            np_free(block);
    }
};

struct loses_heaps : fuzz::np_calls
{
    void destroy(np_heap*) override {}
};

template <class Faulty>
void play_on()
{
    Faulty calls;
    const std::vector<std::uint8_t> tape = tape_of(1);
    fuzz::np_player::play(tape.data(), tape.size(), calls);
}

TEST(np_alloc_tape_death, notices_each_fault)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(play_on<hands_out_twice>(), "alloc .*(two blocks overlap|less room)");
    EXPECT_DEATH(play_on<writes_where_others_are>(), "what a block held has changed|what the block held");
    EXPECT_DEATH(play_on<fills_with_no_zeros>(), "has not filled a block with zeros");
    EXPECT_DEATH(play_on<forgets_alignment>(), "not aligned as was asked for");
    EXPECT_DEATH(play_on<forgets_content>(), "has not kept what the block held");
    EXPECT_DEATH(play_on<loses_blocks>(), "other bytes are in use");
    EXPECT_DEATH(play_on<frees_twice>(), "disagree|double free");
    EXPECT_DEATH(play_on<loses_heaps>(), "other bytes are in use|other heaps");
}
} // namespace
