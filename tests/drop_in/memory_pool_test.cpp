// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool.h>

#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>
#include <support/overflows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if MEMORY_POOL_ASAN
#include <sanitizer/asan_interface.h>
#endif

using memory_pool::BlockTracker;
using memory_pool::MemoryPool;

namespace {
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

TEST(MemoryPool, has_no_capacity_before_allocate)
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

TEST(MemoryPool, allocates_the_maximum_by_default)
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
        EXPECT_EQ(noisy::alive, 0) << "objects are constructed on demand";
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

TEST(MemoryPool, rejects_more_than_the_maximum)
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

TEST(MemoryPool, can_take_its_size_from_one_of_its_objects)
{
    MemoryPool<std::uint64_t> pool(1);
    const std::uint64_t* const size = pool.new_block_pt(7);
    pool.allocate(*size);
    EXPECT_EQ(pool.size(), 7u);
}

TEST(MemoryPool, ignores_a_pointer_that_was_already_deleted)
{
    MemoryPool<int> pool(2);
    int* a = pool.new_block_pt(1);
    pool.delete_block_pt(a);
    pool.delete_block_pt(a);
    EXPECT_EQ(pool.available_capacity(), 2u);
    MemoryPool<int> none;
    none.delete_block_pt(a);
}

TEST(MemoryPool, reports_a_double_delete_through_a_copy_of_the_pointer_with_checks_enabled)
{
    MemoryPool<int, memory_pool::checking_policy> pool(2);
    int* a = pool.new_block_pt(1);
    int* copy = a;
    pool.delete_block_pt(a);
    const test::error_recorder recorder;
    pool.delete_block_pt(copy);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::double_free});
    EXPECT_EQ(pool.available_capacity(), 2u);
}

TEST(MemoryPool, honours_alignment)
{
    MemoryPool<over_aligned> pool(100);
    for (int i = 0; i != 100; ++i)
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pool.new_block_pt()) % 64, 0u);
}

TEST(MemoryPool, is_not_copyable)
{
    EXPECT_FALSE(std::is_copy_constructible_v<MemoryPool<int>>);
    EXPECT_FALSE(std::is_copy_assignable_v<MemoryPool<int>>);
}

TEST(MemoryPool, loses_no_block_when_a_constructor_throws)
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

// All members are compiled for these types: see the explicit instantiations at the end of this file.
struct plain_instance
{
    int value;
};

struct text_instance
{
    std::string value;
};

struct instance_without_default
{
    explicit instance_without_default(int initial_value) : value(initial_value) {}
    int value;
};

TEST(MemoryPool, can_be_instantiated_explicitly)
{
    MemoryPool<plain_instance> plain(1);
    EXPECT_EQ(plain.new_block_pt(plain_instance{1})->value, 1);
    MemoryPool<text_instance> texts(1);
    EXPECT_EQ(texts.new_block_pt(text_instance{"text"})->value, "text");
    MemoryPool<instance_without_default> others(1);
    EXPECT_EQ(others.new_block_pt(instance_without_default(2))->value, 2);
}

TEST(MemoryPool, has_the_names_of_the_original)
{
    EXPECT_TRUE((std::is_same_v<memory_pool::Byte, std::byte>));
    EXPECT_TRUE((std::is_same_v<memory_pool::SizeT, std::uint64_t>));
    EXPECT_TRUE((std::is_same_v<decltype(memory_pool::g_MaxNumberOfObjectsInPool), const memory_pool::SizeT>));
    EXPECT_EQ(memory_pool::g_MaxNumberOfObjectsInPool, 1000u);
}

TEST(MemoryPool, accepts_exactly_the_maximum)
{
    MemoryPool<int> pool(memory_pool::g_MaxNumberOfObjectsInPool);
    for (memory_pool::SizeT i = 0; i != memory_pool::g_MaxNumberOfObjectsInPool; ++i) {
        EXPECT_EQ(pool.available_capacity(), memory_pool::g_MaxNumberOfObjectsInPool - i);
        *pool.new_block_pt() = static_cast<int>(i);
    }
    EXPECT_EQ(pool.available_capacity(), 0u);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
}

TEST(MemoryPool, reuses_freed_blocks_in_lifo_order)
{
    MemoryPool<std::uint64_t> pool(1000);
    std::vector<std::uint64_t*> blocks(1000);
    for (std::uint64_t*& block : blocks)
        block = pool.new_block_pt();
    for (const bool is_reversed : {false, true}) {
        if (is_reversed)
            std::reverse(blocks.begin(), blocks.end());
        for (std::uint64_t* block : blocks)
            pool.delete_block_pt(block);
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
            ASSERT_EQ(pool.new_block_pt(), *block);
    }
}

TEST(MemoryPool, reuses_a_freed_block_before_never_used_ones)
{
    MemoryPool<int> pool(10);
    int* first = pool.new_block_pt();
    const int* const before = first;
    (void)pool.new_block_pt();
    pool.delete_block_pt(first);
    EXPECT_EQ(pool.new_block_pt(), before);
}

TEST(MemoryPool, default_initialises_a_plain_struct_without_zeroing_it)
{
    using record = std::array<unsigned char, 1024>;
    MemoryPool<record> pool(1);
    record* object = pool.new_block_pt();
    std::memset(object, 0x5a, sizeof(record));
    pool.delete_block_pt(object);
    const volatile unsigned char* const bytes = pool.new_block_pt()->data();
    for (std::size_t i = 0; i != sizeof(record); ++i)
        ASSERT_EQ(bytes[i], 0x5a);
}

struct without_default
{
    explicit without_default(int number) : value(number) {}
    int value;
};

TEST(MemoryPool, returns_storage_for_a_type_without_default_constructor)
{
    MemoryPool<without_default> pool(2);
    without_default* assigned = pool.new_block_pt();
    *assigned = without_default(7);
    without_default* const moved = pool.new_block_pt(without_default(8));
    EXPECT_EQ(assigned->value, 7);
    EXPECT_EQ(moved->value, 8);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
    pool.delete_block_pt(assigned);
    EXPECT_EQ(pool.available_capacity(), 1u);
}

struct counted_without_default
{
    static inline int destroyed = 0;
    explicit counted_without_default(int number) : value(number) {}
    counted_without_default(counted_without_default&& other) noexcept : value(other.value) { other.value = 0; }
    counted_without_default& operator=(counted_without_default&&) = delete;
    ~counted_without_default() { destroyed += value; }
    int value;
};

template <class Policy>
class MemoryPool_of_storage : public testing::Test
{
};
using policies =
    testing::Types<memory_pool::default_policy, memory_pool::counting_policy, memory_pool::checking_policy>;
TYPED_TEST_SUITE(MemoryPool_of_storage, policies, );

TYPED_TEST(MemoryPool_of_storage, destroys_only_objects_that_it_has_constructed)
{
    counted_without_default::destroyed = 0;
    MemoryPool<counted_without_default, TypeParam> pool(4);
    counted_without_default* storage = pool.new_block_pt();
    counted_without_default* object = pool.new_block_pt(counted_without_default(1));
    ::new (storage) counted_without_default(10);
    pool.delete_block_pt(object);
    EXPECT_EQ(counted_without_default::destroyed, 1);
    storage->~counted_without_default();
    EXPECT_EQ(counted_without_default::destroyed, 11);
    pool.delete_block_pt(storage);
    EXPECT_EQ(counted_without_default::destroyed, 11) << "the caller has destroyed it";
    (void)pool.new_block_pt();
    (void)pool.new_block_pt(counted_without_default(100));
    pool.clear();
    EXPECT_EQ(counted_without_default::destroyed, 111) << "the object, not the storage";
}

TYPED_TEST(MemoryPool_of_storage, tracks_the_content_of_a_reused_block)
{
    counted_without_default::destroyed = 0;
    {
        MemoryPool<counted_without_default, TypeParam> pool(1);
        counted_without_default* block = pool.new_block_pt(counted_without_default(1));
        pool.delete_block_pt(block);
        block = pool.new_block_pt();
        pool.delete_block_pt(block);
        EXPECT_EQ(counted_without_default::destroyed, 1);
        (void)pool.new_block_pt(counted_without_default(10));
    }
    EXPECT_EQ(counted_without_default::destroyed, 11);
}

TEST(MemoryPool, constructs_from_an_object_without_default_constructor_or_assignment)
{
    MemoryPool<counted_without_default> pool(1);
    EXPECT_EQ(pool.new_block_pt(counted_without_default(3))->value, 3);
}

class base_class
{
public:
    base_class() = default;
    base_class(const base_class&) = default;
    base_class& operator=(const base_class&) = default;
    virtual ~base_class() = default;
    virtual int kind() const { return 1; }
};

class derived_class : public base_class
{
public:
    derived_class() = default;
    explicit derived_class(double first) : values{first, 2.0} {}
    int kind() const override { return 2; }
    std::array<double, 2> values{};
};

TEST(MemoryPool, supports_classes_with_virtual_functions)
{
    MemoryPool<derived_class> pool(2);
    derived_class* assigned = pool.new_block_pt();
    *assigned = derived_class(4.0);
    base_class* const moved = pool.new_block_pt(derived_class(5.0));
    EXPECT_EQ(assigned->values[0], 4.0);
    EXPECT_EQ(static_cast<base_class*>(assigned)->kind(), 2);
    EXPECT_EQ(moved->kind(), 2);
}

TEST(MemoryPool, may_be_cleared_twice_and_allocated_with_size_0)
{
    MemoryPool<int> pool(3);
    pool.clear();
    pool.clear();
    EXPECT_EQ(pool.size(), 0u);
    pool.allocate(0);
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_EQ(pool.available_capacity(), 0u);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
    pool.allocate(1);
    EXPECT_NE(pool.new_block_pt(), nullptr);
}

TEST(MemoryPool, is_empty_when_out_of_memory)
{
    struct huge
    {
        char bytes[std::size_t{1} << 60];
    };
    MemoryPool<huge> pool;
    EXPECT_THROW(pool.allocate(1000), std::bad_alloc);
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_THROW(pool.new_block_pt(), std::out_of_range);
}

TEST(MemoryPool, ignores_nullptr)
{
    int* none = nullptr;
    MemoryPool<int> pool(2);
    pool.delete_block_pt(none);
    EXPECT_EQ(pool.available_capacity(), 2u);
    noisy* no_object = nullptr;
    MemoryPool<noisy>().delete_block_pt(no_object);
}

/// The number of reports of double deletes: with AddressSanitizer, one for each; otherwise, none.
constexpr std::size_t reports_of(std::size_t double_deletes)
{
    return MEMORY_POOL_ASAN != 0 ? double_deletes : 0;
}

TEST(MemoryPool, ignores_a_delete_when_all_blocks_are_free)
{
    const test::error_recorder recorder;
    MemoryPool<int> pool(1);
    int* block = pool.new_block_pt();
    int* copy = block;
    pool.delete_block_pt(block);
    pool.delete_block_pt(copy);
    EXPECT_EQ(pool.available_capacity(), 1u);
    EXPECT_EQ(recorder.kinds(), test::kinds(reports_of(1), memory_pool::error_kind::double_free));
}

#if MEMORY_POOL_ASAN
template <class T>
void expect_double_deletes_found()
{
    const test::error_recorder recorder;
    MemoryPool<T> pool(40);
    std::vector<T*> objects(20);
    for (T*& object : objects)
        object = pool.new_block_pt(T{});
    for (T* object : objects)
        for (int i = 0; i != 2; ++i) {
            T* copy = object;
            pool.delete_block_pt(copy);
        }
    EXPECT_EQ(recorder.kinds(), test::kinds(20, memory_pool::error_kind::double_free));
    EXPECT_EQ(recorder.reports().back().address, objects.back());
    EXPECT_EQ(pool.available_capacity(), 40u);
    EXPECT_NE(pool.new_block_pt(T{}), pool.new_block_pt(T{}));
}

TEST(MemoryPool, reports_each_double_delete_under_address_sanitizer)
{
    expect_double_deletes_found<char>();
    expect_double_deletes_found<int>();
    expect_double_deletes_found<std::uint64_t>();
    expect_double_deletes_found<std::string>();
}

TEST(MemoryPool, deletes_a_block_that_the_program_has_poisoned)
{
    const test::error_recorder recorder;
    MemoryPool<std::uint64_t> pool(2);
    std::uint64_t* object = pool.new_block_pt();
    memory_pool::detail::base::forbid_access(object, sizeof *object);
    pool.delete_block_pt(object);
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_EQ(pool.available_capacity(), 2u);
}
#endif

TEST(MemoryPool, ignores_an_object_that_was_already_destroyed)
{
    const test::error_recorder recorder;
    noisy::alive = 0;
    MemoryPool<noisy> pool(3);
    (void)pool.new_block_pt();
    noisy* object = pool.new_block_pt();
    noisy* copy = object;
    pool.delete_block_pt(object);
    pool.delete_block_pt(copy);
    EXPECT_EQ(noisy::alive, 1);
    EXPECT_EQ(pool.available_capacity(), 2u);
    noisy foreign;
    noisy* pointer = &foreign;
    pool.delete_block_pt(pointer);
    EXPECT_EQ(noisy::alive, 2);
    EXPECT_EQ(pool.available_capacity(), 2u);
    EXPECT_EQ(recorder.kinds(), test::kinds(reports_of(1), memory_pool::error_kind::double_free));
}

TEST(MemoryPool, reports_a_write_past_the_end_of_an_object_with_checks_enabled)
{
    MemoryPool<noisy, memory_pool::checking_policy> pool(2);
    noisy* object = pool.new_block_pt();
    auto* const behind = reinterpret_cast<unsigned char*>(object) + sizeof(noisy);
    const unsigned char before = *behind;
    *behind = 0x11;
    const test::error_recorder recorder;
    noisy* copy = object;
    pool.delete_block_pt(copy);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::buffer_overflow});
    EXPECT_EQ(pool.available_capacity(), 1u) << "the call was ignored";
    *behind = before;
    pool.delete_block_pt(object);
    EXPECT_EQ(pool.available_capacity(), 2u);
}

TEST(MemoryPool, reports_each_write_past_the_end_of_an_object_once_with_checks_enabled)
{
    struct object
    {
        std::uint64_t value = 0;
        ~object() { value = 1; }
    };
    using pool_type = MemoryPool<object, memory_pool::checking_policy>;
    const std::vector<std::function<void(pool_type&, object*)>> ways_to_end{
        [](pool_type&, object*) {}, // The destructor of the pool destroys it.
        [](pool_type& pool, object*) { pool.clear(); },
        [](pool_type& pool, object* written) { pool.delete_block_pt(written); },
        [](pool_type& pool, object* written) {
            object* again = written;
            pool.delete_block_pt(written);
            pool.delete_block_pt(again);
            EXPECT_EQ(pool.available_capacity(), 2u);
        },
    };
    for (const std::size_t bytes : {1u, 8u}) {
        for (std::size_t i = 0; i != ways_to_end.size(); ++i) {
            const test::error_recorder recorder;
            {
                pool_type pool(2);
                object* const written = pool.new_block_pt();
                for (std::size_t behind = 0; behind != bytes; ++behind)
                    test::write_behind(written, sizeof(object) + behind);
                ways_to_end[i](pool, written);
            }
            EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::buffer_overflow}) << bytes << ", " << i;
        }
    }
}

#if MEMORY_POOL_ASAN
TEST(MemoryPool, poisons_free_blocks)
{
    MemoryPool<std::uint64_t> pool(2);
    std::uint64_t* block = pool.new_block_pt();
    const std::uint64_t* const first = block;
    EXPECT_FALSE(__asan_address_is_poisoned(first));
    EXPECT_TRUE(__asan_address_is_poisoned(first + 1)) << "never allocated";
    pool.delete_block_pt(block);
    EXPECT_TRUE(__asan_address_is_poisoned(first));
    EXPECT_EQ(pool.new_block_pt(), first);
    EXPECT_FALSE(__asan_address_is_poisoned(first));
}
#endif

TEST(BlockTracker, pops_in_lifo_order)
{
    BlockTracker tracker;
    EXPECT_EQ(tracker.size(), 0u);
    tracker.push(3);
    tracker.push(1);
    EXPECT_EQ(tracker.size(), 2u);
    EXPECT_EQ(tracker.pop(), 1u);
    tracker.push(2);
    EXPECT_EQ(tracker.pop(), 2u);
    EXPECT_EQ(tracker.pop(), 3u);
    EXPECT_EQ(tracker.size(), 0u);
}

TEST(BlockTracker, begins_with_the_index_of_each_block)
{
    BlockTracker tracker(3);
    EXPECT_EQ(tracker.size(), 3u);
    for (memory_pool::SizeT index = 0; index != 3; ++index)
        EXPECT_EQ(tracker.pop(), index);
    tracker.push(9);
    tracker.setup(2);
    EXPECT_EQ(tracker.size(), 2u);
    EXPECT_EQ(tracker.pop(), 0u);
    tracker.clear();
    EXPECT_EQ(tracker.size(), 0u);
}

TEST(BlockTracker, throws_when_it_is_empty)
{
    BlockTracker tracker;
    EXPECT_THROW((void)tracker.pop(), std::runtime_error);
    tracker.setup(1);
    (void)tracker.pop();
    EXPECT_THROW((void)tracker.pop(), std::runtime_error);
}

/// Its destructor deletes the next node of the list.
struct list_node
{
    explicit list_node(MemoryPool<list_node>& owner) : pool(&owner) {}
    list_node(list_node&& other) noexcept : pool(std::exchange(other.pool, nullptr)) {}
    list_node& operator=(list_node&&) = delete;
    ~list_node()
    {
        if (pool == nullptr)
            return;
        ++destroyed;
        deepest = std::max(deepest, ++depth);
        pool->delete_block_pt(next);
        --depth;
    }

    static inline int destroyed = 0;
    static inline int depth = 0;
    static inline int deepest = 0;
    MemoryPool<list_node>* pool;
    list_node* next = nullptr;
};

TEST(MemoryPool, destroys_each_node_of_a_list_once_with_bounded_recursion)
{
    MemoryPool<list_node> pool(1000);
    list_node* previous = pool.new_block_pt(list_node(pool));
    for (int i = 1; i != 1000; ++i)
        previous = previous->next = pool.new_block_pt(list_node(pool));
    pool.clear();
    EXPECT_EQ(list_node::destroyed, 1000);
    EXPECT_LE(list_node::deepest, 501);
}

TEST(MemoryPool, destroys_objects_that_delete_each_other_once)
{
    list_node::destroyed = 0;
    MemoryPool<list_node> pool(2);
    list_node* a = pool.new_block_pt(list_node(pool));
    list_node* const b = pool.new_block_pt(list_node(pool));
    a->next = b;
    b->next = a;
    pool.delete_block_pt(a);
    EXPECT_EQ(list_node::destroyed, 2);
    EXPECT_EQ(pool.available_capacity(), 2u);
}

/// Its constructor and its destructor run given functions.
struct busy
{
    using action = std::function<void()>;
    busy() { ++alive; }
    busy(action when_made, action when_destroyed) : at_begin(std::move(when_made)), at_end(std::move(when_destroyed))
    {
        ++alive;
    }
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): its action may throw
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

TEST_F(MemoryPool_with_busy_objects, creates_objects_during_construction)
{
    busy* inner = nullptr;
    busy* const outer = make([&] { inner = pool_.new_block_pt(); });
    EXPECT_NE(outer, inner);
    EXPECT_EQ(busy::alive, 2);
    EXPECT_EQ(pool_.available_capacity(), 8u);
}

TEST_F(MemoryPool_with_busy_objects, creates_and_deletes_objects_during_destruction)
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

TEST_F(MemoryPool_with_busy_objects, creates_and_deletes_objects_during_clear)
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

TEST_F(MemoryPool_with_busy_objects, creates_and_deletes_objects_in_its_destructor)
{
    {
        MemoryPool<busy> pool(10);
        (void)pool.new_block_pt(busy({}, [&] { (void)pool.new_block_pt(); }));
    }
    EXPECT_EQ(busy::alive, 0);
}

TEST_F(MemoryPool_with_busy_objects, defers_a_clear_in_a_destructor_until_it_returns)
{
    (void)pool_.new_block_pt();
    busy* object = make_for_its_end([&] {
        pool_.clear();
        EXPECT_EQ(busy::alive, 1) << "only the other object";
        EXPECT_EQ(pool_.size(), 10u);
    });
    pool_.delete_block_pt(object);
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, defers_a_clear_in_a_constructor_until_it_returns)
{
    (void)pool_.new_block_pt();
    EXPECT_EQ(make([&] { pool_.clear(); }), nullptr) << "the new object was destroyed, too";
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, defers_a_clear_in_a_constructor_until_it_throws)
{
    (void)pool_.new_block_pt();
    EXPECT_THROW((void)make([&] {
                     pool_.clear();
                     throw 1;
                 }),
                 int);
    expect_empty();
}

TEST_F(MemoryPool_with_busy_objects, rejects_an_allocate_by_one_of_its_objects)
{
    EXPECT_THROW((void)make([&] { pool_.allocate(3); }), std::invalid_argument);
    (void)make_for_its_end([&] { EXPECT_THROW(pool_.allocate(3), std::invalid_argument); });
    pool_.allocate(5);
    EXPECT_EQ(busy::alive, 0);
    EXPECT_EQ(pool_.available_capacity(), 5u);
}

template <class Object, class Policy>
void use_hostile_objects()
{
    {
        MemoryPool<Object, Policy> pool(3);
        Object* made = pool.new_block_pt();
        made->value = 1;
        Object* const moved = pool.new_block_pt(Object(2));
        EXPECT_EQ(moved->value, 2);
        pool.delete_block_pt(made);
        EXPECT_EQ(pool.available_capacity(), 2u);
    }
    EXPECT_EQ(Object::alive, 0);
}

TEST(MemoryPool, uses_no_operators_of_the_objects)
{
    use_hostile_objects<test::hostile<test::deleted_operators>, memory_pool::default_policy>();
    use_hostile_objects<test::hostile<test::aborting_operators>, memory_pool::default_policy>();
    use_hostile_objects<test::hostile<test::aborting_operators>, memory_pool::checking_policy>();
}
} // namespace

template class memory_pool::MemoryPool<plain_instance>;
template class memory_pool::MemoryPool<text_instance>;
template class memory_pool::MemoryPool<instance_without_default>;
template class memory_pool::MemoryPool<plain_instance, memory_pool::checking_policy>;
template class memory_pool::MemoryPool<text_instance, memory_pool::checking_policy>;
