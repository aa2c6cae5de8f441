// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the stores of shared_pool and recycling_shared_pool without these pools.
#include <memory_pool/core/objects/shared_ptr_store.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/objects/object_store.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
/// Owns the next item of a chain, if any.
struct item : test::counted_object
{
    explicit item(int value = 0, std::shared_ptr<item> next_item = nullptr)
        : counted_object(value), next(std::move(next_item))
    {
    }

    std::shared_ptr<item> next;
    int state = 0;
};

struct alignas(64) aligned_item
{
    char bytes[65] = {};
};

template <class Blocks>
class shared_ptr_store : public testing::Test
{
protected:
    using constructing = core::constructing_shared_store<item, Blocks>;
    using recycling = core::recycling_shared_store<item, Blocks>;

    shared_ptr_store()
    {
        item::alive = 0;
        item::until_throw = -1;
    }
    ~shared_ptr_store() override
    {
        item::until_throw = -1;
        EXPECT_EQ(item::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    auto make_constructing() { return core::make_object_store<constructing>({}, &upstream_); }
    auto make_recycling(const core::recycle_action<item>& reset)
    {
        return core::make_object_store<recycling>({}, &upstream_, reset);
    }

    test::shared_accounting_upstream upstream_;
};

using blocks = testing::Types<memory_pool::block_pool, memory_pool::concurrent_block_pool>;
TYPED_TEST_SUITE(shared_ptr_store, blocks, );

TYPED_TEST(shared_ptr_store, keeps_the_block_until_the_last_weak_ptr_is_gone)
{
    const auto store = this->make_constructing();
    std::shared_ptr<item> object = store->make_in(store->blocks.allocate(), 7);
    EXPECT_EQ(object->value(), 7);
    std::weak_ptr<item> weak = object;
    std::shared_ptr<item> other = std::move(object);
    EXPECT_EQ(weak.lock(), other);
    other.reset();
    EXPECT_EQ(item::alive, 0);
    EXPECT_TRUE(weak.expired());
    EXPECT_EQ(store->blocks.in_use(), 1U);
    weak.reset();
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TYPED_TEST(shared_ptr_store, keeps_object_and_control_block_in_one_block)
{
    const auto store = this->make_constructing();
    const auto aligned =
        core::make_object_store<core::constructing_shared_store<aligned_item, TypeParam>>({}, &this->upstream_);
    void* const block = store->blocks.allocate();
    const std::size_t calls = this->upstream_.calls();
    const std::shared_ptr<item> object = store->make_in(block);
    EXPECT_EQ(this->upstream_.calls(), calls);
    EXPECT_GT(static_cast<void*>(object.get()), block);
    EXPECT_LE(static_cast<void*>(object.get() + 1),
              static_cast<void*>(static_cast<char*>(block) + store->blocks.block_size()));
    const std::shared_ptr<aligned_item> first = aligned->make_in(aligned->blocks.allocate());
    const std::shared_ptr<aligned_item> second = aligned->make_in(aligned->blocks.allocate());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.get()) % 64, 0U);
}

TYPED_TEST(shared_ptr_store, frees_the_block_when_a_constructor_or_init_throws)
{
    const auto store = this->make_constructing();
    item::until_throw = 0;
    EXPECT_THROW((void)store->make_in(store->blocks.allocate()), std::runtime_error);
    EXPECT_EQ(store->blocks.in_use(), 0U);
    item::until_throw = -1;
    const auto kept = this->make_recycling(memory_pool::recycle::nothing);
    const auto init = [](item& target) {
        target.state = 3;
        throw std::runtime_error("init");
    };
    EXPECT_THROW((void)kept->hand_out(kept->blocks.allocate(), init), std::runtime_error);
    EXPECT_EQ(kept->blocks.in_use(), 0U);
    EXPECT_EQ(kept->hand_out(kept->blocks.allocate(), [](item&) {})->state, 3) << "keeps the state from init";
}

TYPED_TEST(shared_ptr_store, outlives_its_pool_until_the_last_pointer_is_gone)
{
    auto store = this->make_constructing();
    std::shared_ptr<item> object = store->make_in(store->blocks.allocate(), 7);
    std::weak_ptr<item> weak = store->make_in(store->blocks.allocate(), 8);
    store.reset();
    EXPECT_EQ(item::alive, 1);
    weak.reset();
    EXPECT_GT(this->upstream_.live_bytes(), 0U);
    EXPECT_EQ(object->value(), 7);
    object.reset();
    EXPECT_EQ(this->upstream_.live_bytes(), 0U);
}

TYPED_TEST(shared_ptr_store, destroys_a_long_chain_without_recursion)
{
    const auto store = this->make_constructing();
    std::shared_ptr<item> first;
    std::weak_ptr<item> middle;
    for (int i = 0; i != 100'000; ++i) {
        first = store->make_in(store->blocks.allocate(), i, std::move(first));
        if (i == 50'000)
            middle = first;
    }
    first.reset();
    EXPECT_EQ(item::alive, 0);
    EXPECT_EQ(store->blocks.in_use(), 1U) << "the weak_ptr keeps its block";
    EXPECT_EQ(middle.lock(), nullptr);
    middle.reset();
    EXPECT_EQ(store->blocks.in_use(), 0U);
}

TYPED_TEST(shared_ptr_store, resets_objects_when_the_last_shared_ptr_is_gone)
{
    const test::error_recorder recorder;
    auto store = this->make_recycling([](item& target) { target.state = 5; });
    std::shared_ptr<item> object = store->hand_out(store->blocks.allocate(), [](item& target) { target.state = 1; });
    const int made = item::alive;
    item* const address = object.get();
    std::weak_ptr<item> weak = object;
    EXPECT_EQ(object->state, 1);
    object.reset();
    EXPECT_EQ(address->state, 5);
    EXPECT_EQ(store->blocks.in_use(), 1U);
    weak.reset();
    EXPECT_EQ(store->blocks.in_use(), 0U);
    store->set_reset([](item&) { throw std::runtime_error("reset"); });
    object = store->hand_out(store->blocks.allocate(), [](item&) {});
    EXPECT_EQ(object.get(), address);
    EXPECT_EQ(object->state, 5);
    EXPECT_EQ(item::alive, made);
    object.reset();
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::hook_failed});
    EXPECT_EQ(store->blocks.in_use(), 0U);
    object = store->hand_out(store->blocks.allocate(), [](item&) {});
    store->set_reset(memory_pool::recycle::nothing);
    store.reset();
    EXPECT_EQ(item::alive, 1);
}
} // namespace
