// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <thread>

namespace mp = memory_pool;

namespace {
/// Detects overlapping calls.
class exclusive_upstream : public std::pmr::memory_resource
{
public:
    std::atomic<std::size_t> overlaps{0};
    std::size_t calls = 0; ///< Not atomic, so that ThreadSanitizer reports races that the count misses.

private:
    class visit
    {
    public:
        explicit visit(exclusive_upstream& upstream) : upstream_(upstream)
        {
            upstream_.overlaps += upstream_.callers_++ != 0;
            ++upstream_.calls;
            std::this_thread::yield();
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() { --upstream_.callers_; }

    private:
        exclusive_upstream& upstream_;
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const visit here(*this);
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const visit here(*this);
        std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
    }

    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::atomic<int> callers_{0};
};

TEST(synchronized_resource, forwards_one_call_at_a_time)
{
    exclusive_upstream upstream;
    mp::synchronized_resource synchronized(&upstream);
    test::in_threads(4, [&](std::size_t) {
        for (int round = 0; round != 10; ++round)
            test::use_containers(&synchronized);
    });
    EXPECT_EQ(upstream.overlaps, 0u);
    EXPECT_GT(upstream.calls, 4u * 10 * 2 * 100);
}

TEST(synchronized_resource, serves_threads_from_an_unsynchronized_resource)
{
    std::pmr::unsynchronized_pool_resource pools;
    mp::synchronized_resource synchronized(&pools);
    test::in_threads(4, [&](std::size_t) {
        for (int round = 0; round != 10; ++round)
            test::use_containers(&synchronized);
    });
}

TEST(synchronized_resource, is_unlocked_after_an_upstream_failure)
{
    test::accounting_upstream upstream;
    mp::synchronized_resource synchronized(&upstream);
    upstream.fail_at(1);
    EXPECT_THROW((void)synchronized.allocate(8), std::bad_alloc);
    test::in_a_thread([&] { synchronized.deallocate(synchronized.allocate(8), 8); });
    EXPECT_EQ(upstream.live_chunks(), 0u);
}
} // namespace
