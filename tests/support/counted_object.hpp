// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that are counted, and whose constructor throws on request.
#pragma once

#include <stdexcept>

namespace test {
/// Counts the objects alive.
class counted_object
{
public:
    static inline int alive = 0;
    static inline int until_throw = -1; ///< How many can be made until one throws; negative: any number.

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
