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
    // The log shows the seed of a failing tape.
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

TEST(np_alloc_tape, agrees_with_the_model_in_a_small_region)
{
    if (np_option_set(np_option_region_bytes, std::size_t{16} << 20) != 0)
        GTEST_SKIP() << "another test has already allocated";
    play_tapes(1000, 32);
}

// Faulty allocators.

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

/// Returns: whether `address` may be a block, not a pointer that the tape frees as misuse.
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

TEST(np_alloc_tape_death, detects_each_fault)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(play_on<hands_out_twice>(), "alloc .*(two blocks overlap|smaller than requested)");
    EXPECT_DEATH(play_on<writes_where_others_are>(), "contents of a block changed|lost the contents");
    EXPECT_DEATH(play_on<fills_with_no_zeros>(), "memory that is not zero");
    EXPECT_DEATH(play_on<forgets_alignment>(), "misaligned");
    EXPECT_DEATH(play_on<forgets_content>(), "lost the contents");
    EXPECT_DEATH(play_on<loses_blocks>(), "wrong bytes_in_use");
    EXPECT_DEATH(play_on<frees_twice>(), "disagree|double free");
    EXPECT_DEATH(play_on<loses_heaps>(), "wrong bytes_in_use|wrong number of heaps");
}
} // namespace
