// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pooled.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
struct empty : mp::pooled<empty, mp::plain_references>
{
};
struct shared : mp::pooled<shared, mp::atomic_references>
{
};
struct with_pointer : mp::pooled<with_pointer, mp::plain_references>
{
    void* pointer;
};

struct by_default : mp::pooled<by_default>
{
};

static_assert(mp::references_of<by_default>::are_shared, "the last pointer to an object may go in any thread");
static_assert(sizeof(empty) <= 8 && sizeof(shared) <= 8, "overhead of an object");
static_assert(sizeof(with_pointer) == 8 + sizeof(void*));
static_assert(!std::is_polymorphic_v<empty> && !std::is_polymorphic_v<shared>);

struct number : mp::pooled<number, mp::plain_references>
{
    explicit number(int initial) : value(initial) {}
    int value;
};

TEST(pooled, belongs_to_no_pool_by_default)
{
    const number object(3);
    EXPECT_EQ(object.use_count(), 0u);
}

TEST(pooled, supports_references_outside_of_a_pool)
{
    const number object(3);
    for (int i = 0; i != 3; ++i) {
        intrusive_ptr_add_ref(&object);
        intrusive_ptr_release(&object);
    }
    intrusive_ptr_release(&object); // One too many: a no-op, because there is no pool.
    EXPECT_EQ(object.value, 3);
}

TEST(pooled, can_live_anywhere_and_be_copied_assigned_and_swapped)
{
    number a(1);
    number b(2);
    const number copy(a);
    EXPECT_EQ(copy.value, 1);
    std::swap(a, b);
    EXPECT_EQ(a.value, 2);
    EXPECT_EQ(b.value, 1);
    std::vector<number> many(3, a);
    many.insert(many.begin(), b);
    EXPECT_EQ(many.front().value, 1);
}
} // namespace
