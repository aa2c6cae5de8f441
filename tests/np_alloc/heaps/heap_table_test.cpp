// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap_table.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/engine/engine.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
/// The heaps of this process.
struct heap_table : testing::Test
{
    np::heap_table& all = np::registry().heaps();

    heap_table() { EXPECT_TRUE(all.start()); }
};

/// The heaps visited so far.
struct visited
{
    std::vector<const np::thread_heap*> of_threads;
    std::vector<const np::shared_heap*> shared;

    void operator()(const np::thread_heap& each) { of_threads.push_back(&each); }
    void operator()(const np::shared_heap& each) { shared.push_back(&each); }
};

TEST_F(heap_table, distinguishes_heaps_of_the_program_from_its_own)
{
    np::shared_heap* const made = all.create_heap();
    ASSERT_NE(made, nullptr);
    EXPECT_TRUE(all.is_made(*made));
    EXPECT_TRUE(all.is_heap(made));
    EXPECT_EQ(all.living(made), made);
    EXPECT_FALSE(all.is_made(all.fallback));
    EXPECT_FALSE(all.is_made(all.profiled));
    EXPECT_FALSE(all.is_made(all.call_site_heaps.back()));
    all.destroy_heap(*made);
}

TEST_F(heap_table, reports_destroyed_and_invalid_heaps)
{
    const test::error_recorder recorder;
    np::shared_heap* const destroyed = all.create_heap();
    all.destroy_heap(*destroyed);
    EXPECT_FALSE(all.is_heap(destroyed));
    EXPECT_EQ(all.living(destroyed), nullptr);
    void* const block = np_alloc(sizeof(np::shared_heap));
    EXPECT_EQ(all.living(block), nullptr);
    int on_the_stack = 0;
    void* volatile elsewhere = &on_the_stack; // Hides from the compiler that no heap fits there.
    EXPECT_EQ(all.living(elsewhere), nullptr);
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::foreign_pointer));
    np_free(block);
}

TEST_F(heap_table, visits_named_heaps_in_order_of_creation)
{
    std::vector<np::shared_heap*> made;
    for (const char* const name : {"a", "b", "c"})
        made.push_back(all.create_heap(name));
    made.push_back(all.create_heap());
    std::uint64_t last = 0;
    std::string names;
    const auto add = [&names](const np::named_heap& each) { names += each.name().data(); };
    all.for_some_named_heaps(last, 2, add);
    EXPECT_EQ(names, "ab");
    all.destroy_heap(*made[1]);
    all.for_some_named_heaps(last, 2, add);
    EXPECT_EQ(names, "abc");
    all.for_some_named_heaps(last, 2, add);
    EXPECT_EQ(names, "abc");
    for (const std::size_t i : {0U, 2U, 3U})
        all.destroy_heap(*made[i]);
}

TEST_F(heap_table, visits_all_heaps_except_the_internal_one)
{
    np_free(np_alloc(1));
    np::shared_heap* const made = all.create_heap();
    visited seen;
    all.for_each_heap([&seen](const auto& each) { seen(each); });
    EXPECT_EQ(std::count(seen.of_threads.begin(), seen.of_threads.end(), &np::this_thread.cache.heap()), 1);
    for (const np::shared_heap* each : {made, &all.fallback, &all.profiled})
        EXPECT_EQ(std::count(seen.shared.begin(), seen.shared.end(), each), 1);
    EXPECT_EQ(std::count(seen.shared.begin(), seen.shared.end(), &all.internal), 0);
    all.destroy_heap(*made);
}

TEST_F(heap_table, finds_the_heap_of_a_slab)
{
    const auto heap_of = [this](const void* address) {
        visited seen;
        all.visit_heap_of(all.pages.region().slice_of(address), [&seen](const auto& each) { seen(each); });
        return seen;
    };
    np::shared_heap* const made = all.create_heap();
    void* const shared = np::allocate_in(*made, 100);
    void* const mine = np_alloc(100);
    void* const large = np_alloc(1'000'000);
    EXPECT_EQ(heap_of(shared).shared, std::vector<const np::shared_heap*>{made});
    EXPECT_EQ(heap_of(mine).of_threads, std::vector<const np::thread_heap*>{&np::this_thread.cache.heap()});
    EXPECT_TRUE(heap_of(large).of_threads.empty() && heap_of(large).shared.empty());
    EXPECT_TRUE(heap_of(made).shared.empty()) << "heaps are blocks of the internal heap, which is not visited";
    np_free(mine);
    np_free(large);
    all.destroy_heap(*made);
}

#if TESTS_MAY_FORK
TEST_F(heap_table, can_start_after_the_system_refused_addresses)
{
    test::expect_in_child([] { // Another table draws new keys.
        static np::heap_table other;
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        if (other.start() || other.has_started() || other.create_heap() != nullptr)
            return false;
        calls.refuse_nothing();
        return other.start() && other.create_heap() != nullptr;
    });
}
#endif
} // namespace
