// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool.h>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using memory_pool::MemoryPool;

namespace
{
struct noisy
{
    static inline int alive = 0;
    noisy() { ++alive; }
    explicit noisy(std::string words) : text(std::move(words)) { ++alive; }
    noisy(noisy&& other) noexcept : text(std::move(other.text)) { ++alive; }
    noisy& operator=(noisy&&) = default;
    ~noisy() { --alive; }
    std::string text;
};

struct alignas(64) over_aligned
{
    float values[3];
};

TEST(MemoryPool, has_no_room_until_allocate)
{
    MemoryPool<int> pool;
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_EQ(pool.available_capacity(), 0u);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
    pool.allocate(3);
    EXPECT_EQ(pool.size(), 3u);
    EXPECT_EQ(pool.available_capacity(), 3u);
    EXPECT_NE(pool.new_block_pt(), nullptr);
}

TEST(MemoryPool, makes_room_for_the_maximum_by_default)
{
    MemoryPool<int> pool;
    pool.allocate();
    EXPECT_EQ(pool.size(), memory_pool::g_MaxNumberOfObjectsInPool);
}

TEST(MemoryPool, constructs_and_destroys_its_objects)
{
    noisy::alive = 0;
    {
        MemoryPool<noisy> pool(10);
        EXPECT_EQ(noisy::alive, 0) << "objects are made when they are asked for";
        noisy* a = pool.new_block_pt();
        noisy* const b = pool.new_block_pt(noisy("a text that is too long to fit into the object itself"));
        EXPECT_EQ(b->text.size(), 53u);
        EXPECT_EQ(noisy::alive, 2);
        pool.delete_block_pt(a);
        EXPECT_EQ(a, nullptr);
        EXPECT_EQ(noisy::alive, 1);
        EXPECT_EQ(pool.available_capacity(), 9u);
    }
    EXPECT_EQ(noisy::alive, 0);
}

TEST(MemoryPool, throws_when_it_is_full_and_recovers)
{
    MemoryPool<int> pool(2);
    int* a = pool.new_block_pt(1);
    (void)pool.new_block_pt(2);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
    EXPECT_THROW(pool.new_block_pt(3), std::out_of_range);
    pool.delete_block_pt(a);
    EXPECT_EQ(*pool.new_block_pt(4), 4);
}

TEST(MemoryPool, refuses_more_than_the_maximum)
{
    EXPECT_THROW(MemoryPool<int>(memory_pool::g_MaxNumberOfObjectsInPool + 1), std::bad_alloc);
    MemoryPool<int> pool(5);
    EXPECT_THROW(pool.allocate(memory_pool::g_MaxNumberOfObjectsInPool + 1), std::bad_alloc);
    EXPECT_EQ(pool.size(), 5u) << "nothing changed";
}

TEST(MemoryPool, can_be_cleared_and_allocated_again)
{
    noisy::alive = 0;
    MemoryPool<noisy> pool(5);
    (void)pool.new_block_pt();
    pool.clear();
    EXPECT_EQ(noisy::alive, 0);
    EXPECT_EQ(pool.size(), 0u);
    pool.allocate(7);
    (void)pool.new_block_pt();
    pool.allocate(8);
    EXPECT_EQ(noisy::alive, 0);
    EXPECT_EQ(pool.available_capacity(), 8u);
    pool.allocate(0);
    EXPECT_EQ(pool.size(), 0u);
}

TEST(MemoryPool, may_be_told_its_size_by_one_of_its_objects)
{
    MemoryPool<std::uint64_t> pool(1);
    const std::uint64_t* const size = pool.new_block_pt(7);
    pool.allocate(*size);
    EXPECT_EQ(pool.size(), 7u);
}

TEST(MemoryPool, ignores_a_pointer_that_was_deleted_already)
{
    MemoryPool<int> pool(2);
    int* a = pool.new_block_pt(1);
    pool.delete_block_pt(a);
    pool.delete_block_pt(a);
    EXPECT_EQ(pool.available_capacity(), 2u);
    MemoryPool<int> none;
    none.delete_block_pt(a);
}

TEST(MemoryPool, reports_a_double_delete_through_a_copy_of_the_pointer_when_asked_to_check)
{
    MemoryPool<int, memory_pool::checking_policy> pool(2);
    int* a = pool.new_block_pt(1);
    int* copy = a;
    pool.delete_block_pt(a);
    const test::error_recorder recorder;
    pool.delete_block_pt(copy);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error::double_free});
    EXPECT_EQ(pool.available_capacity(), 2u);
}

TEST(MemoryPool, honours_alignment)
{
    MemoryPool<over_aligned> pool(100);
    for (int i = 0; i != 100; ++i)
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pool.new_block_pt()) % 64, 0u);
}

TEST(MemoryPool, is_not_copied)
{
    EXPECT_FALSE(std::is_copy_constructible_v<MemoryPool<int>>);
    EXPECT_FALSE(std::is_copy_assignable_v<MemoryPool<int>>);
}

TEST(MemoryPool, loses_nothing_when_a_constructor_throws)
{
    struct throws
    {
        throws() { throw std::runtime_error("no"); }
    };
    MemoryPool<throws> pool(1);
    for (int i = 0; i != 10; ++i)
        EXPECT_THROW(pool.new_block_pt(), std::runtime_error);
    EXPECT_EQ(pool.available_capacity(), 1u);
}

/// Does what it is told when it is made, and when it is destroyed.
struct busy
{
    using action = std::function<void()>;
    busy() { ++alive; }
    busy(action when_made, action when_destroyed) : at_begin(std::move(when_made)), at_end(std::move(when_destroyed))
    {
        ++alive;
    }
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): it may be told to throw
    busy(busy&& other) : at_end(std::exchange(other.at_end, nullptr))
    {
        if (other.at_begin)
            other.at_begin();
        ++alive;
    }
    busy& operator=(busy&&) = delete;
    ~busy()
    {
        --alive;
        if (at_end)
            at_end();
    }

    static inline int alive = 0;
    action at_begin;
    action at_end;
};

class MemoryPool_with_busy_objects : public testing::Test
{
protected:
    MemoryPool_with_busy_objects() { busy::alive = 0; }

    busy* make(busy::action when_made, busy::action when_destroyed = {})
    {
        return pool_.new_block_pt(busy(std::move(when_made), std::move(when_destroyed)));
    }

    busy* make_for_its_end(busy::action when_destroyed) { return make({}, std::move(when_destroyed)); }

    void expect_empty() const
    {
        EXPECT_EQ(busy::alive, 0);
        EXPECT_EQ(pool_.size(), 0u);
        EXPECT_EQ(pool_.available_capacity(), 0u);
    }

    MemoryPool<busy> pool_{10};
};

TEST_F(MemoryPool_with_busy_objects, makes_others_while_one_is_made)
{
    busy* inner = nullptr;
    busy* const outer = make([&] { inner = pool_.new_block_pt(); });
    EXPECT_NE(outer, inner);
    EXPECT_EQ(busy::alive, 2);
    EXPECT_EQ(pool_.available_capacity(), 8u);
}

TEST_F(MemoryPool_with_busy_objects, deletes_and_makes_others_while_one_is_destroyed)
{
    busy* other = pool_.new_block_pt();
    busy* made = nullptr;
    busy* object = make_for_its_end([&] {
        pool_.delete_block_pt(other);
        made = pool_.new_block_pt();
    });
    pool_.delete_block_pt(object);
    EXPECT_NE(made, nullptr);
    EXPECT_EQ(busy::alive, 1);
    EXPECT_EQ(pool_.available_capacity(), 9u);
}

TEST_F(MemoryPool_with_busy_objects, does_so_while_it_is_cleared)
{
    busy* other = pool_.new_block_pt();
    (void)make_for_its_end([&] {
        pool_.delete_block_pt(other);
        (void)pool_.new_block_pt();
        pool_.clear();
    });
    pool_.clear();
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, does_so_when_it_ends)
{
    {
        MemoryPool<busy> pool(10);
        (void)pool.new_block_pt(busy({}, [&] { (void)pool.new_block_pt(); }));
    }
    EXPECT_EQ(busy::alive, 0);
}

TEST_F(MemoryPool_with_busy_objects, is_cleared_when_the_destructor_that_asks_for_it_has_returned)
{
    (void)pool_.new_block_pt();
    busy* object = make_for_its_end([&] {
        pool_.clear();
        EXPECT_EQ(busy::alive, 1) << "the other one, so far";
        EXPECT_EQ(pool_.size(), 10u);
    });
    pool_.delete_block_pt(object);
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, is_cleared_when_the_constructor_that_asks_for_it_has_returned)
{
    (void)pool_.new_block_pt();
    EXPECT_EQ(make([&] { pool_.clear(); }), nullptr) << "what it made is gone, too";
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, is_cleared_when_the_constructor_that_asks_for_it_throws)
{
    (void)pool_.new_block_pt();
    EXPECT_THROW((void)make([&] {
                     pool_.clear();
                     throw 1;
                 }),
                 int);
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, is_not_allocated_anew_by_one_of_them)
{
    EXPECT_THROW((void)make([&] { pool_.allocate(3); }), std::invalid_argument);
    (void)make_for_its_end([&] { EXPECT_THROW(pool_.allocate(3), std::invalid_argument); });
    pool_.allocate(5);
    EXPECT_EQ(busy::alive, 0);
    EXPECT_EQ(pool_.available_capacity(), 5u);
}
} // namespace
