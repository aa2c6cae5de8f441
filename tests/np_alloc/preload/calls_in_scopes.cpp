// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// no_allocation_scope in a program whose malloc and operator new come from a preloaded library.
#include <memory_pool/block_pool.hpp>
#include <memory_pool/no_allocation_scope.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

namespace {
using memory_pool::allocating;
using memory_pool::no_allocation_scope;

TEST(calls_in_scopes, count_malloc)
{
    const no_allocation_scope guard("test", allocating::counted);
    std::free(std::malloc(100));
    std::free(std::calloc(10, 10));
    EXPECT_EQ(guard.allocations(), 2U);
    EXPECT_EQ(guard.bytes(), 200U);
}

TEST(calls_in_scopes, count_operator_new)
{
    std::string text("short");
    const no_allocation_scope guard("test", allocating::counted);
    text.append(5, 'x');
    EXPECT_EQ(guard.allocations(), 0U) << "the string has room";
    text.append(100, 'x');
    EXPECT_EQ(guard.allocations(), 1U);
    ::operator delete(::operator new(8)); // Compilers may omit the calls of a new-expression, but not these.
    EXPECT_EQ(guard.allocations(), 2U);
}

TEST(calls_in_scopes, count_the_growth_of_a_pool)
{
    memory_pool::block_pool pool(std::size_t{16} * 1024);
    void* block = nullptr;
    std::size_t allocations = 0;
    {
        const no_allocation_scope guard("test", allocating::counted);
        block = pool.allocate();
        allocations = guard.allocations();
        pool.deallocate(block);
        block = pool.allocate();
        EXPECT_EQ(guard.allocations(), allocations);
    }
    EXPECT_GE(allocations, 1U);
    pool.deallocate(block);
}
} // namespace
