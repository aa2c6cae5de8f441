// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/thread_caches.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
class thread_caches_test : public testing::Test
{
protected:
    using cache_set = std::set<const core::thread_cache*>;

    ~thread_caches_test() override { caches_.free_all(&upstream_); }

    core::thread_cache& take()
    {
        core::thread_cache& taken = caches_.unused(&upstream_);
        caches_.take_unused();
        return taken;
    }

    cache_set in_use() const
    {
        cache_set seen;
        caches_.for_each_in_use([&seen](const core::thread_cache& cache) { EXPECT_TRUE(seen.insert(&cache).second); });
        EXPECT_EQ(seen.size(), caches_.in_use());
        return seen;
    }

    cache_set unused() const
    {
        cache_set seen;
        caches_.for_each_unused([&seen](const core::thread_cache& cache) { EXPECT_TRUE(seen.insert(&cache).second); });
        EXPECT_EQ(seen.size(), caches_.made() - caches_.in_use());
        return seen;
    }

    test::accounting_upstream upstream_;
    core::thread_caches<> caches_;
};

TEST_F(thread_caches_test, creates_a_cache_only_if_none_is_unused)
{
    core::thread_cache& first = caches_.unused(&upstream_);
    EXPECT_EQ(&caches_.unused(&upstream_), &first) << "not taken yet";
    caches_.take_unused();
    core::thread_cache& second = take();
    EXPECT_NE(&second, &first);
    EXPECT_NE(second.shard, first.shard);
    caches_.put(first);
    EXPECT_EQ(&take(), &first);
    EXPECT_EQ(caches_.made(), 2u);
    EXPECT_EQ(upstream_.live_chunks(), 2u);
}

TEST_F(thread_caches_test, reuses_caches_in_lifo_order)
{
    std::vector<core::thread_cache*> taken;
    for (int i = 0; i != 100; ++i)
        taken.push_back(&take());
    for (const std::size_t i : {std::size_t{70}, std::size_t{99}, std::size_t{0}, std::size_t{30}})
        caches_.put(*taken[i]);
    for (const std::size_t i : {std::size_t{30}, std::size_t{0}, std::size_t{99}, std::size_t{70}})
        EXPECT_EQ(&take(), taken[i]);
}

TEST_F(thread_caches_test, distinguishes_caches_in_use_and_unused)
{
    core::thread_cache& a = take();
    core::thread_cache& b = take();
    core::thread_cache& c = take();
    EXPECT_EQ(in_use(), (cache_set{&a, &b, &c}));
    caches_.put(b);
    EXPECT_EQ(in_use(), (cache_set{&a, &c}));
    EXPECT_EQ(unused(), (cache_set{&b}));
    caches_.put(c);
    caches_.put(a);
    EXPECT_EQ(in_use(), cache_set{});
    EXPECT_EQ(unused(), (cache_set{&a, &b, &c}));
}

TEST_F(thread_caches_test, allows_put_during_a_visit)
{
    for (int i = 0; i != 5; ++i)
        take();
    std::size_t visited = 0;
    caches_.for_each_in_use([&](core::thread_cache& cache) {
        if (visited++ % 2 == 0)
            caches_.put(cache);
    });
    EXPECT_EQ(visited, 5u);
    EXPECT_EQ(in_use().size(), 2u);
    EXPECT_EQ(unused().size(), 3u);
}
} // namespace
