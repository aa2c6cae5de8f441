// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/tracy_policy.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/object_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace mp = memory_pool;

namespace {
TEST(tracy_policy, notifies_tracy_of_each_block_and_its_pool)
{
    mp::object_pool<double, mp::tracy_policy> first(mp::pool_options{}.with_name("first"));
    mp::basic_block_pool<mp::tracy_policy> second(100, mp::pool_options{}.with_name("second"));
    double* const object = first.create(1.0);
    void* const block = second.allocate();
    first.destroy(object);
    second.deallocate(block);
    ASSERT_EQ(test::tracy_calls.size(), 4u);
    const auto expect = [](std::size_t number, const char* pool, const void* of, std::size_t bytes) {
        EXPECT_EQ(test::tracy_calls[number].pool, pool);
        EXPECT_EQ(test::tracy_calls[number].block, of);
        EXPECT_EQ(test::tracy_calls[number].bytes, bytes);
    };
    expect(0, "first", object, sizeof(double));
    expect(1, "second", block, 100);
    expect(2, "first", object, 0);
    expect(3, "second", block, 0);
}
} // namespace
