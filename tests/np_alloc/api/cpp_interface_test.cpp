// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.hpp>

#include <support/emulation.hpp>
#include <support/memory_limit.hpp>
#include <support/new_handler.hpp>
#include <support/np_blocks.hpp>
#include <support/np_conservation.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <scoped_allocator>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

TEST(np_alloc_with_a_call_site, returns_an_ordinary_block)
{
    void* const block = np_alloc(100, __FILE__, __LINE__);
    void* const from_c = np_alloc_at(100, "orders.c", 42);
    EXPECT_TRUE(np_owns(block));
    EXPECT_GE(np_usable_size(block), 100U);
    EXPECT_GE(np_usable_size(from_c), 100U);
    np_free(block);
    np_free(from_c);
    const volatile std::size_t too_many = largest;
    EXPECT_EQ(np_alloc(too_many, __FILE__, __LINE__), nullptr);
}

TEST(np_allocate, aligns_to_every_power_of_two)
{
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, alignment - 1, 3 * alignment}) {
            void* const block = mp::np_allocate(bytes, alignment);
            ASSERT_TRUE(is_aligned(block, std::max(alignment, mp::np_alignment))) << bytes << ' ' << alignment;
            std::memset(block, 1, bytes);
            mp::np_deallocate(block, bytes, alignment);
        }
    }
    mp::np_deallocate(nullptr, 0);
    mp::np_deallocate(nullptr, 8, 4096);
}

TEST(np_allocate, throws_with_the_requested_size_and_alignment)
{
    const volatile std::size_t too_many = largest;
    const std::string plain = test::what_of<std::bad_alloc>([&] { (void)mp::np_allocate(too_many); });
    EXPECT_TRUE(test::contains(plain, "no " + std::to_string(largest) + " bytes aligned to 16")) << plain;
    const std::string aligned = test::what_of<mp::out_of_memory>([&] { (void)mp::np_allocate(too_many, 64); });
    EXPECT_TRUE(test::contains(aligned, "aligned to 64")) << aligned;
}

TEST(np_allocate, calls_the_new_handler_until_none_is_set)
{
    const volatile std::size_t too_many = largest;
    const test::new_handler handler([] {
        if (test::new_handler::calls() == 3)
            std::set_new_handler(nullptr);
    });
    EXPECT_THROW((void)mp::np_allocate(too_many), std::bad_alloc);
    EXPECT_EQ(test::new_handler::calls(), 3U);
}

TEST(np_allocate, propagates_exceptions_of_the_new_handler)
{
    const volatile std::size_t too_many = largest;
    const test::new_handler handler([] { throw std::runtime_error("enough"); });
    EXPECT_THROW((void)mp::np_allocate(too_many), std::runtime_error);
    EXPECT_THROW((void)mp::np_allocate(too_many, 4096), std::runtime_error);
}

TEST(np_allocate, does_not_call_the_new_handler_for_an_invalid_alignment)
{
    const test::new_handler handler([] {});
    EXPECT_THROW((void)mp::np_allocate(8, 24), std::bad_alloc);
    EXPECT_EQ(test::new_handler::calls(), 0U);
}

#if TESTS_MAY_LIMIT_MEMORY
TEST(np_allocate, retries_with_memory_that_the_new_handler_has_freed)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "the emulator ignores memory limits";
    constexpr std::size_t bytes = std::size_t{512} << 20;
    void* reserve = mp::np_allocate(bytes);
    const test::memory_limit limit(bytes / 8);
    std::array<void*, 100> had_before{}; // Blocks from free memory of earlier tests.
    std::size_t count = 0;
    const auto take_all = [&] {
        for (; count != had_before.size(); ++count)
            had_before[count] = mp::np_allocate(bytes);
    };
    EXPECT_THROW(take_all(), std::bad_alloc);
    const test::new_handler handler([&] { np_free(std::exchange(reserve, nullptr)); });
    void* const block = mp::np_allocate(bytes);
    EXPECT_EQ(test::new_handler::calls(), 1U);
    np_free(block);
    std::for_each(had_before.begin(), had_before.begin() + count, np_free);
}
#endif

TEST(np_heap_resource, allocates_from_its_own_heap)
{
    mp::np_heap_resource heap;
    mp::np_heap_resource other;
    std::pmr::vector<std::pmr::string> texts(&heap);
    for (int i = 0; i != 1000; ++i)
        texts.emplace_back("a text that is too long to fit into the object itself");
    EXPECT_GT(heap.bytes_in_use(), 1000u * 50);
    EXPECT_GE(heap.bytes_reserved(), heap.bytes_in_use());
    EXPECT_TRUE(heap.owns(texts.data()));
    EXPECT_FALSE(other.owns(texts.data()));
    EXPECT_FALSE(heap.owns(nullptr));
    EXPECT_EQ(other.bytes_in_use(), 0u);
    EXPECT_FALSE(heap.is_equal(other));
}

TEST(np_heap_resource, honours_every_alignment)
{
    mp::np_heap_resource heap;
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        void* const block = heap.allocate(100, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
        heap.deallocate(block, 100, alignment);
    }
    heap.deallocate(nullptr, 100);
    EXPECT_EQ(heap.bytes_in_use(), 0u);
}

TEST(np_heap_resource, frees_all_blocks_when_cleared_or_destroyed)
{
    mp::np_heap_resource heap;
    for (int i = 0; i != 1000; ++i)
        (void)heap.allocate(static_cast<std::size_t>(i) * 100);
    heap.clear();
    EXPECT_EQ(heap.bytes_in_use(), 0u);
    EXPECT_NE(heap.allocate(100), nullptr);
}

TEST(np_heap_resource, throws_out_of_memory)
{
    mp::np_heap_resource heap;
    const volatile std::size_t too_many = std::numeric_limits<std::size_t>::max() - 100; // Compilers warn of constants.
    EXPECT_THROW((void)heap.allocate(too_many), mp::out_of_memory);
}

TEST(np_resource, is_one_object)
{
    EXPECT_EQ(mp::np_resource(), mp::np_resource());
    EXPECT_TRUE(mp::np_resource()->is_equal(*mp::np_resource()));
    EXPECT_FALSE(mp::np_resource()->is_equal(*std::pmr::new_delete_resource()));
}

TEST(np_resource, returns_blocks_of_np_alloc_and_honours_every_alignment)
{
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 20; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, alignment}) {
            void* const block = mp::np_resource()->allocate(bytes, alignment);
            ASSERT_TRUE(np_owns(block));
            ASSERT_TRUE(is_aligned(block, alignment)) << bytes << ' ' << alignment;
            std::memset(block, 1, bytes);
            mp::np_resource()->deallocate(block, bytes, alignment);
        }
    }
}

TEST(np_resource, throws_when_there_is_no_memory)
{
    const volatile std::size_t too_many = largest;
    EXPECT_THROW((void)mp::np_resource()->allocate(too_many), std::bad_alloc);
    EXPECT_THROW((void)mp::np_resource()->allocate(too_many, 4096), std::bad_alloc);
}

TEST(np_resource, serves_containers_and_other_resources)
{
    std::pmr::monotonic_buffer_resource buffer(mp::np_resource());
    std::pmr::map<int, std::pmr::string> texts(mp::np_resource());
    std::pmr::vector<int> numbers(&buffer);
    for (int i = 0; i != 1000; ++i) {
        texts.emplace(i, std::string(static_cast<std::size_t>(i), 'x'));
        numbers.push_back(i);
    }
    EXPECT_TRUE(np_owns(texts.at(999).data()));
    EXPECT_EQ(texts.at(999), std::string(999, 'x').c_str());
    EXPECT_TRUE(np_owns(numbers.data()));
}

/// Constructed before the first use of the resource, so it is destroyed after all objects that this use creates.
std::optional<std::pmr::vector<int>> ends_last;

TEST(np_resource, may_be_used_by_static_objects)
{
    ends_last.emplace(10'000, 1, mp::np_resource());
    EXPECT_TRUE(np_owns(ends_last->data()));
    test::np_conservation::leave_in_use(test::counted_bytes(10'000 * sizeof(int)));
}

using allocator = mp::np_allocator<int>;
using traits = std::allocator_traits<allocator>;

static_assert(std::is_same_v<traits::value_type, int>);
static_assert(std::is_same_v<traits::pointer, int*>);
static_assert(std::is_same_v<traits::size_type, std::size_t>);
static_assert(std::is_same_v<traits::difference_type, std::ptrdiff_t>);
static_assert(std::is_same_v<traits::rebind_alloc<double>, mp::np_allocator<double>>);
static_assert(traits::is_always_equal::value);
static_assert(traits::propagate_on_container_move_assignment::value);
static_assert(!traits::propagate_on_container_copy_assignment::value);
static_assert(!traits::propagate_on_container_swap::value);
static_assert(std::is_empty_v<allocator>);
static_assert(std::is_trivially_copyable_v<allocator>);
static_assert(std::is_nothrow_default_constructible_v<allocator>);
static_assert(std::is_nothrow_constructible_v<allocator, const mp::np_allocator<double>&>);
static_assert(sizeof(std::vector<int, allocator>) == sizeof(std::vector<int>));

constexpr allocator constant(mp::np_allocator<double>{});
static_assert(constant == mp::np_allocator<char>());
static_assert(!(constant != allocator()));
static_assert(allocator::max_size() == largest / 2 / sizeof(int));
static_assert(mp::np_allocator<char>::max_size() == largest / 2);

TEST(np_allocator, allocates_objects_that_any_other_np_allocator_can_free)
{
    double* const three = mp::np_allocator<double>().allocate(3);
    EXPECT_TRUE(np_owns(three));
    EXPECT_GE(np_usable_size(three), 3 * sizeof(double));
    mp::np_allocator<double>(allocator()).deallocate(three, 3);
    int* const none = allocator().allocate(0);
    EXPECT_NE(none, nullptr);
    allocator().deallocate(none, 0);
}

template <std::size_t Alignment>
void expect_aligned_objects()
{
    struct alignas(Alignment) object
    {
        char first;
    };
    mp::np_allocator<object> objects;
    for (std::size_t count = 1; count != 8; ++count) {
        object* const some = objects.allocate(count);
        EXPECT_TRUE(is_aligned(some, Alignment)) << Alignment;
        objects.deallocate(some, count);
    }
    const std::vector<object, mp::np_allocator<object>> in_a_vector(10);
    EXPECT_TRUE(is_aligned(in_a_vector.data(), Alignment)) << Alignment;
    const std::list<object, mp::np_allocator<object>> in_nodes(10);
    for (const object& each : in_nodes)
        EXPECT_TRUE(is_aligned(&each, Alignment)) << Alignment;
}

TEST(np_allocator, honours_the_alignment_of_the_type)
{
    expect_aligned_objects<1>();
    expect_aligned_objects<16>();
    expect_aligned_objects<32>();
    expect_aligned_objects<256>();
    expect_aligned_objects<4096>();
    expect_aligned_objects<65536>();
}

TEST(np_allocator, rejects_more_objects_than_max_size)
{
    for (const std::size_t count :
         {largest, largest / sizeof(int) + 1, largest / sizeof(int), largest / 2 + 2, allocator::max_size() + 1}) {
        EXPECT_THROW((void)allocator().allocate(count), std::bad_array_new_length) << count;
        EXPECT_THROW((void)allocator().allocate(count), mp::size_overflow) << count;
    }
    EXPECT_THROW((void)allocator().allocate(allocator::max_size()), mp::out_of_memory);
    std::vector<int, allocator> numbers;
    EXPECT_THROW(numbers.reserve(numbers.max_size() + 1), std::length_error);
}

TEST(np_allocator, serves_every_kind_of_container)
{
    using text = std::basic_string<char, std::char_traits<char>, mp::np_allocator<char>>;
    using pair = std::pair<const int, text>;
    std::map<int, text, std::less<>, mp::np_allocator<pair>> sorted;
    std::unordered_map<int, text, std::hash<int>, std::equal_to<>, mp::np_allocator<pair>> hashed;
    std::list<int, allocator> list;
    std::deque<int, allocator> deque;
    std::vector<int, allocator> numbers;
    for (int i = 0; i != 1000; ++i) {
        sorted.emplace(i, text(static_cast<std::size_t>(i % 50), 'x'));
        hashed.emplace(i, text(static_cast<std::size_t>(i % 50), 'y'));
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
    EXPECT_EQ(sorted.at(49), text(49, 'x'));
    EXPECT_EQ(hashed.at(49), text(49, 'y'));
    EXPECT_EQ(sorted.size() + hashed.size() + list.size() + deque.size(), 4U * 500);
    EXPECT_EQ(list.front() + deque.front() + numbers.back(), 999 + 500 + 999);
    EXPECT_TRUE(np_owns(&*sorted.begin()));
    EXPECT_TRUE(np_owns(&*hashed.begin()));
    EXPECT_TRUE(np_owns(&list.front()));
    EXPECT_TRUE(np_owns(&deque.front()));
    EXPECT_TRUE(np_owns(numbers.data()));
}

TEST(np_allocator, lets_containers_move_and_swap_their_memory)
{
    std::vector<int, allocator> from{1, 2, 3};
    const int* const place = from.data();
    std::vector<int, allocator> to{4};
    to = std::move(from);
    EXPECT_EQ(to.data(), place);
    std::vector<int, allocator> other;
    swap(to, other);
    EXPECT_EQ(other.data(), place);
    std::list<int, allocator> a{1, 2};
    std::list<int, allocator> b{3};
    a.splice(a.end(), b);
    EXPECT_EQ(a.size(), 3U);
}

struct tree
{
    std::vector<tree, mp::np_allocator<tree>> children; // `tree` is incomplete here.
};

TEST(np_allocator, accepts_an_incomplete_type)
{
    tree root;
    root.children.resize(3);
    root.children[1].children.resize(2);
    EXPECT_EQ(root.children[1].children.size(), 2U);
}

TEST(np_allocator, serves_shared_pointers_and_scoped_allocators)
{
    const auto shared = std::allocate_shared<std::string>(mp::np_allocator<std::string>(), 100, 'x');
    EXPECT_TRUE(np_owns(shared.get()));
    EXPECT_EQ(shared->size(), 100U);
    using text = std::basic_string<char, std::char_traits<char>, mp::np_allocator<char>>;
    std::vector<text, std::scoped_allocator_adaptor<mp::np_allocator<text>>> lines;
    lines.emplace_back("a text that is too long to fit into the object itself");
    EXPECT_TRUE(np_owns(lines.front().data()));
}

TEST(np_allocator, frees_blocks_of_other_threads)
{
    std::vector<std::string, mp::np_allocator<std::string>> texts;
    std::thread([&] { texts.assign(1000, "a text that is too long to fit into the object itself"); }).join();
    std::thread([&] { decltype(texts)().swap(texts); }).join();
    EXPECT_EQ(texts.capacity(), 0U);
}
} // namespace
