// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Much memory in blocks of np_alloc, and nothing beside it.
#pragma once

#include <memory_pool/np_alloc.h>

#include <cstddef>
#include <cstring>
#include <random>

namespace test {
/// Blocks of random sizes, with a total number of bytes, linked through their first bytes: a separate list would need
/// memory, too.
class many_blocks
{
public:
    explicit many_blocks(std::size_t bytes, std::size_t least = 16, std::size_t most = 1015)
    {
        std::mt19937 random(7); // NOLINT: the same in each run
        for (std::size_t all = 0; all < bytes;) {
            const std::size_t size = least + random() % (most - least + 1);
            void* const block = std::memset(np_alloc(size), 0xFF, size);
            std::memcpy(block, &last_, sizeof last_);
            last_ = block;
            all += size;
        }
    }
    many_blocks(const many_blocks&) = delete;
    many_blocks& operator=(const many_blocks&) = delete;
    ~many_blocks()
    {
        while (last_ != nullptr) {
            void* before = nullptr;
            std::memcpy(&before, last_, sizeof before);
            np_free(last_);
            last_ = before;
        }
    }

private:
    void* last_ = nullptr;
};
} // namespace test
