// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <boost_intrusive_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using memorypool::boost_intrusive_pool;
using memorypool::boost_intrusive_pool_item;
using memorypool::RECYCLE_METHOD_CUSTOM_FUNCTION;
using memorypool::RECYCLE_METHOD_DESTROY_FUNCTION;
using memorypool::RECYCLE_METHOD_NONE;

namespace {
// operator new of this program counts calls, and can fail. Atomic, because other tests have threads.
std::atomic<std::size_t> chunks_of_the_heap{0};
std::atomic<std::size_t> calls_until_the_heap_fails{0}; ///< 0: never.
} // namespace

void* operator new(std::size_t bytes)
{
    if (calls_until_the_heap_fails != 0 && --calls_until_the_heap_fails == 0)
        throw std::bad_alloc();
    void* const chunk = std::malloc(bytes != 0 ? bytes : 1);
    if (chunk == nullptr)
        throw std::bad_alloc();
    ++chunks_of_the_heap;
    return chunk;
}

void operator delete(void* chunk) noexcept
{
    if (chunk == nullptr)
        return;
    --chunks_of_the_heap;
    std::free(chunk);
}

void operator delete(void* chunk, std::size_t) noexcept
{
    operator delete(chunk);
}

namespace {
/// An item in the style of user code: `init` with and without arguments, and `destroy`.
class message : public boost_intrusive_pool_item
{
public:
    static inline int alive = 0;

    message() { ++alive; }
    ~message() override { --alive; }

    void init() { text = "nothing"; }
    void init(int number, std::string&& what) { text = std::to_string(number) + std::move(what); }
    void init(std::unique_ptr<int> only_moved) { text = std::to_string(*only_moved); }
    void destroy() override
    {
        text.clear();
        ++times_destroyed;
    }

    std::string text = "as constructed";
    int times_destroyed = 0;
};

/// An item without `init` and `destroy`.
class number : public boost_intrusive_pool_item
{
public:
    void set_to_seven() { value = 7; }

    int value = 0;
};

class shape : public boost_intrusive_pool_item
{
public:
    virtual int corners() const { return 0; }
};

class square : public shape
{
public:
    static inline int destroyed = 0;
    ~square() override { ++destroyed; }
    int corners() const override { return 4; }
    void destroy() override { ++destroyed; }
    double side = 1;
};

/// Its constructor throws when there are `room` objects.
class rare : public boost_intrusive_pool_item
{
public:
    static inline int alive = 0;
    static inline int room = 0;

    rare()
    {
        if (alive == room)
            throw std::runtime_error("no more of these");
        ++alive;
    }
    ~rare() override { --alive; }
    void init() {}
};

class hesitant : public boost_intrusive_pool_item
{
public:
    void init(bool fails)
    {
        if (fails)
            throw std::runtime_error("not now");
    }
};

/// Counts arrays of this class. An allocation can fail.
class heavy : public boost_intrusive_pool_item
{
public:
    static inline int arrays = 0;
    static inline bool heap_fails = false;

    static void* operator new[](std::size_t bytes)
    {
        if (heap_fails)
            throw std::bad_alloc();
        void* const array = ::operator new(bytes);
        ++arrays;
        return array;
    }
    static void operator delete[](void* array)
    {
        --arrays;
        ::operator delete(array);
    }
};

/// Holds another item until it is returned or destroyed.
class link : public boost_intrusive_pool_item
{
public:
    static inline int alive = 0;

    link() { ++alive; }
    ~link() override { --alive; }
    void destroy() override { next.reset(); }

    boost::intrusive_ptr<link> next;
};

/// Created by the program, not by a pool.
class plain : public boost_intrusive_pool_item
{
public:
    static inline int alive = 0;

    plain() { ++alive; }
    plain(const plain& other) : boost_intrusive_pool_item(other), value(other.value) { ++alive; }
    plain& operator=(const plain&) = default;
    ~plain() override { --alive; }

    int value = 0;
    boost::intrusive_ptr<plain> next;
};

template <class Item>
std::vector<boost::intrusive_ptr<Item>> take(boost_intrusive_pool<Item>& pool, std::size_t count)
{
    std::vector<boost::intrusive_ptr<Item>> items;
    while (items.size() != count)
        items.push_back(pool.allocate());
    return items;
}

template <class Item>
std::vector<boost::intrusive_ptr<Item>> take_all(boost_intrusive_pool<Item>& pool)
{
    std::vector<boost::intrusive_ptr<Item>> items;
    while (boost::intrusive_ptr<Item> item = pool.allocate())
        items.push_back(item);
    return items;
}

// The two examples of the original's page.

TEST(boost_intrusive_pool, allocates_items_that_return_automatically)
{
    boost_intrusive_pool<message> pool(4);
    {
        const boost::intrusive_ptr<message> item = pool.allocate();
        boost::intrusive_ptr<message> same = item;
        same->text = "seen through both";
        EXPECT_EQ(item->text, "seen through both");
        EXPECT_EQ(pool.capacity(), 4u);
        EXPECT_EQ(pool.unused_count(), 3u);
        EXPECT_EQ(pool.inuse_count(), 1u);
        same.reset();
        EXPECT_EQ(pool.inuse_count(), 1u);
        const boost::intrusive_ptr<message> other = pool.allocate_through_init();
        EXPECT_EQ(other->text, "nothing");
        EXPECT_EQ(pool.inuse_count(), 2u);
    }
    EXPECT_EQ(pool.capacity(), 4u);
    EXPECT_EQ(pool.unused_count(), 4u);
    EXPECT_EQ(pool.inuse_count(), 0u);
}

TEST(boost_intrusive_pool, initialises_items_with_arguments)
{
    boost_intrusive_pool<message> pool(4);
    EXPECT_EQ(pool.allocate_through_init(7, " of them")->text, "7 of them");
    EXPECT_EQ(pool.allocate_through_init(std::make_unique<int>(8))->text, "8") << "arguments are forwarded";
}

TEST(boost_intrusive_pool, initialises_items_with_a_function)
{
    boost_intrusive_pool<number> pool(4);
    int calls = 0;
    const auto first = pool.allocate_through_function([&calls](number& item) { item.value = ++calls; });
    EXPECT_EQ(first->value, 1);
    const boost_intrusive_pool<number>::allocate_function function = [](number& item) { item.value = 42; };
    const boost_intrusive_pool<number>::item_ptr second = pool.allocate_through_function(function);
    EXPECT_EQ(second->value, 42);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(pool.allocate_through_function(&number::set_to_seven)->value, 7) << "any callable";
    EXPECT_THROW(pool.allocate_through_function(nullptr), std::bad_function_call);
    EXPECT_EQ(pool.inuse_count(), 2u);
}

TEST(boost_intrusive_pool, begins_with_its_initial_size)
{
    const boost_intrusive_pool<number> pool(10);
    EXPECT_EQ(pool.capacity(), 10u);
    EXPECT_EQ(pool.enlarge_steps_done(), 1u);
    EXPECT_TRUE(pool.empty());
    EXPECT_FALSE(pool.is_bounded());
    EXPECT_FALSE(pool.is_memory_exhausted());
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, has_no_items_before_init)
{
    boost_intrusive_pool<message> pool;
    EXPECT_EQ(message::alive, 0);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.max_size(), 0u);
    EXPECT_EQ(pool.unused_count(), 0u);
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_EQ(pool.enlarge_steps_done(), 0u);
    EXPECT_TRUE(pool.empty());
    EXPECT_FALSE(pool.is_bounded());
    EXPECT_FALSE(pool.is_limited());
    EXPECT_FALSE(pool.is_memory_exhausted());
    EXPECT_TRUE(pool.check());
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_EQ(pool.allocate_through_init(), nullptr);
    EXPECT_EQ(pool.allocate_through_function([](message&) { ADD_FAILURE() << "there is no item"; }), nullptr);
    pool.set_recycle_method(RECYCLE_METHOD_DESTROY_FUNCTION);
    pool.clear();
    EXPECT_EQ(pool.capacity(), 0u);
}

TEST(boost_intrusive_pool, can_be_initialised_after_construction)
{
    boost_intrusive_pool<message> pool;
    EXPECT_TRUE(pool.init());
    EXPECT_EQ(pool.capacity(), std::size_t{BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE});
    EXPECT_TRUE(pool.init(5, 2, 6, RECYCLE_METHOD_DESTROY_FUNCTION));
    EXPECT_EQ(pool.capacity(), 5u);
    EXPECT_TRUE(pool.is_limited());
    const auto items = take_all(pool);
    EXPECT_EQ(items.size(), 6u);
    EXPECT_TRUE(pool.init(1, 1));
    EXPECT_EQ(pool.inuse_count(), 0u) << "init starts over";
    EXPECT_EQ(items.back()->text, "as constructed") << "items in use are unchanged";
}

TEST(boost_intrusive_pool, grows_by_its_step_when_the_last_unused_item_is_allocated)
{
    for (const std::size_t step : {1u, 3u, 64u, 5000u}) {
        boost_intrusive_pool<message> pool(10, step);
        auto items = take(pool, 9);
        EXPECT_EQ(pool.enlarge_steps_done(), 1u);
        EXPECT_EQ(pool.unused_count(), 1u);
        EXPECT_FALSE(pool.empty());
        items.push_back(pool.allocate());
        EXPECT_EQ(pool.enlarge_steps_done(), 2u);
        EXPECT_EQ(pool.capacity(), 10 + step);
        EXPECT_EQ(pool.unused_count(), step);
        EXPECT_EQ(message::alive, static_cast<int>(10 + step)) << "all are constructed at once";
        EXPECT_FALSE(pool.is_memory_exhausted());
        EXPECT_TRUE(pool.check());
        items.pop_back();
        items.push_back(pool.allocate());
        EXPECT_EQ(pool.enlarge_steps_done(), 2u) << "an earlier step counts";
    }
}

TEST(boost_intrusive_pool, grows_up_to_its_maximum)
{
    boost_intrusive_pool<number> pool(4, 5, 11);
    auto items = take(pool, 4);
    EXPECT_EQ(pool.capacity(), 9u);
    while (items.size() != 9)
        items.push_back(pool.allocate());
    EXPECT_EQ(pool.capacity(), 11u);
    EXPECT_EQ(pool.unused_count(), 2u);
    EXPECT_FALSE(pool.is_memory_exhausted());
    items.push_back(pool.allocate());
    EXPECT_FALSE(pool.is_memory_exhausted());
    items.push_back(pool.allocate());
    EXPECT_TRUE(pool.is_memory_exhausted()) << "it would have grown";
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_EQ(pool.max_size(), 11u);
    EXPECT_EQ(pool.enlarge_steps_done(), 3u);
}

TEST(boost_intrusive_pool, without_initial_items_grows_in_the_first_allocate)
{
    boost_intrusive_pool<number> pool(0, 3);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.enlarge_steps_done(), 0u);
    const auto item = pool.allocate();
    EXPECT_EQ(pool.capacity(), 3u);
    EXPECT_EQ(pool.unused_count(), 2u);
}

TEST(boost_intrusive_pool, allocates_returned_and_never_used_items_in_the_order_of_the_original)
{
    boost_intrusive_pool<number> pool(4);
    auto items = take(pool, 3);
    EXPECT_EQ(items[1].get(), items[0].get() + 1) << "adjacent";
    EXPECT_EQ(items[2].get(), items[1].get() + 1);
    number* const first = items[0].get();
    number* const second = items[1].get();
    items[0].reset();
    items[1].reset();
    EXPECT_EQ((items[1] = pool.allocate()).get(), second) << "LIFO";
    EXPECT_EQ((items[0] = pool.allocate()).get(), first);
    EXPECT_EQ(pool.allocate().get(), items[2].get() + 1);
}

TEST(boost_intrusive_pool, allocates_no_item_twice)
{
    boost_intrusive_pool<number> pool(1, 7);
    for (int round = 0; round != 3; ++round) {
        std::set<number*> different;
        for (const auto& item : take(pool, 1000))
            different.insert(item.get());
        EXPECT_EQ(different.size(), 1000u);
    }
    EXPECT_EQ(pool.inuse_count(), 0u);
}

TEST(boost_intrusive_pool, with_a_maximum_returns_nullptr_when_exhausted)
{
    for (const std::size_t limit : {1u, 4u, 100u, 3000u}) {
        boost_intrusive_pool<message> pool(1, 3, limit);
        EXPECT_FALSE(pool.is_bounded());
        EXPECT_TRUE(pool.is_limited());
        EXPECT_EQ(pool.max_size(), limit);
        auto items = take_all(pool);
        EXPECT_EQ(items.size(), limit);
        EXPECT_EQ(pool.capacity(), limit);
        EXPECT_TRUE(pool.is_memory_exhausted());
        EXPECT_EQ(pool.allocate(), nullptr);
        EXPECT_EQ(pool.allocate_through_init(), nullptr);
        EXPECT_EQ(pool.allocate_through_function([](message&) { ADD_FAILURE() << "there is no item"; }), nullptr);
        EXPECT_EQ(pool.inuse_count(), limit);
        items.pop_back();
        EXPECT_NE(pool.allocate(), nullptr);
    }
}

TEST(boost_intrusive_pool, without_a_step_is_bounded)
{
    boost_intrusive_pool<number> pool(10, 0);
    EXPECT_TRUE(pool.is_bounded());
    EXPECT_TRUE(pool.is_limited());
    EXPECT_EQ(pool.max_size(), 10u);
    auto items = take(pool, 10);
    EXPECT_EQ(pool.unused_count(), 0u);
    EXPECT_FALSE(pool.is_memory_exhausted()) << "not before a failed allocation";
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_TRUE(pool.is_memory_exhausted());
    items.clear();
    EXPECT_NE(pool.allocate(), nullptr);
    EXPECT_TRUE(pool.is_memory_exhausted()) << "the flag stays set";
    EXPECT_EQ(pool.enlarge_steps_done(), 1u);
}

TEST(boost_intrusive_pool, without_initial_items_and_step_has_no_items)
{
    boost_intrusive_pool<number> pool(0, 0);
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_TRUE(pool.is_memory_exhausted());
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, without_a_bound_or_a_limit_has_no_maximum)
{
    const boost_intrusive_pool<number> pool(10, 3);
    EXPECT_FALSE(pool.is_bounded());
    EXPECT_FALSE(pool.is_limited());
    EXPECT_EQ(pool.max_size(), std::size_t{BOOST_INTRUSIVE_POOL_NO_MAX_SIZE});
}

TEST(boost_intrusive_pool, rejects_contradictory_sizes)
{
    EXPECT_THROW(boost_intrusive_pool<number>(10, 1, 9), std::invalid_argument);
    EXPECT_THROW(boost_intrusive_pool<number>(10, 0, 9), std::invalid_argument);
    boost_intrusive_pool<number> pool(3);
    EXPECT_FALSE(pool.init(10, 1, 9));
    EXPECT_EQ(pool.capacity(), 3u) << "nothing is changed";
    EXPECT_TRUE(pool.init(9, 1, 9));
}

// Recycling of items.

TEST(boost_intrusive_pool, leaves_returned_items_unchanged)
{
    boost_intrusive_pool<message> pool(1, 0);
    pool.allocate()->text = "left behind";
    EXPECT_EQ(pool.allocate()->text, "left behind");
    EXPECT_EQ(pool.allocate()->times_destroyed, 0);
}

TEST(boost_intrusive_pool, calls_destroy_on_request)
{
    boost_intrusive_pool<message> pool(1, 1, BOOST_INTRUSIVE_POOL_NO_MAX_SIZE, RECYCLE_METHOD_DESTROY_FUNCTION);
    pool.allocate()->text = "left behind";
    const auto item = pool.allocate();
    EXPECT_EQ(item->text, "");
    EXPECT_EQ(item->times_destroyed, 1);
}

TEST(boost_intrusive_pool, calls_a_recycle_function_on_request)
{
    std::vector<int> returned;
    boost_intrusive_pool<number> pool(2, 1, 2, RECYCLE_METHOD_CUSTOM_FUNCTION,
                                      [&returned](number& item) { returned.push_back(item.value); });
    {
        const auto first = pool.allocate_through_function([](number& item) { item.value = 1; });
        const auto second = pool.allocate_through_function([](number& item) { item.value = 2; });
    }
    EXPECT_EQ(returned, (std::vector<int>{2, 1}));
}

TEST(boost_intrusive_pool, lets_the_recycle_method_be_changed)
{
    boost_intrusive_pool<message> pool(1, 0);
    const auto count_of_destroys = [&pool] { return pool.allocate()->times_destroyed; }; // Returns the item, too.
    EXPECT_EQ(count_of_destroys(), 0);
    pool.set_recycle_method(RECYCLE_METHOD_DESTROY_FUNCTION);
    EXPECT_EQ(count_of_destroys(), 0);
    EXPECT_EQ(count_of_destroys(), 1);
    int calls = 0;
    const boost_intrusive_pool<message>::recycle_function function = [&calls](message&) { ++calls; };
    pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION, function);
    EXPECT_EQ(count_of_destroys(), 2);
    EXPECT_EQ(calls, 1);
    pool.clear();
    EXPECT_EQ(count_of_destroys(), 0) << "a new item";
    EXPECT_EQ(calls, 2) << "clear keeps the method";
    pool.set_recycle_method(RECYCLE_METHOD_NONE);
    EXPECT_EQ(count_of_destroys(), 0);
    EXPECT_EQ(calls, 2);
}

TEST(boost_intrusive_pool, rejects_impossible_recycle_methods)
{
    boost_intrusive_pool<number> pool(1, 0);
    EXPECT_THROW(pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION), std::invalid_argument);
    EXPECT_THROW(pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION, nullptr), std::invalid_argument);
    EXPECT_THROW(boost_intrusive_pool<number>(1, 1, 1, RECYCLE_METHOD_CUSTOM_FUNCTION), std::invalid_argument);
    EXPECT_FALSE(pool.init(1, 1, 1, RECYCLE_METHOD_CUSTOM_FUNCTION));
    EXPECT_NE(pool.allocate(), nullptr);
    EXPECT_EQ(pool.unused_count(), 1u);
}

TEST(boost_intrusive_pool, recycles_an_item_whose_function_throws)
{
    boost_intrusive_pool<number> pool(1, 1, 1, RECYCLE_METHOD_CUSTOM_FUNCTION,
                                      [](number&) { throw std::runtime_error("cannot"); });
    const test::error_recorder recorder;
    pool.allocate();
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::hook_failed});
    EXPECT_EQ(pool.unused_count(), 1u);
    EXPECT_NE(pool.allocate(), nullptr);
}

// Items of derived classes.

TEST(boost_intrusive_pool, recycles_items_through_pointers_to_their_bases)
{
    square::destroyed = 0;
    boost_intrusive_pool<square> pool(2, 0, 2, RECYCLE_METHOD_DESTROY_FUNCTION);
    boost::intrusive_ptr<shape> as_shape = pool.allocate();
    boost::intrusive_ptr<boost_intrusive_pool_item> as_item = pool.allocate();
    EXPECT_EQ(as_shape->corners(), 4);
    EXPECT_NE(dynamic_cast<square*>(as_item.get()), nullptr) << "the base has a virtual destructor";
    EXPECT_EQ(pool.unused_count(), 0u);
    as_shape.reset();
    as_item.reset();
    EXPECT_EQ(pool.unused_count(), 2u);
    EXPECT_EQ(square::destroyed, 2) << "destroy() of the dynamic type";
}

template <class Item>
void expect_that_items_return_through_their_base()
{
    boost_intrusive_pool<Item> pool(3, 2);
    {
        std::vector<boost::intrusive_ptr<boost_intrusive_pool_item>> items;
        for (int i = 0; i != 20; ++i) {
            const boost::intrusive_ptr<Item> item = pool.allocate();
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(item.get()) % alignof(Item), 0u);
            items.push_back(item);
        }
        EXPECT_EQ(pool.inuse_count(), 20u);
    }
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, recycles_items_of_any_size_and_alignment)
{
    class large : public boost_intrusive_pool_item
    {
    public:
        char bytes[200'000] = {};
    };
    class alignas(256) aligned : public boost_intrusive_pool_item
    {
    };
    struct something
    {
        virtual ~something() = default;
        char bytes[70'000] = {};
    };
    class with_two_bases : public something, public boost_intrusive_pool_item
    {
    };
    expect_that_items_return_through_their_base<large>();
    expect_that_items_return_through_their_base<aligned>();
    expect_that_items_return_through_their_base<with_two_bases>();
}

TEST(boost_intrusive_pool, recycles_items_with_a_virtual_base)
{
    struct drawn : virtual boost_intrusive_pool_item
    {
        int colour = 0;
    };
    struct named : virtual boost_intrusive_pool_item
    {
        char name[100'000] = {};
    };
    struct drawn_and_named final : drawn, named
    {
        void destroy() override { colour = 7; }
    };
    expect_that_items_return_through_their_base<drawn>();
    expect_that_items_return_through_their_base<drawn_and_named>();

    boost_intrusive_pool<drawn_and_named> pool(1, 0, 1, RECYCLE_METHOD_DESTROY_FUNCTION);
    boost::intrusive_ptr<drawn> as_drawn = pool.allocate();
    as_drawn.reset();
    EXPECT_EQ(pool.allocate()->colour, 7);
}

TEST(boost_intrusive_pool, reserves_no_member_names_of_items)
{
    class page : public boost_intrusive_pool_item
    {
    public:
        std::vector<int> references;
        int count = 0;
        int pool = 0;
        int next = 0;
    };
    boost_intrusive_pool<page> pool(1);
    EXPECT_TRUE(pool.allocate()->references.empty());
}

TEST(boost_intrusive_pool, destroys_items_in_its_destructor)
{
    square::destroyed = 0;
    {
        const boost_intrusive_pool<square> pool(5);
    }
    EXPECT_EQ(square::destroyed, 5);
}

// Defects of the original.

TEST(boost_intrusive_pool, works_after_clear)
{
    for (const std::size_t limit : {std::size_t{BOOST_INTRUSIVE_POOL_NO_MAX_SIZE}, std::size_t{10}}) {
        boost_intrusive_pool<message> pool(4, 3, limit);
        for (int round = 0; round != 3; ++round) {
            {
                const auto items = take(pool, 10);
                EXPECT_NE(items.back(), nullptr);
                EXPECT_EQ(pool.is_memory_exhausted(), limit == 10);
            }
            pool.clear();
            EXPECT_EQ(pool.capacity(), 0u);
            EXPECT_TRUE(pool.empty());
            EXPECT_FALSE(pool.is_memory_exhausted());
            EXPECT_EQ(pool.enlarge_steps_done(), 0u);
            EXPECT_EQ(message::alive, 0);
            EXPECT_TRUE(pool.check());
        }
    }
}

TEST(boost_intrusive_pool, without_a_step_has_as_many_items_after_clear_as_before)
{
    boost_intrusive_pool<number> pool(10, 0);
    EXPECT_EQ(take_all(pool).size(), 10u);
    pool.clear();
    EXPECT_FALSE(pool.is_memory_exhausted());
    EXPECT_EQ(take_all(pool).size(), 10u);
    EXPECT_EQ(pool.capacity(), 10u);
}

TEST(boost_intrusive_pool, loses_no_item_when_init_throws)
{
    boost_intrusive_pool<hesitant> pool(1, 1, 3);
    for (int i = 0; i != 10; ++i)
        EXPECT_THROW(pool.allocate_through_init(true), std::runtime_error);
    EXPECT_THROW(pool.allocate_through_function([](hesitant&) { throw 1; }), int);
    EXPECT_EQ(pool.inuse_count(), 0u);
    const auto items = take(pool, 2);
    for (int i = 0; i != 10; ++i)
        EXPECT_THROW(pool.allocate_through_init(true), std::runtime_error);
    EXPECT_NE(pool.allocate_through_init(false), nullptr);
    EXPECT_EQ(pool.capacity(), 3u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, loses_no_item_when_a_constructor_throws_while_it_grows)
{
    for (int reached = 0; reached != 5; ++reached) { // Of the five items of the second step.
        rare::room = 3 + reached;
        boost_intrusive_pool<rare> pool(3, 5);
        const auto items = take(pool, 3);
        EXPECT_NE(items.back(), nullptr) << "one item was left";
        EXPECT_TRUE(pool.is_memory_exhausted());
        EXPECT_THROW(pool.allocate(), std::runtime_error);
        EXPECT_THROW(pool.allocate_through_init(), std::runtime_error);
        EXPECT_EQ(rare::alive, 3) << "the items constructed before it were destroyed";
        EXPECT_EQ(pool.capacity(), 3u);
        EXPECT_EQ(pool.inuse_count(), 3u);
        EXPECT_TRUE(pool.check());
        rare::room = 8;
        EXPECT_NE(pool.allocate(), nullptr);
        EXPECT_EQ(pool.capacity(), 8u);
        EXPECT_FALSE(pool.is_memory_exhausted());
    }
    EXPECT_EQ(rare::alive, 0);
}

TEST(boost_intrusive_pool, is_not_constructed_if_a_constructor_throws)
{
    rare::room = 3;
    EXPECT_THROW(boost_intrusive_pool<rare>(4), std::runtime_error);
    EXPECT_EQ(rare::alive, 0);
    boost_intrusive_pool<rare> pool(2);
    EXPECT_THROW(pool.init(4), std::runtime_error);
    EXPECT_EQ(pool.capacity(), 2u) << "nothing is changed";
    EXPECT_NE(pool.allocate(), nullptr);
}

TEST(boost_intrusive_pool, leaks_nothing_when_the_heap_fails)
{
    {
        heavy::heap_fails = true;
        EXPECT_THROW(boost_intrusive_pool<heavy>(3), std::bad_alloc);
        heavy::heap_fails = false;
        boost_intrusive_pool<heavy> pool(3, 2);
        heavy::heap_fails = true;
        EXPECT_THROW(pool.init(4), std::bad_alloc);
        EXPECT_EQ(pool.capacity(), 3u);
        const auto items = take(pool, 3);
        EXPECT_NE(items.back(), nullptr);
        EXPECT_TRUE(pool.is_memory_exhausted());
        EXPECT_THROW(pool.allocate(), std::bad_alloc);
        EXPECT_EQ(pool.inuse_count(), 3u);
        EXPECT_EQ(pool.enlarge_steps_done(), 1u);
        heavy::heap_fails = false;
        EXPECT_NE(pool.allocate(), nullptr);
        EXPECT_EQ(pool.capacity(), 5u);
        EXPECT_TRUE(pool.check());
    }
    EXPECT_EQ(heavy::arrays, 0);
}

TEST(boost_intrusive_pool, frees_everything_when_any_call_of_the_heap_fails)
{
    bool has_failed = true;
    for (std::size_t call = 1; has_failed; ++call) {
        std::size_t made = 0;
        const std::size_t chunks = chunks_of_the_heap;
        calls_until_the_heap_fails = call;
        try {
            boost_intrusive_pool<message> pool(3, 2);
            std::array<boost::intrusive_ptr<message>, 40> items;
            for (auto& item : items) {
                item = pool.allocate();
                ++made;
                if (made == 20)
                    pool.clear();
            }
            EXPECT_TRUE(pool.check());
        } catch (const std::bad_alloc&) {
            EXPECT_LT(made, 40u);
        }
        has_failed = calls_until_the_heap_fails == 0;
        calls_until_the_heap_fails = 0;
        EXPECT_EQ(chunks_of_the_heap, chunks);
        EXPECT_EQ(message::alive, 0);
    }
}

TEST(boost_intrusive_pool, does_not_use_the_heap_while_it_has_free_items)
{
    boost_intrusive_pool<heavy> pool(100);
    const auto returned = pool.allocate();
    calls_until_the_heap_fails = 1;
    for (int round = 0; round != 300; ++round)
        EXPECT_NE(pool.allocate(), returned);
    EXPECT_EQ(calls_until_the_heap_fails, 1u);
    calls_until_the_heap_fails = 0;
}

// Items and their pools.

TEST(boost_intrusive_pool_item, created_by_new_is_deleted_by_the_last_pointer)
{
    {
        boost::intrusive_ptr<plain> first(new plain);
        const boost::intrusive_ptr<boost_intrusive_pool_item> second = first;
        EXPECT_EQ(first->use_count(), 2u);
        EXPECT_FALSE(first->is_in_memory_pool());
        EXPECT_EQ(first->_refcounted_item_get_pool(), nullptr);
        EXPECT_TRUE(first->check());
        first.reset();
        EXPECT_EQ(plain::alive, 1);
    }
    EXPECT_EQ(plain::alive, 0);
}

TEST(boost_intrusive_pool_item, knows_its_pool_and_reference_count)
{
    boost_intrusive_pool<number> pool(2, 0);
    const boost::intrusive_ptr<number> item = pool.allocate();
    EXPECT_TRUE(item->is_in_memory_pool());
    EXPECT_EQ(item->use_count(), 1u);
    const boost::intrusive_ptr<const number> same = item;
    EXPECT_EQ(item->use_count(), 2u);
    EXPECT_EQ(item->_refcounted_item_get_next(), nullptr);
    const boost::intrusive_ptr<memorypool::boost_intrusive_pool_iface> home = item->_refcounted_item_get_pool();
    ASSERT_NE(home, nullptr);
    EXPECT_TRUE(home->is_bounded());
    EXPECT_FALSE(home->is_memory_exhausted());
    const auto other = pool.allocate();
    EXPECT_EQ(pool.allocate(), nullptr);
    EXPECT_TRUE(home->is_memory_exhausted());
    const number& constant = *item;
    EXPECT_TRUE(constant.check());
}

TEST(boost_intrusive_pool_item, keeps_reference_count_and_pool_when_copied_moved_or_assigned_to)
{
    boost_intrusive_pool<number> pool(2);
    const auto item = pool.allocate();
    const auto second_pointer = item;
    item->value = 5;
    number copy(*item);
    const number moved(std::move(*second_pointer));
    EXPECT_EQ(copy.use_count(), 0u);
    EXPECT_FALSE(copy.is_in_memory_pool());
    EXPECT_FALSE(moved.is_in_memory_pool());
    EXPECT_EQ(copy.value, 5);
    copy.value = 6;
    *item = copy;
    EXPECT_EQ(item->value, 6);
    EXPECT_EQ(item->use_count(), 2u);
    *item = number();
    EXPECT_EQ(item->use_count(), 2u);
    EXPECT_TRUE(item->is_in_memory_pool());
    copy = *item;
    EXPECT_FALSE(copy.is_in_memory_pool());
    EXPECT_EQ(pool.inuse_count(), 1u);
    std::vector<number> by_value(3, *item); // Growth moves its elements.
    by_value.resize(100);
    EXPECT_EQ(by_value[2].use_count(), 0u);
}

TEST(boost_intrusive_pool_item, has_use_count_0_while_its_recycle_function_runs)
{
    std::size_t count = 77;
    boost_intrusive_pool<number> pool(1, 0, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [&](number& item) {
        count = item.use_count();
        const boost::intrusive_ptr<number> for_a_moment(&item); // Does not recycle it a second time.
    });
    pool.allocate();
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(pool.unused_count(), 1u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool_item, is_in_use_again_if_its_recycle_function_keeps_a_pointer)
{
    boost::intrusive_ptr<number> kept;
    boost_intrusive_pool<number> pool(1, 0, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [&](number& item) { kept = &item; });
    pool.allocate();
    EXPECT_EQ(pool.inuse_count(), 1u);
    EXPECT_EQ(kept->use_count(), 1u);
    pool.set_recycle_method(RECYCLE_METHOD_NONE);
    kept.reset();
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool_item, returns_to_the_pool_that_was_set)
{
    class own_pool : public memorypool::boost_intrusive_pool_iface
    {
    public:
        explicit own_pool(bool& ended) : is_ended_(ended) {}
        ~own_pool() override
        {
            is_ended_ = true;
            delete first_;
        }
        void recycle(boost_intrusive_pool_item* item) override
        {
            item->_refcounted_item_set_next(first_);
            first_ = item;
        }
        bool is_bounded() const override { return true; }
        bool is_memory_exhausted() const override { return false; }

    private:
        bool& is_ended_;
        boost_intrusive_pool_item* first_ = nullptr;
    };
    bool is_ended = false;
    boost::intrusive_ptr<plain> item(new plain);
    item->_refcounted_item_set_pool(new own_pool(is_ended));
    EXPECT_TRUE(item->is_in_memory_pool());
    EXPECT_FALSE(is_ended) << "the item keeps it";
    item.reset();
    EXPECT_TRUE(is_ended);
    EXPECT_EQ(plain::alive, 0);
}

TEST(boost_intrusive_pool_item, reports_a_reference_released_too_often)
{
    boost_intrusive_pool<number> pool(2);
    number* const returned = pool.allocate().get();
    const test::error_recorder recorder;
    intrusive_ptr_release(returned);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::double_free});
    {
        const boost::intrusive_ptr<number> late(returned);
    }
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{memory_pool::error_kind::double_free, memory_pool::error_kind::double_free}));
    EXPECT_NE(recorder.reports()[0].text.find("remedy: let boost::intrusive_ptr count"), std::string::npos);
    EXPECT_EQ(pool.unused_count(), 2u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool_item, reports_a_manual_recycle_while_in_use)
{
    boost_intrusive_pool<number> pool(2);
    const auto item = pool.allocate();
    const test::error_recorder recorder;
    item->_refcounted_item_get_pool()->recycle(item.get());
    item->_refcounted_item_get_pool()->recycle(nullptr);
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{memory_pool::error_kind::foreign_pointer, memory_pool::error_kind::foreign_pointer}));
    EXPECT_EQ(pool.inuse_count(), 1u);
}

// Items that outlive their pool, or its clear().

TEST(boost_intrusive_pool, keeps_all_items_after_clear_until_the_last_one_in_use_is_returned)
{
    int recycled = 0;
    boost_intrusive_pool<message> pool(4, 3, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [&](message&) { ++recycled; });
    auto items = take(pool, 2);
    pool.allocate(); // Returned at once.
    recycled = 0;
    pool.clear();
    pool.clear();
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_EQ(pool.unused_count(), 0u);
    EXPECT_EQ(pool.enlarge_steps_done(), 0u);
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(message::alive, 4);
    EXPECT_EQ(recycled, 0) << "not called for free items";
    EXPECT_EQ(items.front()->text, "as constructed");
    auto item = pool.allocate();
    EXPECT_EQ(pool.capacity(), 3u) << "the step";
    EXPECT_EQ(message::alive, 7);
    items.pop_back();
    EXPECT_EQ(recycled, 1);
    EXPECT_EQ(message::alive, 7);
    EXPECT_EQ(pool.inuse_count(), 1u);
    items.pop_back();
    EXPECT_EQ(recycled, 2);
    EXPECT_EQ(message::alive, 3);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, destroys_all_items_in_clear_if_none_is_in_use)
{
    boost_intrusive_pool<message> pool(4);
    pool.allocate();
    EXPECT_EQ(message::alive, 4);
    pool.clear();
    EXPECT_EQ(message::alive, 0);
}

TEST(boost_intrusive_pool, may_be_destroyed_before_its_items)
{
    int recycled = 0;
    std::vector<boost::intrusive_ptr<message>> items;
    {
        boost_intrusive_pool<message> pool(4, 4, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [&](message&) { ++recycled; });
        items = take(pool, 2);
    }
    EXPECT_EQ(message::alive, 4) << "no item is destroyed before the last one in use returns";
    items[0]->text = "still there";
    EXPECT_EQ(items[0]->text, "still there");
    items.pop_back();
    EXPECT_EQ(message::alive, 4);
    items.clear();
    EXPECT_EQ(message::alive, 0);
    EXPECT_EQ(recycled, 2);
}

TEST(boost_intrusive_pool, may_be_destroyed_by_its_recycle_function)
{
    auto pool = std::make_unique<boost_intrusive_pool<message>>();
    pool->init(2, 2, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [&](message&) { pool.reset(); });
    pool->allocate();
    EXPECT_EQ(pool, nullptr);
    EXPECT_EQ(message::alive, 0);
}

TEST(boost_intrusive_pool, may_be_cleared_by_constructors_and_destructors_of_its_items)
{
    struct clearing : boost_intrusive_pool_item
    {
        explicit clearing(boost_intrusive_pool<clearing>*& to_clear) : pool(to_clear) { clear(); }
        clearing() : clearing(of_all()) {}
        ~clearing() override { clear(); }
        static boost_intrusive_pool<clearing>*& of_all()
        {
            static boost_intrusive_pool<clearing>* pool = nullptr;
            return pool;
        }
        void clear() const
        {
            if (pool != nullptr)
                pool->clear();
        }
        boost_intrusive_pool<clearing>*& pool;
    };
    boost_intrusive_pool<clearing> pool(2, 2);
    clearing::of_all() = &pool;
    const auto first = pool.allocate();
    auto second = pool.allocate(); // Grows in advance.
    EXPECT_NE(second, nullptr);
    EXPECT_EQ(pool.capacity(), 0u);
    second = pool.allocate();
    EXPECT_NE(second, nullptr);
    second.reset();
    clearing::of_all() = nullptr;
}

// Items that release other items.

TEST(boost_intrusive_pool, returns_items_in_the_order_in_which_their_recycling_ends)
{
    boost_intrusive_pool<link> pool(2, 0, 0, RECYCLE_METHOD_DESTROY_FUNCTION);
    auto outer = pool.allocate();
    outer->next = pool.allocate();
    link* const inner = outer->next.get();
    link* const first = outer.get();
    outer.reset(); // Also returns the inner item.
    EXPECT_EQ(pool.unused_count(), 2u);
    const auto again = pool.allocate();
    EXPECT_EQ(again.get(), first);
    EXPECT_EQ(pool.allocate().get(), inner);
}

TEST(boost_intrusive_pool, counts_an_item_as_returned_while_its_owner_returns)
{
    std::size_t unused = 77;
    boost_intrusive_pool<link> pool(2, 0);
    pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION, [&](link& item) {
        item.next.reset();
        unused = pool.unused_count();
    });
    auto outer = pool.allocate();
    outer->next = pool.allocate();
    outer.reset();
    EXPECT_EQ(unused, 1u);
    EXPECT_TRUE(pool.empty());
}

TEST(boost_intrusive_pool, recycles_chains_of_any_length)
{
    constexpr std::size_t length = 300'000; // Recursion would overflow the stack.
    boost_intrusive_pool<link> pool(length, 1000, 0, RECYCLE_METHOD_DESTROY_FUNCTION);
    boost::intrusive_ptr<link> chain;
    for (std::size_t i = 0; i != length; ++i) {
        auto item = pool.allocate();
        item->next = std::move(chain);
        chain = std::move(item);
    }
    EXPECT_EQ(pool.inuse_count(), length);
    chain.reset();
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool_item, created_by_new_may_hold_chains_of_any_length)
{
    boost::intrusive_ptr<plain> chain;
    for (int i = 0; i != 300'000; ++i) {
        boost::intrusive_ptr<plain> item(new plain);
        item->next = std::move(chain);
        chain = std::move(item);
    }
    chain.reset();
    EXPECT_EQ(plain::alive, 0);
}

TEST(boost_intrusive_pool, can_allocate_while_an_item_is_recycled)
{
    boost::intrusive_ptr<number> successor;
    bool has_tried = false;
    boost_intrusive_pool<number> pool(1, 1);
    pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION, [&](number& item) {
        if (has_tried)
            return;
        has_tried = true;
        successor = pool.allocate();
        EXPECT_NE(successor.get(), &item) << "it has not returned yet";
    });
    pool.allocate();
    EXPECT_EQ(pool.inuse_count(), 1u);
    successor.reset();
    EXPECT_TRUE(pool.empty());
}

TEST(boost_intrusive_pool, does_not_allocate_items_under_construction)
{
    struct greedy : boost_intrusive_pool_item
    {
        static boost_intrusive_pool<greedy>*& pool()
        {
            static boost_intrusive_pool<greedy>* of_all = nullptr;
            return of_all;
        }
        greedy()
        {
            if (pool() != nullptr) {
                EXPECT_EQ(pool()->allocate(), nullptr);
            }
        }
    };
    boost_intrusive_pool<greedy> pool(1, 3);
    greedy::pool() = &pool;
    const auto first = pool.allocate();
    EXPECT_EQ(pool.capacity(), 4u);
    EXPECT_TRUE(pool.check());
    greedy::pool() = nullptr;
}

TEST(boost_intrusive_pool, detects_inconsistent_records)
{
    boost_intrusive_pool<number> pool(4);
    number* const returned = pool.allocate().get();
    EXPECT_TRUE(pool.check());
    const test::error_recorder recorder;
    intrusive_ptr_add_ref(returned); // Free items must not have references.
    EXPECT_FALSE(returned->check());
    EXPECT_FALSE(pool.check());
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{memory_pool::error_kind::buffer_overflow, memory_pool::error_kind::buffer_overflow}));
}

TEST(boost_intrusive_pool, verifies_each_item)
{
    boost_intrusive_pool<number> pool(3, 0);
    number* lower = nullptr;
    {
        const auto items = take(pool, 2);
        lower = items.front().get();
        const auto last = pool.allocate();
    } // Leaves `lower` below another item in the free list.
    EXPECT_TRUE(pool.verify());
    const auto next = lower->_refcounted_item_get_next();
    lower->_refcounted_item_set_next(lower); // A cycle.
    EXPECT_FALSE(pool.verify());
    EXPECT_TRUE(pool.check()) << "check() takes constant time, so it does not find this";
    lower->_refcounted_item_set_next(nullptr); // A truncated list.
    EXPECT_FALSE(pool.verify());
    number foreign;
    lower->_refcounted_item_set_next(&foreign);
    EXPECT_FALSE(pool.verify());
    lower->_refcounted_item_set_next(next);
    EXPECT_TRUE(pool.verify());
}

TEST(boost_intrusive_pool, has_the_macros_of_the_original)
{
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE, 64);
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_INCREASE_STEP, 64);
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_NO_MAX_SIZE, 0);
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_DEBUG_CHECKS, 0);
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS, 0);
    EXPECT_EQ(BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT, 1024);
}

TEST(boost_intrusive_pool, allows_any_number_of_pointers)
{
    boost_intrusive_pool<number> pool(1);
    const std::vector<boost::intrusive_ptr<number>> pointers(5000, pool.allocate());
    EXPECT_EQ(pointers[0]->use_count(), 5000u);
}

TEST(boost_intrusive_pool, has_a_virtual_destructor)
{
    struct derived : boost_intrusive_pool<number>
    {
        explicit derived(bool& is_destroyed) : boost_intrusive_pool<number>(3), ended(is_destroyed) {}
        ~derived() override { ended = true; }
        bool& ended;
    };
    bool is_destroyed = false;
    const std::unique_ptr<boost_intrusive_pool<number>> pool = std::make_unique<derived>(is_destroyed);
    EXPECT_TRUE((std::is_same_v<decltype(pool->init()), bool>));
    const_cast<std::unique_ptr<boost_intrusive_pool<number>>&>(pool).reset();
    EXPECT_TRUE(is_destroyed);
}

TEST(boost_intrusive_pool, calls_destroy_if_an_item_hides_it)
{
    class secretive : public boost_intrusive_pool_item
    {
    public:
        int times_destroyed = 0;

    private:
        void destroy() override { ++times_destroyed; }
    };
    boost_intrusive_pool<secretive> pool(1, 0, 0, RECYCLE_METHOD_DESTROY_FUNCTION);
    pool.allocate();
    EXPECT_EQ(pool.allocate()->times_destroyed, 1);
}

TEST(boost_intrusive_pool, is_movable_but_not_copyable)
{
    EXPECT_FALSE(std::is_copy_constructible_v<boost_intrusive_pool<number>>);
    EXPECT_FALSE(std::is_copy_assignable_v<boost_intrusive_pool<number>>);
    boost_intrusive_pool<number> pool(3);
    const auto item = pool.allocate();
    boost_intrusive_pool<number> other(std::move(pool));
    EXPECT_EQ(other.inuse_count(), 1u);
    EXPECT_EQ(pool.allocate(), nullptr) << "as before init";
    EXPECT_EQ(pool.capacity(), 0u);
    pool = std::move(other);
    EXPECT_EQ(pool.unused_count(), 2u);
}

struct hostile_item : boost_intrusive_pool_item, test::hostile<test::deleted_address>
{
    void destroy() override { value = -1; }
};

TEST(boost_intrusive_pool, uses_no_operators_of_the_items)
{
    boost_intrusive_pool<hostile_item> pool(1, 2, 0, RECYCLE_METHOD_CUSTOM_FUNCTION, [](hostile_item& item) {
        if (item.value == 3)
            throw std::runtime_error("recycle");
        item.destroy();
    });
    (void)pool.allocate_through_init(1);
    EXPECT_EQ(pool.allocate()->value, -1);
    const test::error_recorder recorder;
    (void)pool.allocate_through_function([](hostile_item& item) { item.value = 3; });
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::hook_failed});
    EXPECT_TRUE(pool.check());
    const boost::intrusive_ptr<hostile_item> single(new hostile_item);
}
} // namespace
