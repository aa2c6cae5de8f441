// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/construct.hpp>

#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/hostile_types.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
struct aggregate
{
    int first;
    std::string second;
};

/// An aggregate with a private destructor, which only pools can call.
struct kept_aggregate
{
    int value;

private:
    ~kept_aggregate() = default;
    friend struct mp::lifetime_access;
};

static_assert(core::is_nothrow_makeable<kept_aggregate, int>(), "checked without a temporary object");
static_assert(!core::takes_braces<aggregate, const aggregate&>, "copied");
static_assert(!core::takes_braces<std::vector<int>, std::size_t, int>);
static_assert(!core::takes_braces<std::string, char, char, char, char, char>, "no constructor, and no aggregate");
static_assert(core::is_nothrow_makeable<std::array<int, 2>, int, int>());
static_assert(!core::is_nothrow_makeable<std::string, const char*>());

TEST(construct_at, constructs_objects_and_aggregates)
{
    alignas(aggregate) std::array<std::byte, sizeof(aggregate)> room{};
    auto* const made = core::construct_at<aggregate>(room.data(), 7, "seven");
    EXPECT_EQ(made->first, 7);
    EXPECT_EQ(made->second, "seven");
    made->~aggregate();

    using vector = std::vector<int>;
    alignas(vector) std::array<std::byte, sizeof(vector)> other{};
    auto* const numbers = core::construct_at<vector>(other.data(), std::size_t{3}, 9);
    EXPECT_EQ(*numbers, (vector{9, 9, 9})) << "not an initializer list";

    mp::object_pool<kept_aggregate> pool;
    kept_aggregate* const kept = pool.create(5);
    EXPECT_EQ(kept->value, 5);
    pool.destroy(kept);
    numbers->~vector();
}

/// A policy, and objects whose operators a pool must not use: see hostile_types.hpp.
template <class Operators, class Policy>
struct hostile_case
{
    using object = test::hostile<Operators>;
    using policy = Policy;
};

template <class Case>
class hostile_objects : public testing::Test
{
protected:
    using object_type = typename Case::object;
    using policy_type = typename Case::policy;

    ~hostile_objects() override { EXPECT_EQ(object_type::alive, 0); }
};

using hostile_cases = testing::Types<hostile_case<test::deleted_operators, mp::default_policy>,
                                     hostile_case<test::deleted_operators, mp::checking_policy>,
                                     hostile_case<test::aborting_operators, mp::default_policy>,
                                     hostile_case<test::aborting_operators, mp::checking_policy>,
                                     hostile_case<test::aborting_operators, mp::counting_policy>>;
TYPED_TEST_SUITE(hostile_objects, hostile_cases, );

template <class Pool>
void use_object_pool()
{
    using object = typename Pool::value_type;
    Pool pool;
    object* const made = pool.create(1);
    EXPECT_EQ(pool.make_unique(2)->value, 2);
    EXPECT_EQ((*pool.make_unique(*made)).value, 1);
    pool.destroy(pool.try_create(3));
    std::array<object*, 100> many{};
    EXPECT_EQ(pool.create_bulk(many.data(), 50, 4), 50u);
    EXPECT_EQ(pool.try_create_bulk(many.data() + 50, 50, *made), 50u);
    int sum = 0;
    pool.for_each([&sum](const object& each) { sum += each.value; });
    EXPECT_EQ(sum, 1 + 50 * 4 + 50);
    EXPECT_TRUE(pool.owns(made));
    pool.destroy_bulk(many.data(), 99);
    pool.destroy(made);
    EXPECT_TRUE(pool.verify());
    pool.clear();
    (void)pool.create(5); // The pool destroys it.
}

TYPED_TEST(hostile_objects, live_in_object_pools)
{
    using object = typename TestFixture::object_type;
    using pool_type = mp::object_pool<object, typename TestFixture::policy_type>;
    use_object_pool<pool_type>();
    use_object_pool<mp::concurrent_object_pool<object, typename TestFixture::policy_type>>();

    pool_type pool;
    for (int i = 0; i != 100; ++i)
        (void)pool.create(i);
    int sum = 0;
    for (const object& each : std::as_const(pool))
        sum += each.value;
    for (object& each : pool)
        each.value -= 1;
    EXPECT_EQ(sum, 99 * 100 / 2);
    EXPECT_EQ(std::count_if(pool.begin(), pool.end(), [](const object& each) { return each.value < 10; }), 11);
    EXPECT_EQ(erase_if(pool, [](const object& each) { return each.value % 2 == 0; }), 50u);
    (void)pool.erase(pool.begin());
    EXPECT_EQ(pool.size(), 49u);
}

TYPED_TEST(hostile_objects, wait_for_a_block_of_a_concurrent_object_pool)
{
    mp::concurrent_object_pool<typename TestFixture::object_type, typename TestFixture::policy_type> pool;
    pool.destroy(pool.create_wait(1));
    pool.destroy(pool.try_create_for(std::chrono::seconds(1), 2));
}

template <class Pool>
void use_handle_pool()
{
    using object = typename Pool::value_type;
    using handle = typename Pool::handle;
    Pool pool;
    const handle made = pool.create(1);
    EXPECT_EQ(pool.get(made)->value, 1);
    EXPECT_EQ(pool.handle_of(pool.get(made)), made);
    EXPECT_TRUE(pool.owns(pool.get(made)));
    EXPECT_TRUE(pool.destroy(pool.try_create(*pool.get(made))));
    std::array<handle, 100> many{};
    EXPECT_EQ(pool.create_bulk(many.data(), 100, 2), 100u);
    int sum = 0;
    pool.for_each([&sum](object& each) { sum += each.value; });
    EXPECT_EQ(sum, 201);
    EXPECT_EQ(pool.destroy_bulk(many.data(), 50), 50u);
    EXPECT_EQ(erase_if(pool, [](const object& each) { return each.value == 2; }), 50u);
    EXPECT_EQ(pool.get(made)->value, 1);
    EXPECT_TRUE(pool.verify());
    pool.clear();
    (void)pool.create(3);
}

TYPED_TEST(hostile_objects, live_in_handle_pools)
{
    using object = typename TestFixture::object_type;
    mp::handle_pool<object, typename TestFixture::policy_type> pool;
    use_handle_pool<decltype(pool)>();
    for (int i = 0; i != 10; ++i)
        (void)pool.create(i);
    for (object& each : pool)
        each.value += 1;
    EXPECT_EQ(std::as_const(pool).begin()->value, 1);

    mp::concurrent_handle_pool<object, typename TestFixture::policy_type> shared;
    use_handle_pool<decltype(shared)>();
    const auto made = shared.create_wait(7);
    EXPECT_EQ(shared.visit(made, [](object& each) { return each.value; }), 7);
    EXPECT_TRUE(shared.visit(made, [&](object&) { (void)shared.destroy(made); }));
}

TYPED_TEST(hostile_objects, live_in_shared_pools)
{
    using object = typename TestFixture::object_type;
    using policy = typename TestFixture::policy_type;
    std::weak_ptr<object> weak;
    {
        mp::basic_shared_pool<object, mp::basic_block_pool<policy>> pool;
        mp::basic_shared_pool<object, mp::basic_concurrent_block_pool<policy>> concurrent;
        const std::shared_ptr<object> made = pool.make(1);
        weak = made;
        EXPECT_EQ(concurrent.try_make(*made)->value, 1);
        EXPECT_EQ(concurrent.make_wait(2)->value, 2);
    }
    EXPECT_TRUE(weak.expired());
}

TYPED_TEST(hostile_objects, are_recycled_by_shared_pools)
{
    using object = typename TestFixture::object_type;
    mp::unsynchronized_recycling_shared_pool<object> pool(mp::recycle::call_destroy);
    mp::recycling_shared_pool<object> concurrent([](object& each) { each.value = -1; });
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(pool.allocate()->value, 0);
        EXPECT_EQ(pool.allocate_through_init(4)->value, 4);
        EXPECT_EQ(concurrent.allocate_through_function([](object& each) { each.value = 5; })->value, 5);
        EXPECT_EQ(concurrent.try_allocate()->value, -1);
    }
    EXPECT_NE(pool.trim(), 0u);
}

template <class Object, class Resource>
void use_resource(Resource& resource)
{
    using allocator = mp::resource_allocator<Object, Resource>;
    const auto owner = mp::allocate_unique<Object>(resource, 1);
    EXPECT_EQ(mp::allocate_unique<Object>(&resource, *owner)->value, 1);
    const std::shared_ptr<Object> shared = std::allocate_shared<Object>(allocator(resource), 2);

    std::vector<Object, allocator> vector(resource);
    std::deque<Object, allocator> deque(resource);
    std::list<Object, allocator> list(resource);
    std::map<int, Object, std::less<>, mp::resource_allocator<std::pair<const int, Object>, Resource>> map(resource);
#ifdef _LIBCPP_VERSION
    std::vector<Object, allocator> pmr(resource); // std::pmr::polymorphic_allocator uses the operators of Object there.
#else
    std::pmr::vector<Object> pmr(&resource);
#endif
    for (int i = 0; i != 100; ++i) {
        vector.emplace_back(i);
        deque.emplace_front(i);
        list.emplace_back(i);
        map.emplace(i, i);
        pmr.emplace_back(i);
    }
    vector.erase(vector.begin());
    EXPECT_EQ(vector.front().value + deque.front().value + list.back().value + map.at(3).value + pmr[5].value, 207);
}

TYPED_TEST(hostile_objects, live_in_containers_over_resources)
{
    using object = typename TestFixture::object_type;
    using policy = typename TestFixture::policy_type;
    mp::unsynchronized_arena_resource arenas;
    mp::synchronized_arena_resource shared_arenas;
    mp::unsynchronized_pool_resource pools;
    mp::synchronized_pool_resource shared_pools;
    mp::basic_block_pool<policy> blocks(64);
    mp::block_resource view(blocks);
    use_resource<object>(arenas);
    use_resource<object>(shared_arenas);
    use_resource<object>(pools);
    use_resource<object>(shared_pools);
    use_resource<object>(view);
}

/// A resource of a user's type, with hostile operators.
template <class Operators>
struct hostile_resource : Operators
{
    void* allocate(std::size_t bytes, std::size_t alignment)
    {
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment)
    {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
};

TEST(hostile_resources, work_with_allocators_and_owners)
{
    hostile_resource<test::deleted_operators> forbidding;
    const std::vector<int, mp::resource_allocator<int, decltype(forbidding)>> numbers({1, 2, 3}, forbidding);
    EXPECT_EQ(*mp::allocate_unique<int>(forbidding, numbers[1]), 2);
    hostile_resource<test::aborting_operators> aborting;
    const std::vector<int, mp::resource_allocator<int, decltype(aborting)>> others({1, 2, 3}, aborting);
    EXPECT_EQ(*mp::allocate_unique<int>(aborting, others[1]), 2);
}
} // namespace
