// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/handle_store.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/local_places.hpp>
#include <memory_pool/core/objects/shared_places.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/policies.hpp>

#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/overflows.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <new>
#include <set>
#include <stdexcept>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;
using memory_pool::pool_options;

namespace {
struct item : test::counted_object
{
    static inline std::function<void()> at_end;

    using counted_object::counted_object;
    ~item()
    {
        if (at_end)
            at_end();
    }
};

/// A store as in a pool, which derives from it.
template <class Blocks, class Places>
struct store_of : core::handle_store<item, Blocks, Places>
{
    using base = core::handle_store<item, Blocks, Places>;

    explicit store_of(std::pmr::memory_resource* upstream, const pool_options& options = {}) : base(options, upstream)
    {
    }
    ~store_of() { this->destroy_all_alive(); }

    using base::blocks_, base::places_, base::object_in, base::index_in, base::construct, base::construct_if,
        base::find, base::destroy_one, base::prepare_many, base::try_prepare_many, base::construct_many,
        base::destroy_many, base::destroy_all_alive, base::is_clearing, base::reserve_all;
    using typename base::handle;

    handle create(int value = 0) { return this->construct(blocks_.allocate(), value); }
    bool has_only(std::size_t alive) { return blocks_.in_use() == alive && places_.verify(alive) && blocks_.verify(); }
};

template <class Store>
class handle_store : public testing::Test
{
protected:
    handle_store()
    {
        item::alive = 0;
        item::until_throw = -1;
        item::at_end = nullptr;
    }
    ~handle_store() override
    {
        EXPECT_EQ(item::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        item::until_throw = -1;
        item::at_end = nullptr;
    }

    test::shared_accounting_upstream upstream_;
};

using counting = memory_pool::counting_policy;
using stores = testing::Types<store_of<memory_pool::basic_block_pool<counting>, core::local_places>,
                              store_of<memory_pool::basic_concurrent_block_pool<counting>, core::shared_places>>;
TYPED_TEST_SUITE(handle_store, stores, );

TYPED_TEST(handle_store, finds_an_object_until_it_is_destroyed)
{
    TypeParam store(&this->upstream_);
    const auto handle = store.create(5);
    void* const block = store.find(handle);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(store.object_in(block)->value(), 5);
    EXPECT_EQ(store.index_in(block), handle.index);
    EXPECT_TRUE(store.destroy_one(handle));
    EXPECT_EQ(item::alive, 0);
    EXPECT_EQ(store.find(handle), nullptr);
    EXPECT_FALSE(store.destroy_one(handle));
    EXPECT_FALSE(store.destroy_one({}));
    const auto next = store.create();
    EXPECT_EQ(next.index, handle.index);
    EXPECT_GT(next.generation, handle.generation);
    EXPECT_EQ(store.find(handle), nullptr);
    EXPECT_TRUE(store.has_only(1));
}

TYPED_TEST(handle_store, frees_block_and_place_when_a_constructor_throws)
{
    TypeParam store(&this->upstream_);
    item::until_throw = 0;
    EXPECT_THROW((void)store.create(), std::runtime_error);
    EXPECT_THROW((void)store.construct_if(store.blocks_.allocate(), 1), std::runtime_error);
    EXPECT_TRUE(store.construct_if(nullptr, 1).is_null());
    EXPECT_TRUE(store.has_only(0));
}

TYPED_TEST(handle_store, frees_the_block_if_there_is_no_memory_for_a_place)
{
    TypeParam store(&this->upstream_);
    void* const kept = store.blocks_.allocate(); // Otherwise, a trim would free memory for the place.
    store.blocks_.deallocate(store.blocks_.allocate());
    this->upstream_.fail_always();
    EXPECT_THROW((void)store.create(), std::bad_alloc);
    EXPECT_TRUE(store.construct_if(store.blocks_.allocate(), 1).is_null());
    EXPECT_EQ(store.blocks_.statistics().failures, 2U);
    EXPECT_EQ(store.blocks_.in_use(), 1U);
    this->upstream_.never_fail();
    EXPECT_NE(store.find(store.construct(kept, 1)), nullptr);
    EXPECT_TRUE(store.has_only(1));
}

TYPED_TEST(handle_store, constructs_all_objects_of_a_bulk_or_none)
{
    TypeParam store(&this->upstream_);
    std::vector<typename TypeParam::handle> handles(200);
    item::until_throw = 150;
    store.prepare_many(handles.data(), handles.size());
    EXPECT_EQ(store.find(handles[0]), nullptr) << "not alive yet";
    EXPECT_THROW(store.construct_many(handles.data(), handles.size(), 3), std::runtime_error);
    EXPECT_EQ(handles, std::vector<typename TypeParam::handle>(200));
    EXPECT_EQ(item::alive, 0);
    EXPECT_TRUE(store.has_only(0));
    item::until_throw = -1;
    store.prepare_many(handles.data(), handles.size());
    store.construct_many(handles.data(), handles.size(), 3);
    std::set<void*> objects;
    for (const auto each : handles)
        objects.insert(store.find(each));
    EXPECT_EQ(objects.size(), 200U);
    EXPECT_EQ(objects.count(nullptr), 0U);
    EXPECT_TRUE(store.has_only(200));
}

TYPED_TEST(handle_store, rejects_a_bulk_beyond_the_limit)
{
    TypeParam store(&this->upstream_, pool_options{}.with_max_capacity(100));
    EXPECT_THROW(store.reserve_all(101), memory_pool::pool_exhausted);
    std::vector<typename TypeParam::handle> handles(150);
    EXPECT_THROW(store.prepare_many(handles.data(), 101), memory_pool::pool_exhausted);
    EXPECT_TRUE(store.has_only(0));
    EXPECT_EQ(store.try_prepare_many(handles.data(), 150), 100U);
    store.construct_many(handles.data(), 100, 0);
    EXPECT_EQ(store.try_prepare_many(handles.data() + 100, 50), 0U);
    handles[120] = handles[0];
    EXPECT_EQ(store.destroy_many(handles.data(), 150), 100U) << "ignores null and duplicate handles";
    EXPECT_TRUE(store.has_only(0));
}

TYPED_TEST(handle_store, destroys_objects_that_destructors_create)
{
    TypeParam store(&this->upstream_);
    for (int i = 0; i != 10; ++i)
        (void)store.create();
    const auto last = store.create();
    int to_make = 20;
    std::size_t destroyed = 0;
    item::at_end = [&] {
        EXPECT_TRUE(store.is_clearing());
        if (to_make-- > 0)
            (void)store.create();
        destroyed += store.destroy_one(last) ? 1U : 0U;
        store.destroy_all_alive();
    };
    store.destroy_all_alive();
    EXPECT_EQ(item::alive, 0);
    EXPECT_LE(to_make, 0);
    EXPECT_EQ(destroyed, 1U) << "its handle is stale";
    EXPECT_FALSE(store.is_clearing());
    EXPECT_TRUE(store.has_only(0));
    item::at_end = nullptr;
}

TYPED_TEST(handle_store, reserves_places_and_blocks)
{
    TypeParam store(&this->upstream_, pool_options{}.with_initial_capacity(1000));
    EXPECT_GE(store.places_.capacity(), 1000U);
    EXPECT_GE(store.blocks_.capacity(), 1000U);
    std::vector<typename TypeParam::handle> handles(1000);
    for (auto& each : handles)
        each = store.create();
    EXPECT_TRUE(store.has_only(1000));
}

TEST(checked_handle_store, reports_foreign_handles_and_buffer_overflows)
{
    using store_type = store_of<memory_pool::basic_block_pool<memory_pool::checking_policy>, core::local_places>;
    const test::error_recorder recorder;
    item::at_end = nullptr;
    store_type store(std::pmr::new_delete_resource());
    store_type other(std::pmr::new_delete_resource());
    const auto mine = store.create();
    const auto foreign = other.create();
    EXPECT_EQ(store.find(foreign), nullptr);
    EXPECT_FALSE(store.destroy_one(foreign));
    EXPECT_EQ(store.find({}), nullptr);
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::foreign_pointer));
    test::write_behind(store.find(mine), sizeof(item));
    EXPECT_TRUE(store.destroy_one(mine)) << "destroyed despite the overflow";
    EXPECT_EQ(recorder.kinds().back(), error_kind::buffer_overflow);
    EXPECT_TRUE(store.has_only(0));
}
} // namespace
