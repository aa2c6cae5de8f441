// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/size_classes.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace core = memory_pool::detail::core;

namespace {
template <class Classes>
struct size_classes : testing::Test
{
};

using kinds = testing::Types<core::size_classes<8, 64, 4, 1'048'576>, core::size_classes<16, 1024, 8, 32'768>,
                             core::size_classes<16, 64, 1, 64>>;
TYPED_TEST_SUITE(size_classes, kinds, );

TYPED_TEST(size_classes, map_a_size_to_the_smallest_class_that_fits)
{
    EXPECT_TRUE(TypeParam::are_sound());
    for (std::size_t bytes = 1; bytes <= TypeParam::largest; bytes += bytes < 5000 ? 1 : 61) {
        const std::size_t number = TypeParam::of(bytes);
        ASSERT_LT(number, TypeParam::count);
        ASSERT_GE(TypeParam::size(number), bytes);
        if (number != 0) {
            ASSERT_LT(TypeParam::size(number - 1), bytes);
        }
    }
}

TYPED_TEST(size_classes, range_from_the_step_to_the_largest_size)
{
    EXPECT_EQ(TypeParam::of(0), 0U);
    EXPECT_EQ(TypeParam::size(0), TypeParam::step);
    EXPECT_EQ(TypeParam::size(TypeParam::count - 1), TypeParam::largest);
    EXPECT_EQ(TypeParam::of(TypeParam::largest), TypeParam::count - 1);
}

TEST(size_classes_of_eight, divide_each_doubling_into_eight_steps)
{
    using classes = core::size_classes<16, 1024, 8, 32'768>;
    EXPECT_EQ(classes::count, 104U);
    EXPECT_EQ(classes::size(63), 1024U);
    EXPECT_EQ(classes::size(64), 1024U + 128);
    EXPECT_EQ(classes::size(71), 2048U);
    EXPECT_EQ(classes::size(72), 2048U + 256);
}
} // namespace
