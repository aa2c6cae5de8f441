// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests a store of objects directly; intrusive_pool_test.cpp and others test it through pools.
#include <memory_pool/core/objects/object_store.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/policies.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;
using memory_pool::pool_options;

namespace {
/// An object with a link for the list of objects to destroy.
struct item
{
    static inline int alive = 0;
    static inline std::function<void(item&)> at_end;

    item() { ++alive; }
    ~item()
    {
        --alive;
        if (at_end)
            at_end(*this);
    }
    item(const item&) = delete;
    item& operator=(const item&) = delete;

    void* next = nullptr;
};

/// A store that constructs an object at each use or, if it `Keeps` objects, together with the blocks.
template <bool Keeps, class Policy = memory_pool::default_policy>
class store final : public core::object_store<store<Keeps, Policy>, memory_pool::basic_block_pool<Policy>>
{
    using base = core::object_store<store<Keeps, Policy>, memory_pool::basic_block_pool<Policy>>;

public:
    static constexpr bool keeps_objects = Keeps;
    static constexpr const char* kind = "store_of_test";
    static constexpr const char* shared_kind = kind;

    store(const pool_options& options, std::pmr::memory_resource* upstream)
        : base(nullptr, sizeof(item), options, upstream)
    {
    }

    item* take()
    {
        void* const block = this->blocks.allocate();
        return Keeps ? static_cast<item*>(block) : ::new (block) item;
    }

    void end(item* ended)
    {
        this->in_turn(this, ended, [this](item* object) {
            if (!Keeps)
                object->~item();
            this->blocks.deallocate(object);
        });
    }

    static void link(void* block, void* next) noexcept { static_cast<item*>(block)->next = next; }
    static void* linked(void* block) noexcept { return static_cast<item*>(block)->next; }
    static void destroy_kept(void* block) noexcept { static_cast<item*>(block)->~item(); }

private:
    void add_blocks(core::slab& home, std::size_t count, std::size_t stride) override
    {
        for (; count != 0; --count) {
            if (Keeps)
                ::new (static_cast<void*>(home.block(home.block_count(), stride))) item;
            home.extend(1);
        }
    }
};

class object_store : public testing::Test
{
protected:
    object_store()
    {
        item::alive = 0;
        item::at_end = nullptr;
    }
    ~object_store() override
    {
        item::at_end = nullptr;
        EXPECT_EQ(item::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    template <class Store>
    core::object_store_owner<Store> make(std::size_t initial_capacity = 0)
    {
        return core::make_object_store<Store>(pool_options{}.with_initial_capacity(initial_capacity), &upstream_);
    }

    test::accounting_upstream upstream_;
};

TEST_F(object_store, frees_all_memory_if_construction_fails)
{
    EXPECT_THROW((void)core::make_object_store<store<true>>({}, nullptr), std::invalid_argument);
    EXPECT_THROW((void)core::make_object_store<store<true>>(pool_options{}.with_max_capacity(0), &upstream_),
                 std::invalid_argument);
    EXPECT_EQ(upstream_.live_bytes(), 0U);
    for (std::size_t call = 1; call != 3; ++call) {
        upstream_.fail_from(call);
        EXPECT_THROW((void)make<store<true>>(100), std::bad_alloc) << call;
        EXPECT_EQ(upstream_.live_bytes(), 0U);
    }
    upstream_.never_fail();
    const auto owner = make<store<true>>(100);
    EXPECT_GE(owner->blocks.capacity(), 100U);
    EXPECT_GE(item::alive, 100);
}

TEST_F(object_store, lives_until_its_last_object_returns)
{
    auto owner = make<store<false>>();
    store<false>& pool = *owner;
    std::vector<item*> objects;
    for (int i = 0; i != 100; ++i)
        objects.push_back(pool.take());
    owner.reset();
    EXPECT_EQ(item::alive, 100);
    for (item* const each : objects) {
        EXPECT_GT(upstream_.live_bytes(), 0U);
        pool.end(each);
    }
    EXPECT_EQ(upstream_.live_bytes(), 0U);
}

TEST_F(object_store, destroys_unused_kept_objects_at_once)
{
    auto owner = make<store<true>>(100);
    store<true>& pool = *owner;
    item* const first = pool.take();
    item* const second = pool.take();
    owner.reset();
    EXPECT_EQ(item::alive, 2);
    pool.end(second);
    EXPECT_EQ(item::alive, 1);
    pool.end(first);
    EXPECT_EQ(upstream_.live_bytes(), 0U);
}

TEST_F(object_store, destroys_kept_objects_of_trimmed_slabs)
{
    const auto owner = make<store<true>>(10'000);
    const std::size_t before = upstream_.live_bytes();
    owner->end(owner->take());
    const std::size_t bytes = owner->trim();
    EXPECT_GT(bytes, 10'000 * sizeof(item));
    EXPECT_EQ(upstream_.live_bytes(), before - bytes);
    EXPECT_EQ(item::alive, 0);
    EXPECT_EQ(owner->blocks.capacity(), 0U);
}

TEST_F(object_store, can_be_abandoned_during_a_trim)
{
    auto owner = make<store<true>>(100);
    store<true>& pool = *owner;
    std::size_t calls = 0;
    item::at_end = [&](item&) {
        if (++calls != 10)
            return;
        owner.reset();
        EXPECT_GT(upstream_.live_bytes(), 0U) << "other objects are not destroyed yet";
    };
    EXPECT_GT(pool.trim(), 0U);
    EXPECT_EQ(owner, nullptr);
    EXPECT_EQ(item::alive, 0);
    EXPECT_EQ(upstream_.live_bytes(), 0U);
}

TEST_F(object_store, destroys_objects_that_release_each_other_one_by_one)
{
    const auto owner = make<store<false>>();
    std::vector<item*> objects;
    for (int i = 0; i != 1000; ++i)
        objects.push_back(owner->take());
    int depth = 0;
    item::at_end = [&](item&) {
        EXPECT_EQ(++depth, 1);
        for (int i = 0; i != 2 && !objects.empty(); ++i) {
            item* const next = objects.back();
            objects.pop_back();
            owner->end(next);
        }
        --depth;
    };
    item* const first = objects.back();
    objects.pop_back();
    owner->end(first);
    EXPECT_EQ(item::alive, 0);
    EXPECT_EQ(owner->blocks.in_use(), 0U);
}

TEST_F(object_store, reports_leaks_if_the_policy_checks_them)
{
    using fatal = store<false, memory_pool::leak_fatal_policy<>>;
    const test::error_recorder recorder;
    auto owner = make<fatal>();
    owner->end(owner->take());
    owner.reset();
    EXPECT_TRUE(recorder.reports().empty()) << "no object is in use";
    for (const bool is_silent : {true, false}) {
        fatal& pool = *make<fatal>().release();
        item* const leaks[] = {pool.take(), pool.take()};
        is_silent ? pool.abandon_silently() : pool.abandon();
        EXPECT_EQ(recorder.reports().size(), is_silent ? 0U : 1U);
        for (item* const each : leaks)
            pool.end(each);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::leak});
    EXPECT_TRUE(test::contains(recorder.reports()[0].text, "2 ")) << recorder.reports()[0].text;
}
} // namespace
