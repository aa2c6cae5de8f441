// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A faulty pool, as a negative control: playing a tape on it must detect the fault.
#pragma once

#include <cstddef>

namespace fuzz {
/// Counts one object too many when more than 50 objects are outstanding.
template <class Pool>
class miscounting_pool : public Pool
{
public:
    using Pool::Pool;

    std::size_t in_use() const noexcept
    {
        const std::size_t right = Pool::in_use();
        return right > 50 ? right + 1 : right;
    }
};
} // namespace fuzz
