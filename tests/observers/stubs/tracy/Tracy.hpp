// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The macros of Tracy that tracy_policy.hpp uses, recording their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test {
struct tracy_call
{
    std::string pool;
    const void* block;
    std::size_t bytes; ///< 0: it was freed.
};
inline std::vector<tracy_call> tracy_calls;
} // namespace test

#define TracyAllocN(block, bytes, name) test::tracy_calls.push_back({name, block, bytes})
#define TracyFreeN(block, name) test::tracy_calls.push_back({name, block, 0})
