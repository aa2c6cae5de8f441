// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using test::contains;

namespace {
mp::limit_options soft_limit_of(std::size_t bytes, std::function<void(mp::limit_resource&)> action)
{
    mp::limit_options options;
    options.limit = 1000;
    options.soft_limit = bytes;
    options.on_soft_limit = std::move(action);
    return options;
}

class limit_resource_test : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
};

TEST_F(limit_resource_test, reset_peak_restarts_the_peak_at_the_bytes_in_use)
{
    mp::limit_resource limited(1000, &upstream_);
    EXPECT_EQ(limited.peak_bytes_in_use(), 0u);
    void* const kept = limited.allocate(300);
    limited.deallocate(limited.allocate(500), 500);
    EXPECT_THROW((void)limited.allocate(900), mp::limit_exceeded);
    upstream_.fail_at(1);
    EXPECT_THROW((void)limited.allocate(600), std::bad_alloc);
    EXPECT_EQ(limited.peak_bytes_in_use(), 800u) << "failed allocations were never in use";
    limited.reset_peak();
    EXPECT_EQ(limited.peak_bytes_in_use(), 300u);
    limited.deallocate(limited.allocate(10), 10);
    EXPECT_EQ(limited.peak_bytes_in_use(), 310u);
    limited.deallocate(kept, 300);
}

TEST_F(limit_resource_test, allocates_exactly_up_to_its_limit)
{
    mp::limit_resource limited(1000, &upstream_);
    void* const first = limited.allocate(600);
    void* const second = limited.allocate(400);
    EXPECT_EQ(limited.bytes_in_use(), limited.limit());
    EXPECT_THROW((void)limited.allocate(1), mp::limit_exceeded);
    void* const empty = limited.allocate(0);
    limited.deallocate(empty, 0);
    limited.deallocate(second, 400);
    EXPECT_THROW((void)limited.allocate(401), mp::limit_exceeded);
    EXPECT_EQ(limited.bytes_in_use(), 600u);
    EXPECT_EQ(upstream_.live_bytes(), 600u);
    limited.deallocate(first, 600);
    EXPECT_EQ(limited.bytes_in_use(), 0u);
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST_F(limit_resource_test, reports_the_request_and_the_limit)
{
    static_assert(std::is_base_of_v<std::bad_alloc, mp::limit_exceeded>);
    mp::limit_options options;
    options.limit = 1000;
    options.name = "cache";
    mp::limit_resource limited(options, &upstream_);
    const std::pmr::vector<char> vector(700, 'x', &limited);
    const std::string text = test::what_of<mp::limit_exceeded>([&] { (void)limited.allocate(301); });
    EXPECT_TRUE(contains(text, "'cache'")) << text;
    EXPECT_TRUE(contains(text, "301 more bytes would exceed its limit of 1000 bytes; 700 are in use")) << text;
}

TEST_F(limit_resource_test, is_unnamed_without_a_name)
{
    mp::limit_resource limited(mp::limit_options{}.with_limit(10).with_name(nullptr), &upstream_);
    EXPECT_STREQ(limited.name(), "unnamed");
    const std::string text = test::what_of<mp::limit_exceeded>([&] { (void)limited.allocate(11); });
    EXPECT_TRUE(contains(text, "'unnamed'")) << text;
}

TEST_F(limit_resource_test, rejects_a_request_without_an_upstream_call)
{
    mp::limit_resource limited(1000, &upstream_);
    for (const std::size_t bytes : {std::size_t{1001}, std::numeric_limits<std::size_t>::max()})
        EXPECT_THROW((void)limited.allocate(bytes), mp::limit_exceeded);
    const std::pmr::vector<char> vector(1, 'x', &limited);
    EXPECT_THROW((void)limited.allocate(std::numeric_limits<std::size_t>::max()), mp::limit_exceeded)
        << "the sum does not fit into std::size_t";
    EXPECT_EQ(upstream_.calls(), 1u);
}

TEST_F(limit_resource_test, leaves_a_container_unchanged)
{
    mp::limit_resource limited(1000, &upstream_);
    std::pmr::vector<char> text(100, 'x', &limited);
    EXPECT_THROW(text.resize(2000), std::bad_alloc);
    EXPECT_EQ(text, std::pmr::vector<char>(100, 'x'));
    EXPECT_EQ(limited.bytes_in_use(), 100u);
}

TEST_F(limit_resource_test, does_not_count_failed_upstream_calls)
{
    mp::limit_resource limited(1000, &upstream_);
    upstream_.fail_always();
    EXPECT_THROW((void)limited.allocate(900), std::bad_alloc);
    EXPECT_EQ(limited.bytes_in_use(), 0u);
    upstream_.never_fail();
    limited.deallocate(limited.allocate(1000), 1000);
}

TEST_F(limit_resource_test, counts_bytes_until_upstream_has_freed_them)
{
    test::watching_upstream upstream;
    mp::limit_resource limited(1000, &upstream);
    std::vector<std::size_t> counted;
    upstream.before_deallocate = [&] { counted.push_back(limited.bytes_in_use()); };
    limited.deallocate(limited.allocate(100), 100);
    EXPECT_EQ(counted, std::vector<std::size_t>({100})) << "otherwise another thread could exceed the limit";
    EXPECT_EQ(limited.bytes_in_use(), 0u);
}

TEST_F(limit_resource_test, calls_back_when_its_soft_limit_is_crossed)
{
    std::vector<std::size_t> calls;
    mp::limit_resource limited(
        soft_limit_of(500, [&](const mp::limit_resource& self) { calls.push_back(self.bytes_in_use()); }), &upstream_);
    EXPECT_EQ(limited.limit(), 1000u);
    EXPECT_EQ(limited.soft_limit(), 500u);
    void* const first = limited.allocate(500);
    EXPECT_TRUE(calls.empty()) << "reached, not crossed";
    void* const second = limited.allocate(1);
    EXPECT_EQ(calls, std::vector<std::size_t>({501}));
    void* const third = limited.allocate(100);
    EXPECT_EQ(calls.size(), 1u) << "already above it";
    limited.deallocate(second, 1);
    EXPECT_THROW((void)limited.allocate(401), mp::limit_exceeded);
    EXPECT_EQ(calls.size(), 1u);
    limited.deallocate(third, 100);
    limited.deallocate(limited.allocate(300), 300);
    EXPECT_EQ(calls, std::vector<std::size_t>({501, 800})) << "crossed again";
    limited.deallocate(first, 500);
}

TEST_F(limit_resource_test, lets_the_callback_free_memory)
{
    std::pmr::vector<char>* cache = nullptr;
    mp::limit_resource limited(soft_limit_of(500,
                                             [&](mp::limit_resource&) {
                                                 cache->clear();
                                                 cache->shrink_to_fit();
                                             }),
                               &upstream_);
    std::pmr::vector<char> cached(400, 'x', &limited);
    cache = &cached;
    const std::pmr::vector<char> needed(200, 'x', &limited);
    EXPECT_EQ(limited.bytes_in_use(), 200u);
    EXPECT_EQ(upstream_.live_bytes(), 200u);
}

TEST_F(limit_resource_test, lets_the_callback_allocate_from_it)
{
    int calls = 0;
    mp::limit_resource limited(soft_limit_of(500,
                                             [&](mp::limit_resource& self) {
                                                 ++calls;
                                                 test::use_containers(&upstream_);
                                                 const std::pmr::vector<char> message(50, 'x', &self);
                                             }),
                               &upstream_);
    limited.deallocate(limited.allocate(600), 600);
    EXPECT_EQ(calls, 1) << "it stays above its soft limit, so there is no second crossing";
    EXPECT_EQ(limited.bytes_in_use(), 0u);
}

TEST_F(limit_resource_test, propagates_exceptions_of_the_callback)
{
    mp::limit_resource limited(soft_limit_of(500, [](mp::limit_resource&) { throw std::runtime_error("too much"); }),
                               &upstream_);
    EXPECT_EQ(test::what_of<std::runtime_error>([&] { (void)limited.allocate(501); }), "too much");
    EXPECT_EQ(limited.bytes_in_use(), 0u);
    EXPECT_EQ(upstream_.calls(), 0u);
    limited.deallocate(limited.allocate(500), 500);
}

TEST_F(limit_resource_test, has_no_limit_by_default)
{
    mp::limit_resource limited(mp::limit_options{}, &upstream_);
    test::use_containers(&limited);
    EXPECT_EQ(limited.limit(), mp::limit_options::unbounded);
}

TEST_F(limit_resource_test, rejects_a_soft_limit_above_the_limit)
{
    const std::string text = test::what_of<std::invalid_argument>(
        [&] { const mp::limit_resource limited(soft_limit_of(1001, nullptr), &upstream_); });
    EXPECT_TRUE(contains(text, "1001") && contains(text, "1000")) << text;
}

TEST_F(limit_resource_test, is_exact_across_threads)
{
    test::shared_accounting_upstream upstream;
    constexpr std::size_t threads = 4;
    constexpr std::size_t chunk = 10;
    std::atomic<std::size_t> crossings{0};
    mp::limit_options options;
    options.limit = 3 * chunk;
    options.soft_limit = 2 * chunk;
    options.on_soft_limit = [&](mp::limit_resource&) { ++crossings; };
    mp::limit_resource limited(options, &upstream);
    std::atomic<std::size_t> refused{0};
    std::atomic<std::size_t> above_limit{0};
    std::atomic<std::size_t> handed_out{0};
    test::in_threads(threads, [&](std::size_t) {
        for (int i = 0; i != 3000; ++i) {
            try {
                void* const memory = limited.allocate(chunk);
                above_limit += handed_out.fetch_add(1) + 1 > 3;
                handed_out.fetch_sub(1);
                limited.deallocate(memory, chunk);
            } catch (const mp::limit_exceeded&) {
                ++refused;
            }
        }
    });
    EXPECT_EQ(above_limit, 0u);
    EXPECT_EQ(limited.bytes_in_use(), 0u);
    EXPECT_EQ(upstream.calls() + refused, threads * 3000);
    EXPECT_EQ(upstream.live_chunks(), 0u);

    // No block is freed before all are allocated, so the soft limit is crossed once.
    crossings = 0;
    std::atomic<std::size_t> got{0};
    test::in_threads(3, [&](std::size_t) {
        void* const memory = limited.allocate(chunk);
        ++got;
        while (got != 3)
            std::this_thread::yield();
        limited.deallocate(memory, chunk);
    });
    EXPECT_EQ(crossings, 1u);
}

TEST(limit_options, can_be_chained)
{
    int calls = 0;
    const mp::limit_options options = mp::limit_options{}
                                          .with_limit(100)
                                          .with_soft_limit(50)
                                          .with_on_soft_limit([&calls](mp::limit_resource&) { ++calls; })
                                          .with_name("requests");
    EXPECT_EQ(options.limit, 100u);
    EXPECT_STREQ(options.name, "requests");
    mp::limit_resource limited(options);
    limited.deallocate(limited.allocate(60), 60);
    EXPECT_EQ(limited.soft_limit(), 50u);
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(std::is_aggregate_v<mp::limit_options>);
}
} // namespace
