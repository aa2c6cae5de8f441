// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Allocates a large amount of memory in blocks of np_alloc, and no other memory.
#pragma once

#include <memory_pool/np_alloc.h>

#include <cstddef>
#include <cstring>
#include <random>

namespace test {
/// Blocks of random sizes with a given total, linked through their first bytes because a separate list would need
/// memory, too.
class block_batch
{
public:
    explicit block_batch(std::size_t bytes, std::size_t min_size = 16, std::size_t max_size = 1015)
    {
        std::mt19937 random(7); // NOLINT: the same in each run
        for (std::size_t all = 0; all < bytes;) {
            const std::size_t size = min_size + random() % (max_size - min_size + 1);
            void* const block = std::memset(np_alloc(size), 0xFF, size);
            std::memcpy(block, &last_, sizeof last_);
            last_ = block;
            all += size;
        }
    }
    block_batch(const block_batch&) = delete;
    block_batch& operator=(const block_batch&) = delete;
    ~block_batch()
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
