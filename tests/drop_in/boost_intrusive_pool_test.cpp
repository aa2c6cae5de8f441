// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <boost_intrusive_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <boost/intrusive_ptr.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
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

namespace
{
/// An item as users write it: initialised with nothing or with something, and cleaned up.
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

/// One that has neither `init` nor `destroy`.
class number : public boost_intrusive_pool_item
{
public:
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

/// Its constructor fails when there are `room` of them.
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

TEST(boost_intrusive_pool, hands_out_items_that_return_by_themselves)
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
    boost_intrusive_pool<number> pool;
    int calls = 0;
    const auto first = pool.allocate_through_function([&calls](number& item) { item.value = ++calls; });
    EXPECT_EQ(first->value, 1);
    const boost_intrusive_pool<number>::allocate_function function = [](number& item) { item.value = 42; };
    const boost_intrusive_pool<number>::item_ptr second = pool.allocate_through_function(function);
    EXPECT_EQ(second->value, 42);
    EXPECT_EQ(calls, 1);
}

TEST(boost_intrusive_pool, begins_with_what_it_was_made_for)
{
    const boost_intrusive_pool<number> pool(10);
    EXPECT_EQ(pool.capacity(), 10u);
    EXPECT_EQ(pool.enlarge_steps(), 1u);
    EXPECT_TRUE(pool.empty());
    EXPECT_FALSE(pool.is_bounded());
    EXPECT_FALSE(pool.is_memory_exhausted());
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, that_is_told_nothing_constructs_nothing_until_the_first_item)
{
    boost_intrusive_pool<message> pool;
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(message::alive, 0);
    (void)pool.allocate();
    EXPECT_EQ(pool.capacity(), std::size_t{BOOST_INTRUSIVE_POOL_INCREASE_STEP});
    EXPECT_FALSE(pool.is_bounded());
}

TEST(boost_intrusive_pool, can_be_told_later_what_it_is)
{
    boost_intrusive_pool<message> pool;
    pool.init();
    EXPECT_EQ(pool.capacity(), std::size_t{BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE});
    pool.init(5, 2, 6, RECYCLE_METHOD_DESTROY_FUNCTION);
    EXPECT_EQ(pool.capacity(), 5u);
    EXPECT_TRUE(pool.is_bounded());
    const auto items = take_all(pool);
    EXPECT_EQ(items.size(), 6u);
    pool.init(1, 1);
    EXPECT_EQ(pool.inuse_count(), 0u) << "a new beginning";
    EXPECT_EQ(items.back()->text, "as constructed") << "which takes nothing away";
}

TEST(boost_intrusive_pool, grows_by_its_step)
{
    for (const std::size_t step : {1u, 3u, 64u, 5000u}) {
        boost_intrusive_pool<number> pool(10, step);
        const auto items = take(pool, 10);
        EXPECT_EQ(pool.enlarge_steps(), 1u);
        EXPECT_EQ(pool.unused_count(), 0u);
        EXPECT_FALSE(pool.empty());
        const auto one_more = pool.allocate();
        EXPECT_EQ(pool.enlarge_steps(), 2u);
        EXPECT_EQ(pool.capacity(), 10 + step);
        EXPECT_EQ(pool.unused_count(), step - 1);
        EXPECT_TRUE(pool.check());
    }
}

TEST(boost_intrusive_pool, takes_nothing_from_the_heap_for_items_that_it_has)
{
    test::accounting_upstream upstream;
    std::pmr::memory_resource* const usual = std::pmr::set_default_resource(&upstream);
    {
        boost_intrusive_pool<number> pool(100);
        const std::size_t calls = upstream.calls();
        for (int round = 0; round != 3; ++round)
            for (const auto& item : take(pool, 100))
                EXPECT_NE(item, nullptr);
        EXPECT_EQ(upstream.calls(), calls);
    }
    std::pmr::set_default_resource(usual);
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TEST(boost_intrusive_pool, hands_no_item_out_twice)
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

TEST(boost_intrusive_pool, that_is_bounded_returns_nullptr_when_it_has_none_left)
{
    for (const std::size_t limit : {1u, 4u, 100u, 3000u}) {
        boost_intrusive_pool<message> pool(1, 3, limit);
        EXPECT_TRUE(pool.is_bounded());
        auto items = take_all(pool);
        EXPECT_EQ(items.size(), limit);
        EXPECT_EQ(pool.capacity(), limit);
        EXPECT_TRUE(pool.is_memory_exhausted());
        EXPECT_EQ(pool.allocate(), nullptr);
        EXPECT_EQ(pool.allocate_through_init(), nullptr);
        EXPECT_EQ(pool.allocate_through_function([](message&) { ADD_FAILURE() << "there is no item"; }), nullptr);
        EXPECT_EQ(pool.inuse_count(), limit);
    }
}

TEST(boost_intrusive_pool, without_a_step_does_not_grow)
{
    boost_intrusive_pool<number> pool(10, 0);
    EXPECT_TRUE(pool.is_bounded());
    EXPECT_EQ(take_all(pool).size(), 10u);
    pool.clear();
    EXPECT_EQ(take_all(pool).size(), 10u);
    EXPECT_EQ(pool.capacity(), 10u);
}

TEST(boost_intrusive_pool, refuses_sizes_that_make_no_sense)
{
    EXPECT_THROW(boost_intrusive_pool<number>(0, 0), std::invalid_argument);
    EXPECT_THROW(boost_intrusive_pool<number>(10, 1, 9), std::invalid_argument);
    EXPECT_THROW(boost_intrusive_pool<number>(10, 0, 9), std::invalid_argument);
    boost_intrusive_pool<number> pool(3);
    EXPECT_THROW(pool.init(10, 1, 9), std::invalid_argument);
    EXPECT_EQ(pool.capacity(), 3u) << "nothing is changed";
}

// What happens to items that return.

TEST(boost_intrusive_pool, leaves_items_as_they_come_back)
{
    boost_intrusive_pool<message> pool(1, 0);
    pool.allocate()->text = "left behind";
    EXPECT_EQ(pool.allocate()->text, "left behind");
    EXPECT_EQ(pool.allocate()->times_destroyed, 0);
}

TEST(boost_intrusive_pool, calls_destroy_if_that_is_asked_for)
{
    boost_intrusive_pool<message> pool(1, 1, BOOST_INTRUSIVE_POOL_NO_MAX_SIZE, RECYCLE_METHOD_DESTROY_FUNCTION);
    pool.allocate()->text = "left behind";
    const auto item = pool.allocate();
    EXPECT_EQ(item->text, "");
    EXPECT_EQ(item->times_destroyed, 1);
}

TEST(boost_intrusive_pool, calls_a_function_if_that_is_asked_for)
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

TEST(boost_intrusive_pool, can_be_told_later_what_to_do_with_items)
{
    boost_intrusive_pool<message> pool(1, 0);
    const auto count_of_destroys = [&pool] { return pool.allocate()->times_destroyed; }; // and gives it back
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
    EXPECT_EQ(calls, 2) << "clear leaves the method as it is";
    pool.set_recycle_method(RECYCLE_METHOD_NONE);
    EXPECT_EQ(count_of_destroys(), 0);
    EXPECT_EQ(calls, 2);
}

TEST(boost_intrusive_pool, refuses_to_do_what_cannot_be_done)
{
    boost_intrusive_pool<number> pool(1, 0);
    EXPECT_THROW(pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION), std::invalid_argument);
    EXPECT_THROW(pool.set_recycle_method(RECYCLE_METHOD_CUSTOM_FUNCTION, nullptr), std::invalid_argument);
    EXPECT_THROW(pool.init(1, 1, 1, RECYCLE_METHOD_CUSTOM_FUNCTION), std::invalid_argument);
    EXPECT_NE(pool.allocate(), nullptr);
    EXPECT_EQ(pool.unused_count(), 1u);
}

TEST(boost_intrusive_pool, takes_an_item_back_whose_function_throws)
{
    boost_intrusive_pool<number> pool(1, 1, 1, RECYCLE_METHOD_CUSTOM_FUNCTION,
                                      [](number&) { throw std::runtime_error("cannot"); });
    const test::error_recorder recorder;
    pool.allocate();
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error::hook_failed});
    EXPECT_EQ(pool.unused_count(), 1u);
    EXPECT_NE(pool.allocate(), nullptr);
}

// Items of derived classes.

TEST(boost_intrusive_pool, takes_items_back_through_pointers_to_their_bases)
{
    square::destroyed = 0;
    boost_intrusive_pool<square> pool(2, 0, 2, RECYCLE_METHOD_DESTROY_FUNCTION);
    boost::intrusive_ptr<shape> as_shape = pool.allocate();
    boost::intrusive_ptr<boost_intrusive_pool_item> as_item = pool.allocate();
    EXPECT_EQ(as_shape->corners(), 4);
    EXPECT_NE(dynamic_cast<square*>(as_item.get()), nullptr) << "the base has a virtual destructor";
    EXPECT_TRUE(pool.is_memory_exhausted());
    as_shape.reset();
    as_item.reset();
    EXPECT_EQ(pool.unused_count(), 2u);
    EXPECT_EQ(square::destroyed, 2) << "destroy() of the item, not of what the pointer knows";
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

TEST(boost_intrusive_pool, takes_items_of_any_size_and_alignment_back)
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

TEST(boost_intrusive_pool, takes_items_back_whose_base_is_virtual)
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

TEST(boost_intrusive_pool, leaves_the_names_of_members_to_the_item)
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

TEST(boost_intrusive_pool, destroys_items_when_it_ends)
{
    square::destroyed = 0;
    {
        const boost_intrusive_pool<square> pool(5);
    }
    EXPECT_EQ(square::destroyed, 5);
}

TEST(boost_intrusive_pool, adds_8_bytes_to_an_item_beside_its_virtual_destructor)
{
    struct with_virtual_destructor
    {
        virtual ~with_virtual_destructor() = default;
    };
    EXPECT_LE(sizeof(boost_intrusive_pool_item), sizeof(with_virtual_destructor) + 8);
}

// What the original gets wrong.

TEST(boost_intrusive_pool, works_on_after_clear)
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
            EXPECT_EQ(pool.enlarge_steps(), 0u);
            EXPECT_EQ(message::alive, 0);
            EXPECT_TRUE(pool.check());
        }
    }
}

TEST(boost_intrusive_pool, can_be_cleared_while_items_are_in_use)
{
    boost_intrusive_pool<message> pool(4, 1, 4, RECYCLE_METHOD_DESTROY_FUNCTION);
    auto items = take_all(pool);
    pool.clear();
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_EQ(message::alive, 4);
    EXPECT_EQ(items.front()->text, "as constructed");
    const auto more = take_all(pool);
    EXPECT_EQ(more.size(), 4u);
    items.clear();
    EXPECT_EQ(message::alive, 4) << "items of before do not come back, they end";
    EXPECT_EQ(pool.inuse_count(), 4u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, is_no_longer_exhausted_when_items_return)
{
    boost_intrusive_pool<number> pool(2, 1, 2);
    auto items = take_all(pool);
    EXPECT_TRUE(pool.is_memory_exhausted());
    items.pop_back();
    EXPECT_FALSE(pool.is_memory_exhausted());
    EXPECT_NE(pool.allocate(), nullptr);
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
    for (int reached = 0; reached != 5; ++reached) { // of the five items of the second step
        rare::room = 3 + reached;
        boost_intrusive_pool<rare> pool(3, 5);
        const auto items = take(pool, 3);
        EXPECT_THROW(pool.allocate(), std::runtime_error);
        EXPECT_THROW(pool.allocate_through_init(), std::runtime_error);
        EXPECT_EQ(rare::alive, 3) << "those that were made before it are gone again";
        EXPECT_EQ(pool.capacity(), 3u);
        EXPECT_EQ(pool.inuse_count(), 3u);
        EXPECT_TRUE(pool.check());
        rare::room = 8;
        EXPECT_NE(pool.allocate(), nullptr);
        EXPECT_EQ(pool.capacity(), 8u);
    }
    EXPECT_EQ(rare::alive, 0);
}

TEST(boost_intrusive_pool, is_not_made_if_a_constructor_throws)
{
    rare::room = 3;
    EXPECT_THROW(boost_intrusive_pool<rare>(4), std::runtime_error);
    EXPECT_EQ(rare::alive, 0);
    boost_intrusive_pool<rare> pool(2);
    EXPECT_THROW(pool.init(4), std::runtime_error);
    EXPECT_EQ(pool.capacity(), 2u) << "nothing is changed";
    EXPECT_NE(pool.allocate(), nullptr);
}

TEST(boost_intrusive_pool, gives_everything_back_whenever_the_heap_fails)
{
    test::accounting_upstream upstream;
    std::pmr::memory_resource* const usual = std::pmr::set_default_resource(&upstream);
    for (std::size_t call = 1;; ++call) {
        upstream.fail_at(call);
        bool has_failed = false;
        try {
            boost_intrusive_pool<message> pool(3, 2);
            const auto items = take(pool, 500);
        } catch (const std::bad_alloc&) {
            has_failed = true;
        }
        upstream.never_fail();
        EXPECT_EQ(upstream.live_bytes(), 0u);
        EXPECT_EQ(message::alive, 0);
        if (!has_failed)
            break;
    }
    std::pmr::set_default_resource(usual);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

TEST(boost_intrusive_pool, may_end_before_its_items)
{
    std::vector<boost::intrusive_ptr<message>> items;
    {
        boost_intrusive_pool<message> pool(2, 2);
        items = take(pool, 3);
    }
    EXPECT_EQ(message::alive, 3);
    items[0]->text = "still there";
    EXPECT_EQ(items[0]->text, "still there");
    items.pop_back();
    EXPECT_EQ(message::alive, 2);
    items.clear();
    EXPECT_EQ(message::alive, 0);
}

TEST(boost_intrusive_pool, finds_records_that_do_not_agree)
{
    boost_intrusive_pool<number> pool(4);
    const auto item = pool.allocate();
    EXPECT_TRUE(pool.check());
    const test::error_recorder recorder;
    const auto address = reinterpret_cast<std::uintptr_t>(item.get());
    auto* const home =
        reinterpret_cast<memory_pool::core::slab*>(address - address % memory_pool::core::client_slab_grain);
    home->is_listed = !home->is_listed;
    EXPECT_FALSE(pool.check());
    EXPECT_EQ(recorder.reports().size(), 1u);
    home->is_listed = !home->is_listed;
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool, is_moved_but_not_copied)
{
    EXPECT_FALSE(std::is_copy_constructible_v<boost_intrusive_pool<number>>);
    EXPECT_FALSE(std::is_copy_assignable_v<boost_intrusive_pool<number>>);
    boost_intrusive_pool<number> pool(3);
    const auto item = pool.allocate();
    boost_intrusive_pool<number> other(std::move(pool));
    EXPECT_EQ(other.inuse_count(), 1u);
    pool = std::move(other);
    EXPECT_EQ(pool.unused_count(), 2u);
}
} // namespace
