// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/no_allocation_scope.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {
using memory_pool::allocating;
using memory_pool::allocation_scope;
using memory_pool::no_allocation_scope;

struct voice
{
    std::array<char, 100> samples{};
};

/// Returns: the number of allocations of `action`.
template <class Action>
std::size_t allocations_of(Action&& action)
{
    const no_allocation_scope guard("test", allocating::counted);
    action();
    return guard.allocations();
}

MEMORY_POOL_NOINLINE void grow(memory_pool::object_pool<voice>& pool)
{
    pool.reserve(pool.capacity() + 1);
}

TEST(no_allocation_scope, counts_a_pool_that_grows)
{
    memory_pool::object_pool<voice> pool;
    const no_allocation_scope guard("test", allocating::counted);
    EXPECT_EQ(guard.allocations(), 0U);
    voice* const first = pool.create();
    EXPECT_GE(guard.allocations(), 1U);
    EXPECT_GE(guard.bytes(), sizeof(voice));
    pool.destroy(first);
}

TEST(no_allocation_scope, counts_nothing_while_a_pool_has_free_blocks)
{
    memory_pool::object_pool<voice> pool;
    pool.reserve(100);
    EXPECT_EQ(allocations_of([&] {
                  std::array<voice*, 100> all{};
                  for (voice*& each : all)
                      each = pool.create();
                  for (voice* const each : all)
                      pool.destroy(each);
              }),
              0U);
}

TEST(no_allocation_scope, counts_upstream_allocations_of_a_constructor)
{
    EXPECT_EQ(allocations_of([] { const memory_pool::shared_pool<voice> pool; }), 1U);
}

TEST(no_allocation_scope, counts_the_tables_of_handle_pools)
{
    memory_pool::handle_pool<voice> pool;
    EXPECT_GE(allocations_of([&] { (void)pool.create(); }), 2U) << "the slab and the table of handles";
    EXPECT_EQ(allocations_of([&] { (void)pool.create(); }), 0U);
}

TEST(no_allocation_scope, counts_shared_pools)
{
    memory_pool::concurrent_object_pool<voice> pool;
    voice* first = nullptr;
    EXPECT_GE(allocations_of([&] { first = pool.create(); }), 1U);
    EXPECT_EQ(allocations_of([&] { pool.destroy(first); }), 0U);
    EXPECT_EQ(allocations_of([&] { first = pool.create(); }), 0U);
    pool.destroy(first);
}

/// Expects that after `reserve_for_thread`, a thread can use blocks of a reserved pool without an allocation.
template <class Pool, class Use>
void expect_that_a_thread_can_reserve(Pool& pool, Use&& use)
{
    pool.reserve(1'500);
    use(1); // Creates the cache of this thread, which stays.
    for (const bool is_trimmed : {false, true})
        std::thread([&] {
            if (is_trimmed)
                pool.trim();
            pool.reserve(1'500);
            pool.reserve_for_thread();
            EXPECT_EQ(allocations_of([&] { use(900); }), 0U);
        }).join();
}

TEST(no_allocation_scope, counts_nothing_in_a_thread_that_has_reserved_its_magazines)
{
    const auto create_and_destroy = [](auto& pool) {
        return [&pool](int count) {
            std::array<decltype(pool.create()), 900> all{};
            for (int i = 0; i != count; ++i)
                all[static_cast<std::size_t>(i)] = pool.create();
            for (int i = 0; i != count; ++i)
                pool.destroy(all[static_cast<std::size_t>(i)]);
        };
    };
    memory_pool::concurrent_object_pool<voice> objects;
    expect_that_a_thread_can_reserve(objects, create_and_destroy(objects));
    memory_pool::concurrent_handle_pool<voice> handles;
    expect_that_a_thread_can_reserve(handles, create_and_destroy(handles));

    memory_pool::concurrent_block_pool blocks(64);
    expect_that_a_thread_can_reserve(blocks, [&](int count) {
        std::array<void*, 900> all{};
        blocks.allocate_bulk(all.data(), static_cast<std::size_t>(count));
        blocks.deallocate_bulk(all.data(), static_cast<std::size_t>(count));
    });
    memory_pool::shared_pool<voice> shared;
    expect_that_a_thread_can_reserve(shared, [&](int count) {
        std::array<std::shared_ptr<voice>, 900> all{};
        for (int i = 0; i != count; ++i)
            all[static_cast<std::size_t>(i)] = shared.make();
    });
}

TEST(no_allocation_scope, counts_nothing_after_a_trim_and_another_reserve)
{
    memory_pool::concurrent_object_pool<voice> pool;
    pool.reserve(100'000);
    pool.reserve_for_thread();
    pool.trim();
    pool.reserve(100);
    pool.reserve_for_thread();
    voice* object = nullptr;
    EXPECT_EQ(allocations_of([&] { object = pool.create(); }), 0U);
    pool.destroy(object);
}

TEST(no_allocation_scope, counts_nothing_in_an_unshared_pool_with_reserved_blocks)
{
    memory_pool::object_pool<voice> pool;
    pool.reserve(10);
    EXPECT_EQ(allocations_of([&] {
                  pool.reserve_for_thread();
                  pool.destroy(pool.create());
              }),
              0U);
}

TEST(no_allocation_scope, counts_arenas)
{
    memory_pool::unsynchronized_arena_resource arena;
    (void)arena.allocate(64);
    EXPECT_EQ(allocations_of([&] { (void)arena.allocate(64); }), 0U);
    EXPECT_EQ(allocations_of([&] { (void)arena.allocate(std::size_t{1} << 24U); }), 1U) << "a separate block";
    EXPECT_EQ(allocations_of([&] { arena.release(); }), 0U);
}

TEST(no_allocation_scope, counts_pool_resources)
{
    memory_pool::unsynchronized_pool_resource pools;
    EXPECT_GE(allocations_of([&] { pools.deallocate(pools.allocate(64), 64); }), 1U);
    EXPECT_EQ(allocations_of([&] { pools.deallocate(pools.allocate(64), 64); }), 0U);
}

TEST(no_allocation_scope, counts_upstream_allocations_of_a_view_of_a_pool)
{
    memory_pool::block_pool pool(64);
    memory_pool::block_resource<memory_pool::block_pool> view(pool);
    pool.reserve(1);
    EXPECT_EQ(allocations_of([&] { view.deallocate(view.allocate(64), 64); }), 0U);
    EXPECT_EQ(allocations_of([&] { view.deallocate(view.allocate(65), 65); }), 1U);
}

TEST(no_allocation_scope, counts_once_if_upstream_is_a_pool)
{
    memory_pool::block_pool outer(std::size_t{64} * 1024);
    memory_pool::block_resource<memory_pool::block_pool> upstream(outer);
    memory_pool::block_pool pool(64, {}, &upstream);
    const std::size_t calls = allocations_of([&] { pool.reserve(1); });
    EXPECT_GE(calls, 1U);
    test::accounting_upstream counted;
    memory_pool::block_pool equal_pool(64, {}, &counted);
    equal_pool.reserve(1);
    EXPECT_EQ(calls, counted.calls()) << "the allocations of the inner scope";
}

TEST(no_allocation_scope, counts_and_reports_nothing_if_upstream_fails)
{
    std::pmr::memory_resource* const none = std::pmr::null_memory_resource();
    memory_pool::block_pool pool(64, {}, none);
    memory_pool::concurrent_block_pool shared(64, {}, none);
    memory_pool::concurrent_handle_pool<voice> handles({}, none);
    memory_pool::unsynchronized_arena_resource arena({}, none);
    memory_pool::unsynchronized_pool_resource pools({}, none);
    memory_pool::block_pool other(64);
    const test::error_recorder recorder;
    testing::internal::CaptureStderr();
    {
        const no_allocation_scope guard("test", allocating::fatal);
        EXPECT_THROW(pool.reserve(1), std::bad_alloc);
        EXPECT_EQ(pool.try_allocate(), nullptr);
        EXPECT_EQ(shared.try_allocate(), nullptr);
        EXPECT_THROW((void)handles.create(), std::bad_alloc);
        EXPECT_THROW((void)arena.allocate(64), std::bad_alloc);
        EXPECT_THROW((void)pools.allocate(64), std::bad_alloc);
        EXPECT_THROW((void)pools.allocate(1'000'000), std::bad_alloc);
        EXPECT_EQ(guard.allocations(), 0U);
        EXPECT_EQ(guard.bytes(), 0U);
        EXPECT_EQ(recorder.reports().size(), 0U);
        other.reserve(1);
        EXPECT_GE(guard.allocations(), 1U) << "the scope still applies";
    }
    (void)testing::internal::GetCapturedStderr();
}

TEST(no_allocation_scope, counts_in_the_innermost_scope)
{
    memory_pool::object_pool<voice> pool;
    const no_allocation_scope outer("outer", allocating::counted);
    {
        const no_allocation_scope inner("inner", allocating::counted);
        grow(pool);
        EXPECT_GE(inner.allocations(), 1U);
    }
    EXPECT_EQ(outer.allocations(), 0U);
    grow(pool);
    EXPECT_GE(outer.allocations(), 1U);
}

TEST(no_allocation_scope, allows_allocations_in_an_allocation_scope)
{
    memory_pool::object_pool<voice> pool;
    const no_allocation_scope guard("test", allocating::counted);
    {
        const allocation_scope allowed;
        grow(pool);
    }
    EXPECT_EQ(guard.allocations(), 0U);
    grow(pool);
    EXPECT_GE(guard.allocations(), 1U);
}

TEST(no_allocation_scope, applies_to_one_thread)
{
    memory_pool::concurrent_object_pool<voice> pool;
    const no_allocation_scope guard("test", allocating::counted);
    std::size_t of_other = 0;
    {
        const allocation_scope allowed; // std::thread allocates.
        std::thread([&] {
            pool.reserve(1'000);
            const no_allocation_scope others("others", allocating::counted);
            pool.reserve(2'000);
            of_other = others.allocations();
        }).join();
    }
    EXPECT_EQ(guard.allocations(), 0U);
    EXPECT_GE(of_other, 1U);
}

TEST(no_allocation_scope, reports_each_call_stack_once)
{
    memory_pool::pool_options options;
    options.name = "voices";
    std::size_t allocations = 0;
    testing::internal::CaptureStderr();
    for (int i = 0; i != 3; ++i) {
        memory_pool::object_pool<voice> pool(options);
        const no_allocation_scope guard("audio callback");
        grow(pool);
        allocations += guard.allocations();
    }
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("memory_pool: forbidden allocation: "), 0U) << text;
    const std::string line = "pool 'voices', in no_allocation_scope 'audio callback'\n  remedy: ";
    std::size_t reports = 0;
    for (std::size_t at = text.find(line); at != std::string::npos; at = text.find(line, at + 1))
        ++reports;
#if MEMORY_POOL_OS_HAS_CALL_STACKS
    EXPECT_EQ(reports, 1U) << text;
    EXPECT_GE(allocations, 3U);
    EXPECT_NE(text.find("\n  called by:\n    "), std::string::npos) << text;
#else
    EXPECT_EQ(reports, 1U) << text;
#endif
}

TEST(no_allocation_scope, prints_nothing_if_allocations_are_only_counted)
{
    memory_pool::object_pool<voice> pool;
    testing::internal::CaptureStderr();
    EXPECT_GE(allocations_of([&] { pool.reserve(1); }), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(no_allocation_scope, calls_the_error_handler_each_time_if_allocations_are_fatal)
{
    memory_pool::object_pool<voice> pool;
    test::error_recorder recorder;
    testing::internal::CaptureStderr();
    {
        const no_allocation_scope guard(nullptr, allocating::fatal);
        for (int i = 0; i != 2; ++i)
            grow(pool);
        EXPECT_EQ(guard.allocations(), recorder.reports().size());
    }
    (void)testing::internal::GetCapturedStderr();
    ASSERT_GE(recorder.reports().size(), 2U);
    EXPECT_EQ(recorder.reports()[0].kind, memory_pool::error_kind::forbidden_allocation);
    EXPECT_GE(recorder.reports()[0].block_size, sizeof(voice));
    EXPECT_NE(recorder.reports()[0].text.find("in no_allocation_scope 'unnamed'"), std::string::npos);
    EXPECT_GE(pool.capacity(), 1U) << "the allocation was not prevented";
}

TEST(no_allocation_scope, reports_the_last_allocations_of_a_long_operation_together)
{
    memory_pool::concurrent_handle_pool<char> pool;
    const test::error_recorder recorder;
    const no_allocation_scope guard("test", allocating::fatal);
    pool.reserve(1'000'000);
    EXPECT_GT(guard.allocations(), recorder.reports().size());
    std::size_t reported = 0;
    for (const auto& each : recorder.reports())
        reported += each.block_size;
    EXPECT_EQ(reported, guard.bytes());
}

TEST(no_allocation_scope, lets_an_error_handler_allocate)
{
    memory_pool::object_pool<voice> pool;
    memory_pool::object_pool<voice> of_handler;
    test::error_recorder recorder;
    recorder.handle_by([&] { grow(of_handler); });
    testing::internal::CaptureStderr();
    {
        const no_allocation_scope guard("test", allocating::fatal);
        grow(pool);
        EXPECT_EQ(guard.allocations(), recorder.reports().size());
    }
    (void)testing::internal::GetCapturedStderr();
    EXPECT_GE(of_handler.capacity(), 1U);
}

/// Installs an error handler that calls `use`, not recursively, in a scope in which `use` allocates.
template <class Use>
void use_inside_and_outside_of_a_handler(Use&& use)
{
    test::error_recorder recorder;
    bool is_in_handler = false;
    recorder.handle_by([&] {
        if (std::exchange(is_in_handler, true))
            return;
        use(100);
        is_in_handler = false;
    });
    testing::internal::CaptureStderr();
    {
        const no_allocation_scope guard("test", allocating::fatal);
        use(1'000);
    }
    (void)testing::internal::GetCapturedStderr();
    EXPECT_GE(recorder.reports().size(), 1U);
}

template <class Pool>
void expect_that_a_handler_may_use_it(Pool& pool)
{
    std::vector<decltype(pool.create())> objects;
    use_inside_and_outside_of_a_handler([&](int count) {
        for (int i = 0; i != count; ++i)
            objects.push_back(pool.create());
    });
    EXPECT_EQ(pool.in_use(), objects.size());
    EXPECT_TRUE(pool.verify());
    for (const auto& each : objects)
        pool.destroy(each);
    EXPECT_EQ(pool.in_use(), 0U);
    EXPECT_TRUE(pool.verify());
}

TEST(no_allocation_scope, lets_an_error_handler_use_the_pool_that_allocates)
{
    memory_pool::object_pool<voice> pool;
    expect_that_a_handler_may_use_it(pool);
}

TEST(no_allocation_scope, lets_an_error_handler_use_the_handle_pool_that_allocates)
{
    memory_pool::handle_pool<voice> pool;
    expect_that_a_handler_may_use_it(pool);
}

TEST(no_allocation_scope, lets_an_error_handler_use_the_shared_pool_that_allocates)
{
    memory_pool::concurrent_object_pool<voice> pool;
    expect_that_a_handler_may_use_it(pool);
    memory_pool::concurrent_handle_pool<voice> of_handles;
    expect_that_a_handler_may_use_it(of_handles);
}

template <class Resource>
void expect_that_a_handler_may_use_the(Resource&& resource)
{
    std::vector<void*> blocks;
    use_inside_and_outside_of_a_handler([&](int count) {
        for (int i = 0; i != count; ++i)
            blocks.push_back(resource.allocate(1'000));
    });
    const std::set<void*> different(blocks.begin(), blocks.end());
    EXPECT_EQ(different.size(), blocks.size());
    for (void* const each : blocks)
        resource.deallocate(each, 1'000);
    EXPECT_EQ(resource.bytes_in_use(), 0U);
}

TEST(no_allocation_scope, lets_an_error_handler_use_the_resource_that_allocates)
{
    expect_that_a_handler_may_use_the(memory_pool::unsynchronized_arena_resource());
    expect_that_a_handler_may_use_the(memory_pool::synchronized_arena_resource());
    expect_that_a_handler_may_use_the(memory_pool::unsynchronized_pool_resource());
    expect_that_a_handler_may_use_the(memory_pool::synchronized_pool_resource());
}

/// An upstream that opens a scope, in which it uses another pool.
class upstream_with_scope : public std::pmr::memory_resource
{
public:
    std::size_t allocations() const { return allocations_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const no_allocation_scope own("upstream", allocating::reported);
        grow(used_);
        allocations_ += own.allocations();
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    memory_pool::object_pool<voice> used_;
    std::size_t allocations_ = 0;
};

TEST(no_allocation_scope, can_be_opened_by_an_upstream_resource)
{
    upstream_with_scope upstream;
    testing::internal::CaptureStderr();
    {
        memory_pool::concurrent_object_pool<voice> pool({}, &upstream);
        pool.reserve(1);
    }
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_GE(upstream.allocations(), 1U);
    EXPECT_NE(text.find("in no_allocation_scope 'upstream'"), std::string::npos) << text;
}
} // namespace
