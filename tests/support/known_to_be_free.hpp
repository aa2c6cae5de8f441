// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Double frees of blocks of a resource, and blocks that the program itself has poisoned.
#pragma once

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/errors.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace test {
/// Expects that a resource with a checking policy, or under AddressSanitizer, reports each double free and remains
/// usable. The first block stays in use, so its arena does as well.
template <class Resource>
void expect_double_frees_found()
{
    for (const std::size_t bytes : {1u, 8u, 20u, 64u, 1000u}) {
        const error_recorder recorder;
        Resource resource;
        void* const first = resource.allocate(bytes, 8);
        void* const next = resource.allocate(bytes, 8);
        void* const last = resource.allocate(bytes, 8);
        for (void* const block : {next, last})
            for (int i = 0; i != 3; ++i)
                resource.deallocate(block, bytes, 8);
        EXPECT_EQ(recorder.kinds(), kinds(4, memory_pool::error_kind::double_free)) << bytes;
        EXPECT_EQ(recorder.reports().back().address, last);
        void* const again = resource.allocate(bytes, 8);
        void* const other = resource.allocate(bytes, 8);
        EXPECT_NE(again, other);
        for (void* const block : {again, other, first})
            resource.deallocate(block, bytes, 8);
        EXPECT_EQ(recorder.reports().size(), 4u) << bytes;
        EXPECT_EQ(resource.bytes_in_use(), 0u);
        EXPECT_TRUE(resource.verify());
    }
}

/// Expects that the resource accepts blocks that the program has poisoned, even at addresses of blocks freed earlier.
template <class Resource>
void expect_poisoned_blocks_taken_back()
{
    const error_recorder recorder;
    Resource resource;
    for (const std::size_t bytes : {0u, 8u, 64u, 1000u})
        for (int round = 0; round != 3; ++round) {
            std::vector<void*> blocks(10);
            for (void*& block : blocks)
                block = resource.allocate(bytes, 8);
            for (void* const block : blocks) {
                memory_pool::detail::base::forbid_access(block, bytes);
                resource.deallocate(block, bytes, 8);
            }
        }
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_EQ(resource.bytes_in_use(), 0u);
    EXPECT_TRUE(resource.verify());
}
} // namespace test
