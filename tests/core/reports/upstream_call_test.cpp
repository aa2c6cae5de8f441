// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the calls themselves; no_allocation_scope_test.cpp tests them with pools.
#include <memory_pool/core/reports/upstream_call.hpp>

#include <memory_pool/no_allocation_scope.h>

#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// Allocates from another resource, like a pool that is the upstream of another pool.
class pool_as_upstream final : public std::pmr::memory_resource
{
public:
    explicit pool_as_upstream(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* const unused = core::allocate_upstream(upstream_, 1, 1, "inner");
        upstream_->deallocate(unused, 1, 1);
        return core::allocate_upstream(upstream_, bytes, alignment, "inner");
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override
    {
        upstream_->deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::memory_resource* upstream_;
};

class upstream_call : public testing::Test
{
protected:
    upstream_call() : outer_(core::set_no_allocation_scope(&scope_)) { notes().clear(); }
    ~upstream_call() override
    {
        EXPECT_EQ(core::set_no_allocation_scope(outer_), &scope_) << "the scope is unchanged";
        EXPECT_EQ(core::these_notes.depth, 0U);
        EXPECT_EQ(core::these_notes.count, 0U);
    }

    /// Allocates from upstream and frees the memory.
    static void call(std::pmr::memory_resource& upstream, std::size_t bytes, const char* name = "pool")
    {
        upstream.deallocate(core::allocate_upstream(&upstream, bytes, 8, name), bytes, 8);
    }

    static std::vector<std::string>& notes()
    {
        static std::vector<std::string> all;
        return all;
    }

    /// Callbacks may use pools: this one calls an upstream, and no scope counts the call.
    static void note(np_no_allocation_scope* scope, std::size_t bytes, const char* allocator)
    {
        call(*std::pmr::new_delete_resource(), 1000, "note");
        notes().push_back(scope->name + std::string(": ") + std::to_string(bytes) + " by " + allocator);
    }

    test::accounting_upstream upstream_;
    np_no_allocation_scope scope_{"scope", np_allocating_counted, 0, 0, &note};
    np_no_allocation_scope* const outer_;
};

TEST_F(upstream_call, counts_once_for_nested_upstreams)
{
    pool_as_upstream pool(&upstream_);
    call(pool, 40);
    EXPECT_EQ(upstream_.calls(), 2U);
    EXPECT_EQ(scope_.allocations, 1U);
    EXPECT_EQ(scope_.bytes, 40U);
    EXPECT_EQ(notes(), std::vector<std::string>{"scope: 40 by pool"});
}

TEST_F(upstream_call, is_not_counted_if_upstream_fails)
{
    upstream_.fail_always();
    EXPECT_THROW(call(upstream_, 40), std::bad_alloc);
    EXPECT_EQ(scope_.allocations, 0U);
    EXPECT_TRUE(notes().empty());
    upstream_.never_fail();
    call(upstream_, 40);
    EXPECT_EQ(scope_.allocations, 1U) << "the scope is in effect again";
}

TEST_F(upstream_call, is_counted_in_the_innermost_scope_of_the_thread)
{
    np_no_allocation_scope inner{"inner", np_allocating_counted, 0, 0, &note};
    EXPECT_EQ(core::set_no_allocation_scope(&inner), &scope_);
    call(upstream_, 8);
    EXPECT_EQ(core::set_no_allocation_scope(nullptr), &inner);
    call(upstream_, 16);
    EXPECT_EQ(core::set_no_allocation_scope(&scope_), nullptr);
    test::in_a_thread([this] { call(upstream_, 24); });
    EXPECT_EQ(inner.allocations, 1U);
    EXPECT_EQ(inner.bytes, 8U);
    EXPECT_EQ(scope_.allocations, 0U);
    EXPECT_EQ(notes(), std::vector<std::string>{"inner: 8 by pool"});
}

TEST_F(upstream_call, is_reported_after_the_outermost_operation)
{
    {
        const core::deferred_callbacks outermost;
        {
            const core::deferred_callbacks within;
            call(upstream_, 8, "first");
        }
        call(upstream_, 16, "second");
        EXPECT_EQ(scope_.allocations, 2U) << "counted at once";
        EXPECT_TRUE(notes().empty());
    }
    EXPECT_EQ(notes(), (std::vector<std::string>{"scope: 8 by first", "scope: 16 by second"}));
    EXPECT_EQ(scope_.bytes, 24U);
}

TEST_F(upstream_call, merges_reports_beyond_the_first_seven)
{
    {
        const core::deferred_callbacks notes_of_operation;
        for (int i = 0; i != 12; ++i)
            call(upstream_, 10);
    }
    EXPECT_EQ(scope_.allocations, 12U);
    EXPECT_EQ(scope_.bytes, 120U);
    ASSERT_EQ(notes().size(), 8U);
    EXPECT_EQ(notes()[6], "scope: 10 by pool");
    EXPECT_EQ(notes()[7], "scope: 50 by pool") << "the sum of all calls after the first seven";
}

TEST_F(upstream_call, is_only_counted_without_a_callback)
{
    scope_.note = nullptr;
    {
        const core::deferred_callbacks late;
        call(upstream_, 10);
        EXPECT_EQ(core::these_notes.count, 0U);
    }
    call(upstream_, 10);
    EXPECT_EQ(scope_.allocations, 2U);
    EXPECT_TRUE(notes().empty());
}
} // namespace
