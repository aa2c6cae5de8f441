// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Samples: blocks of np_alloc that are isolated between guard pages.
#pragma once

#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/hardening/guarded_slots.hpp>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test {
inline std::size_t samples_in_use()
{
    return memory_pool::np::registry().pages().slots().in_use().first;
}

inline bool is_sample(const void* block)
{
    return memory_pool::np::registry().pages().slots().contain(block);
}

/// Frees its blocks on destruction.
struct held_blocks
{
    held_blocks() = default;
    held_blocks(const held_blocks&) = delete;
    held_blocks& operator=(const held_blocks&) = delete;
    ~held_blocks()
    {
        for (void* each : blocks)
            np_free(each);
    }

    std::vector<void*> blocks;
};

/// During its lifetime, np_alloc samples each block.
struct all_are_samples
{
    option_for_now unlimited_rate{np_option_samples_per_second, 0};
    option_for_now every{np_option_sample_bytes, 1};
};

/// Returns a sample for which `is_wanted(block)` is true.
template <class IsWanted>
unsigned char* sample_like(std::size_t bytes, IsWanted&& is_wanted)
{
    const all_are_samples now;
    held_blocks others;
    others.blocks.reserve(5000);
    while (others.blocks.size() != others.blocks.capacity()) {
        auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
        if (is_sample(block) && is_wanted(block))
            return block;
        others.blocks.push_back(block);
    }
    ADD_FAILURE() << "no such sample";
    return nullptr;
}

inline unsigned char* sample(std::size_t bytes)
{
    return sample_like(bytes, [](const void*) { return true; });
}

/// Returns a sample that ends at the end of its page, as most samples do.
inline unsigned char* sample_at_the_end(std::size_t bytes)
{
    return sample_like(bytes, [bytes](const void* block) {
        return (reinterpret_cast<std::uintptr_t>(block) + bytes) % memory_pool::np::guarded_slots::slot_bytes == 0;
    });
}

/// Returns a sample that begins at the start of its page, as some samples do.
inline unsigned char* sample_at_the_begin(std::size_t bytes)
{
    return sample_like(bytes, [](const void* block) {
        return reinterpret_cast<std::uintptr_t>(block) % memory_pool::np::guarded_slots::slot_bytes == 0;
    });
}

} // namespace test
