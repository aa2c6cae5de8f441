// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <scoped_allocator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
using arenas = mp::unsynchronized_arena_resource;
template <class T>
using allocator_in = mp::resource_allocator<T, arenas>;
using traits = std::allocator_traits<allocator_in<int>>;

static_assert(std::is_same_v<traits::value_type, int>);
static_assert(std::is_same_v<traits::pointer, int*>);
static_assert(std::is_same_v<traits::rebind_alloc<double>, allocator_in<double>>);
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(traits::propagate_on_container_move_assignment::value);
static_assert(traits::propagate_on_container_swap::value);
static_assert(!traits::is_always_equal::value);
static_assert(std::is_nothrow_copy_constructible_v<allocator_in<int>>);
static_assert(std::is_nothrow_copy_assignable_v<allocator_in<int>>);
static_assert(std::is_nothrow_constructible_v<allocator_in<int>, const allocator_in<double>&>);
static_assert(!std::is_default_constructible_v<allocator_in<int>>, "there is no default resource of that type");
static_assert(sizeof(allocator_in<int>) == sizeof(void*));

using vector = std::vector<int, allocator_in<int>>;

/// Not a std::pmr::memory_resource, but it has the two functions that an allocator needs.
class counting_heap
{
public:
    void* allocate(std::size_t bytes, std::size_t alignment)
    {
        ++live;
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void deallocate(void* block, std::size_t bytes, std::size_t alignment)
    {
        --live;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }

    int live = 0;
};

TEST(resource_allocator, allocates_memory_for_objects_of_its_type)
{
    arenas resource;
    allocator_in<double> allocator(resource);
    EXPECT_EQ(allocator.resource(), &resource);
    double* const three = allocator.allocate(3);
    EXPECT_EQ(resource.bytes_in_use(), 3 * sizeof(double));
    three[0] = three[2] = 1.5;
    allocator.deallocate(three, 3);
    EXPECT_EQ(resource.bytes_in_use(), 0u);
}

TEST(resource_allocator, honours_the_alignment_of_the_type)
{
    struct alignas(256) line
    {
        char bytes[256];
    };
    arenas resource;
    const allocator_in<char> characters(&resource);
    allocator_in<line> lines(characters);
    (void)allocator_in<char>(characters).allocate(1);
    for (int i = 0; i != 5; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.allocate(1)) % 256, 0u);
}

TEST(resource_allocator, rejects_more_objects_than_fit_into_memory)
{
    arenas resource;
    allocator_in<double> allocator(resource);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW((void)allocator.allocate(most / sizeof(double) + 1), std::bad_array_new_length);
    EXPECT_THROW((void)allocator.allocate(most), mp::size_overflow);
    EXPECT_THROW((void)allocator.allocate(most / sizeof(double)), std::bad_alloc);
    EXPECT_EQ(resource.bytes_in_use(), 0u);
    vector numbers(resource);
    EXPECT_THROW(numbers.reserve(numbers.max_size() + 1), std::length_error);
}

TEST(resource_allocator, compares_equal_to_allocators_that_can_free_its_blocks)
{
    arenas one;
    arenas other;
    EXPECT_TRUE(allocator_in<int>(one) == allocator_in<int>(&one));
    EXPECT_TRUE(allocator_in<int>(one) == allocator_in<double>(one));
    EXPECT_FALSE(allocator_in<int>(one) != allocator_in<int>(one));
    EXPECT_TRUE(allocator_in<int>(one) != allocator_in<int>(other));

    // For std::pmr::memory_resource, is_equal decides.
    using any = mp::resource_allocator<int, std::pmr::memory_resource>;
    EXPECT_TRUE(any(std::pmr::new_delete_resource()) == any(std::pmr::new_delete_resource()));
    EXPECT_FALSE(any(std::pmr::new_delete_resource()) == any(&one));
    counting_heap heap;
    counting_heap another;
    using plain = mp::resource_allocator<int, counting_heap>;
    EXPECT_TRUE(plain(heap) == plain(heap));
    EXPECT_TRUE(plain(heap) != plain(another));
}

TEST(resource_allocator, works_with_any_type_that_allocates_and_deallocates)
{
    counting_heap heap;
    {
        std::list<std::string, mp::resource_allocator<std::string, counting_heap>> texts(heap);
        texts.emplace_back("a");
        texts.emplace_back("b");
        EXPECT_EQ(heap.live, 2);
    }
    EXPECT_EQ(heap.live, 0);
}

TEST(resource_allocator, propagates_on_container_move_assignment)
{
    arenas one;
    arenas other;
    vector from({1, 2, 3}, one);
    const int* const place = from.data();
    vector to({4}, other);
    to = std::move(from);
    EXPECT_EQ(to.data(), place) << "no element was moved";
    EXPECT_EQ(to.get_allocator().resource(), &one);
    EXPECT_EQ(other.bytes_in_use(), 0u) << "the old elements were freed";
}

TEST(resource_allocator, does_not_propagate_on_container_copy_assignment)
{
    arenas one;
    arenas other;
    const vector from({1, 2, 3}, one);
    vector to({4}, other);
    to = from;
    EXPECT_EQ(to, from);
    EXPECT_EQ(to.get_allocator().resource(), &other);
    EXPECT_EQ(vector(from).get_allocator().resource(), &one) << "copy construction keeps the resource";
}

TEST(resource_allocator, propagates_on_container_swap)
{
    arenas one;
    arenas other;
    vector a({1, 2, 3}, one);
    vector b({4}, other);
    const int* const place = a.data();
    a.swap(b);
    EXPECT_EQ(b.data(), place);
    EXPECT_EQ(b.get_allocator().resource(), &one);
    EXPECT_EQ(a.get_allocator().resource(), &other);
}

TEST(resource_allocator, works_with_shared_pointers)
{
    arenas resource;
    std::weak_ptr<std::string> weak;
    {
        const auto text = std::allocate_shared<std::string>(allocator_in<std::string>(resource), "text");
        weak = text;
        EXPECT_EQ(*text, "text");
        EXPECT_GT(resource.bytes_in_use(), sizeof(std::string));
    }
    EXPECT_TRUE(weak.expired());
    weak.reset();
    EXPECT_EQ(resource.bytes_in_use(), 0u);
}

TEST(resource_allocator, can_be_passed_on_to_elements)
{
    using text = std::basic_string<char, std::char_traits<char>, allocator_in<char>>;
    using texts = std::vector<text, std::scoped_allocator_adaptor<allocator_in<text>>>;
    arenas resource;
    {
        texts lines{allocator_in<text>(resource)};
        lines.emplace_back("a text that is too long to fit into the object itself");
        lines.emplace_back(100, 'x');
        EXPECT_EQ(lines.back().get_allocator().resource(), &resource);
        EXPECT_GT(resource.bytes_in_use(), 2 * sizeof(text) + 100);
    }
    EXPECT_EQ(resource.bytes_in_use(), 0u);
}

template <class Resource>
class resource_allocator_over : public testing::Test
{
protected:
    template <class T>
    using allocator = mp::resource_allocator<T, Resource>;

    test::accounting_upstream upstream_;
};

using every_resource =
    testing::Types<mp::basic_unsynchronized_arena_resource<>,
                   mp::basic_unsynchronized_arena_resource<mp::checking_policy>,
                   mp::basic_synchronized_arena_resource<>, mp::basic_unsynchronized_pool_resource<>,
                   mp::basic_unsynchronized_pool_resource<mp::checking_policy>, mp::basic_synchronized_pool_resource<>>;
TYPED_TEST_SUITE(resource_allocator_over, every_resource, );

TYPED_TEST(resource_allocator_over, works_with_every_kind_of_container)
{
    using fixture = resource_allocator_over<TypeParam>;
    using text = std::basic_string<char, std::char_traits<char>, typename fixture::template allocator<char>>;
    using pair = std::pair<const int, text>;
    TypeParam resource(&this->upstream_);
    {
        std::map<int, text, std::less<>, typename fixture::template allocator<pair>> sorted(resource);
        std::unordered_map<int, text, std::hash<int>, std::equal_to<>, typename fixture::template allocator<pair>>
            hashed(resource);
        std::list<int, typename fixture::template allocator<int>> list(resource);
        std::deque<int, typename fixture::template allocator<int>> deque(resource);
        std::vector<int, typename fixture::template allocator<int>> numbers(resource);
        for (int i = 0; i != 1000; ++i) {
            sorted.emplace(i, text(static_cast<std::size_t>(i % 50), 'x', resource));
            hashed.emplace(i, text(static_cast<std::size_t>(i % 50), 'y', resource));
            list.push_front(i);
            deque.push_back(i);
            numbers.push_back(i);
        }
        for (int i = 0; i != 1000; i += 2) {
            sorted.erase(i);
            hashed.erase(i);
            deque.pop_front();
        }
        list.remove_if([](int number) { return number % 2 == 0; });
        EXPECT_EQ(sorted.at(49), text(49, 'x', resource));
        EXPECT_EQ(hashed.at(49), text(49, 'y', resource));
        EXPECT_EQ(sorted.size() + hashed.size() + list.size() + deque.size(), 4u * 500);
        EXPECT_EQ(list.front() + deque.front() + numbers.back(), 999 + 500 + 999);
        EXPECT_GT(resource.bytes_in_use(), 0u);
    }
    EXPECT_EQ(resource.bytes_in_use(), 0u);
    EXPECT_TRUE(resource.verify());
}

TEST(resource_allocator, allocate_at_least_uses_the_whole_block)
{
    test::accounting_upstream upstream;
    mp::unsynchronized_pool_resource pools(&upstream);
    mp::resource_allocator<int, mp::unsynchronized_pool_resource> allocator(pools);
    for (const std::size_t count : {0u, 1u, 13u, 14u, 25u, 1000u, 1500u}) {
        const auto [objects, room] = allocator.allocate_at_least(count);
        EXPECT_GE(room, count);
        EXPECT_EQ(room, pools.good_size(count * sizeof(int), alignof(int)) / sizeof(int));
        std::fill_n(objects, room, 7);
        allocator.deallocate(objects, room);
        EXPECT_EQ(pools.bytes_in_use(), 0u);
    }
    EXPECT_EQ(allocator.allocate_at_least(13).count, 14u) << "52 bytes fit into a block of 56";
    EXPECT_THROW((void)allocator.allocate_at_least(std::numeric_limits<std::size_t>::max()), mp::size_overflow);
    EXPECT_TRUE(pools.verify());
}

TEST(resource_allocator, allocates_exactly_the_requested_count_if_the_resource_has_no_good_size)
{
    counting_heap heap;
    mp::resource_allocator<int, counting_heap> allocator(heap);
    const mp::allocation_result<int*> result = allocator.allocate_at_least(13);
    EXPECT_EQ(result.count, 13u);
    allocator.deallocate(result.ptr, result.count);
    EXPECT_EQ(heap.live, 0);
}
} // namespace
