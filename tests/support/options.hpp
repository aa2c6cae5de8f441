// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Options that tests often ask for.
#pragma once

#include <memory_pool/pool_options.hpp>

#include <cstddef>

namespace test {
/// A pool that never has more than `max_capacity`.
inline memory_pool::pool_options bounded_to(std::size_t max_capacity)
{
    memory_pool::pool_options options;
    options.max_capacity = max_capacity;
    return options;
}

/// A pool that grows by `step` at a time, up to `max_capacity`.
inline memory_pool::pool_options in_steps_of(std::size_t step,
                                             std::size_t max_capacity = memory_pool::pool_options::unbounded)
{
    memory_pool::pool_options options = bounded_to(max_capacity);
    options.growth_step = step;
    return options;
}
} // namespace test
