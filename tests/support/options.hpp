// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Common pool options of tests.
#pragma once

#include <memory_pool/pool_options.hpp>

#include <cstddef>

namespace test {
/// Returns options with that max_capacity.
inline memory_pool::pool_options bounded_to(std::size_t max_capacity)
{
    memory_pool::pool_options options;
    options.max_capacity = max_capacity;
    return options;
}

/// Returns options with that growth_step and max_capacity.
inline memory_pool::pool_options in_steps_of(std::size_t step,
                                             std::size_t max_capacity = memory_pool::pool_options::unbounded)
{
    memory_pool::pool_options options = bounded_to(max_capacity);
    options.growth_step = step;
    return options;
}
} // namespace test
