// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects with a count of live instances, whose constructor throws on request.
#pragma once

#include <stdexcept>

namespace test {
/// Counts its live instances.
class counted_object
{
public:
    static inline int alive = 0;
    static inline int until_throw = -1; ///< Successful constructions before one throws; negative: never throws.

    explicit counted_object(int value = 0) : value_(value)
    {
        if (until_throw == 0)
            throw std::runtime_error("constructor");
        if (until_throw > 0)
            --until_throw;
        ++alive;
    }
    counted_object(const counted_object&) = delete;
    counted_object& operator=(const counted_object&) = delete;
    ~counted_object() { --alive; }

    int value() const { return value_; }

private:
    int value_;
};
} // namespace test
