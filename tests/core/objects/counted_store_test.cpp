// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the stores without pointers and pools; intrusive_pool_test.cpp and recycling_pool_test.cpp test the rest.
#include <memory_pool/core/objects/counted_store.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/counted_object.hpp>
#include <memory_pool/core/objects/object_store.hpp>
#include <memory_pool/core/objects/reference_count.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <type_traits>

namespace core = memory_pool::detail::core;
using core::object_access;
using memory_pool::error_kind;

namespace {
using plain = core::plain_reference_count<std::uint32_t>;
using atomic = core::atomic_reference_count<std::uint32_t>;

/// An element of a chain: its destructor drops its reference to the next one.
template <class Count>
struct item : test::counted_object, core::counted_object<Count>
{
    explicit item(int value = 0, item* next_item = nullptr) : test::counted_object(value), next(next_item) {}
    ~item()
    {
        if (next != nullptr)
            object_access::release(*next);
    }

    item* next;
    int state = 0;
};

/// Has a virtual base: static_cast cannot convert a pointer to the base back.
struct item_with_virtual_base : test::counted_object, virtual core::counted_object<plain>
{
};

template <class Count>
auto references(const core::counted_object<Count>& of)
{
    return object_access::count(of).read();
}

template <class Count>
class counted_store : public testing::Test
{
protected:
    using item_type = item<Count>;
    using blocks =
        std::conditional_t<std::is_same_v<Count, plain>, memory_pool::block_pool, memory_pool::concurrent_block_pool>;
    using constructing = core::constructing_store<item_type, blocks>;
    using recycling = core::recycling_store<item_type, blocks>;

    counted_store()
    {
        item_type::alive = 0;
        item_type::until_throw = -1;
    }
    ~counted_store() override
    {
        item_type::until_throw = -1;
        EXPECT_EQ(item_type::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0U);
    }

    auto make_constructing() { return core::make_object_store<constructing>({}, &upstream_); }
    auto make_recycling(const core::recycle_action<item_type>& reset)
    {
        return core::make_object_store<recycling>({}, &upstream_, reset);
    }

    test::shared_accounting_upstream upstream_;
};

using counts = testing::Types<plain, atomic>;
TYPED_TEST_SUITE(counted_store, counts, );

TYPED_TEST(counted_store, destroys_an_object_when_its_last_reference_is_gone)
{
    const auto store = this->make_constructing();
    auto* const object = store->make_in(store->blocks.allocate(), 7);
    EXPECT_EQ(object->value(), 7);
    EXPECT_EQ(references(*object), 1U);
    EXPECT_EQ(&object_access::slab_of(*object).listener(), store.get());
    object_access::count(*object).add();
    object_access::release(*object);
    EXPECT_EQ(TestFixture::item_type::alive, 1);
    object_access::release(*object);
    EXPECT_EQ(TestFixture::item_type::alive, 0);
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TYPED_TEST(counted_store, frees_the_block_when_a_constructor_throws)
{
    const auto store = this->make_constructing();
    TestFixture::item_type::until_throw = 0;
    EXPECT_THROW((void)store->make_in(store->blocks.allocate(), 7), std::runtime_error);
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TYPED_TEST(counted_store, destroys_a_long_chain_without_recursion)
{
    auto store = this->make_constructing();
    typename TestFixture::item_type* first = nullptr;
    for (int i = 0; i != 100'000; ++i)
        first = store->make_in(store->blocks.allocate(), i, first);
    store.reset(); // The chain outlives the owner of the store.
    EXPECT_EQ(TestFixture::item_type::alive, 100'000);
    object_access::release(*first);
}

TYPED_TEST(counted_store, recycles_an_object_with_its_state)
{
    const auto store = this->make_recycling(memory_pool::recycle::nothing);
    auto* const object = store->hand_out(store->blocks.allocate(), [](auto& target) { target.state = 1; });
    const int made = TestFixture::item_type::alive;
    EXPECT_GE(made, 1);
    EXPECT_EQ(references(*object), 1U);
    object_access::release(*object);
    EXPECT_EQ(store->blocks.in_use(), 0U);
    auto* const again = store->hand_out(store->blocks.allocate(), [](auto& target) { target.state *= 10; });
    EXPECT_EQ(again, object);
    EXPECT_EQ(again->state, 10);
    EXPECT_EQ(TestFixture::item_type::alive, made);
    object_access::release(*again);
}

TYPED_TEST(counted_store, resets_returned_objects_with_the_current_action)
{
    using stored_type = typename TestFixture::item_type;
    const test::error_recorder recorder;
    const auto store = this->make_recycling([](stored_type& target) { target.state = 5; });
    auto* const object = store->hand_out(store->blocks.allocate(), [](stored_type& target) { target.state = 1; });
    object_access::count(*object).add();
    object_access::release(*object);
    EXPECT_EQ(object->state, 1);
    object_access::count(*object).add();
    object_access::release(*object);
    object_access::release(*object);
    const auto state_next = [&store] {
        int state = 0;
        object_access::release(
            *store->hand_out(store->blocks.allocate(), [&state](stored_type& target) { state = target.state; }));
        return state;
    };
    EXPECT_EQ(state_next(), 5);
    store->set_reset([](stored_type& target) {
        target.state = 6;
        throw std::runtime_error("reset");
    });
    EXPECT_EQ(state_next(), 5);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::hook_failed});
    store->set_reset(memory_pool::recycle::nothing);
    EXPECT_EQ(state_next(), 6);
    EXPECT_EQ(state_next(), 6);
    EXPECT_EQ(recorder.reports().size(), 1U);
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TYPED_TEST(counted_store, keeps_an_object_that_a_callback_still_references)
{
    using stored_type = typename TestFixture::item_type;
    stored_type* kept = nullptr;
    bool keeps = true;
    const auto keep = [&](stored_type& target) {
        if (!keeps)
            return;
        object_access::count(target).add();
        kept = &target;
    };
    const auto store = this->make_recycling(keep);
    object_access::release(*store->hand_out(store->blocks.allocate(), [](stored_type&) {}));
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(store->blocks.in_use(), 1U);
    EXPECT_EQ(references(*kept), 1U);
    keeps = false;
    object_access::release(*kept);
    EXPECT_EQ(store->blocks.in_use(), 0U);

    for (const bool init_keeps : {false, true}) {
        keeps = init_keeps;
        const auto init = [&](stored_type& target) {
            keep(target);
            throw std::runtime_error("init");
        };
        EXPECT_THROW((void)store->hand_out(store->blocks.allocate(), init), std::runtime_error);
        EXPECT_EQ(store->blocks.in_use(), init_keeps ? 1U : 0U);
    }
    keeps = false;
    object_access::release(*kept);
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TEST(constructing_store, finds_objects_whose_base_is_virtual)
{
    const int alive = item_with_virtual_base::alive;
    const auto store =
        core::make_object_store<core::constructing_store<item_with_virtual_base, memory_pool::block_pool>>(
            {}, std::pmr::new_delete_resource());
    for (int i = 0; i != 3; ++i)
        (void)store->make_in(store->blocks.allocate());
    auto* const object = store->make_in(store->blocks.allocate());
    EXPECT_EQ(item_with_virtual_base::alive, alive + 4);
    const core::counted_object<plain>& part = *object;
    EXPECT_NE(static_cast<const void*>(&part), object);
    object_access::release(part);
    EXPECT_EQ(item_with_virtual_base::alive, alive + 3);
    EXPECT_EQ(store->blocks.in_use(), 3U);
    store->blocks.for_each([](void* block) { object_access::release(*static_cast<item_with_virtual_base*>(block)); });
    EXPECT_EQ(item_with_virtual_base::alive, alive);
}
} // namespace
