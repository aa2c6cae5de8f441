// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects whose operators no pool may use: `&`, the comma, and the new and delete of the class.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace test {
/// Deletes the operators, so that a use does not compile. Does not delete `operator delete`, which a class with a
/// virtual destructor needs.
struct deleted_address
{
    void operator&() const = delete;
    template <class Other>
    void operator,(Other&&) const = delete;
};
template <class Other>
void operator,(Other&&, const deleted_address&) = delete;

struct deleted_operators : deleted_address
{
    template <class... Arguments>
    static void* operator new(std::size_t, Arguments...) = delete;
    template <class... Arguments>
    static void* operator new[](std::size_t, Arguments...) = delete;
    static void operator delete(void*) = delete;
    static void operator delete[](void*) = delete;
};
/// Its operators abort the process.
struct aborting_operators
{
    aborting_operators* operator&() const { std::abort(); }
    template <class Other>
    void operator,(Other&&) const
    {
        std::abort();
    }
    static void* operator new(std::size_t) { std::abort(); }
    static void* operator new(std::size_t, std::align_val_t) { std::abort(); }
    static void* operator new(std::size_t, void*) noexcept { std::abort(); }
    static void* operator new[](std::size_t) { std::abort(); }
    static void* operator new[](std::size_t, void*) noexcept { std::abort(); }
    static void operator delete(void*) { std::abort(); }
    static void operator delete(void*, void*) noexcept { std::abort(); }
    static void operator delete[](void*) { std::abort(); }
    static void operator delete[](void*, void*) noexcept { std::abort(); }
};
template <class Other>
void operator,(Other&&, const aborting_operators&)
{
    std::abort();
}

/// An object with hostile operators that counts its live instances.
template <class Operators>
struct hostile : Operators
{
    static inline int alive = 0;

    hostile(int number = 0) noexcept : value(number) { ++alive; }
    hostile(const hostile& other) noexcept : value(other.value) { ++alive; }
    hostile& operator=(const hostile&) = default;
    ~hostile() { --alive; }

    void init(int number) noexcept { value = number; }
    void destroy() noexcept { value = 0; }

    int value;
};
} // namespace test
