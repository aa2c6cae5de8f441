// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that return to their pools by themselves.
#pragma once

#include <memory_pool/intrusive_pool.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace test {
/// Counts its live instances, and throws on request: `until_throw` constructions succeed before one throws.
struct live_count
{
    static inline std::atomic<int> alive{0};
    static inline std::atomic<int> until_throw{-1};

    live_count()
    {
        if (until_throw == 0)
            throw std::runtime_error("constructor");
        if (until_throw > 0)
            --until_throw;
        ++alive;
    }
    live_count(const live_count&) = delete;
    live_count& operator=(const live_count&) = delete;
    ~live_count() { --alive; }
};

/// An object with a counter for each function that a pool may call.
template <class References>
struct item : memory_pool::pooled<item<References>, References>
{
    explicit item(int number = 0) : value(number) {}

    void init(int number)
    {
        if (number < 0)
            throw std::invalid_argument("init");
        value = number;
        ++inits;
    }
    void destroy()
    {
        next.reset();
        ++destroys;
    }

    live_count counted;
    int value;
    int inits = 0;
    int destroys = 0;
    boost::intrusive_ptr<item> next;
};
} // namespace test
