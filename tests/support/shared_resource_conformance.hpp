// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every thread-safe resource in addition to resource_conformance.hpp. Instantiate it for a resource
/// type with INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <support/child.hpp>
#include <support/filled_blocks.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace test {
/// A queue of blocks between threads.
class handover
{
public:
    void put(const filled_block& block)
    {
        const std::lock_guard lock(mutex_);
        blocks_.push_back(block);
    }

    /// Returns the oldest block, or std::nullopt.
    std::optional<filled_block> take()
    {
        const std::lock_guard lock(mutex_);
        if (blocks_.empty())
            return std::nullopt;
        const filled_block block = blocks_.front();
        blocks_.pop_front();
        return block;
    }

private:
    std::mutex mutex_;
    std::deque<filled_block> blocks_;
};

template <class Resource>
class shared_resource_conformance : public testing::Test
{
protected:
    static constexpr std::size_t thread_count = 4;
    static constexpr bool is_slow = under_a_sanitizer || Resource::policy::checks;

    /// Allocates a block of random size and alignment, rarely a large one.
    static filled_block allocate_any(Resource& resource, std::mt19937& random)
    {
        const std::size_t bytes = random() % 200 == 0 ? 70'000 : random() % 400;
        return allocate_filled(resource, bytes, std::size_t{1} << random() % 8);
    }

    void expect_empty(const Resource& resource) const
    {
        EXPECT_EQ(resource.bytes_in_use(), 0u);
        EXPECT_EQ(resource.bytes_reserved(), upstream_.live_bytes());
        EXPECT_EQ(upstream_.mismatched(), 0u);
        EXPECT_TRUE(resource.verify());
    }

    /// Not locked: a resource promises to serialize its calls, and ThreadSanitizer detects a violation.
    accounting_upstream upstream_;
};

TYPED_TEST_SUITE_P(shared_resource_conformance);

TYPED_TEST_P(shared_resource_conformance, serves_concurrent_threads)
{
    TypeParam resource(&this->upstream_);
    std::atomic<bool> all_intact{true};
    in_threads(this->thread_count, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        std::vector<filled_block> blocks;
        blocks.reserve(101);
        for (int round = 0; round != (this->is_slow ? 2000 : 20'000); ++round) {
            blocks.push_back(this->allocate_any(resource, random));
            std::swap(blocks[random() % blocks.size()], blocks.back());
            if (blocks.size() > 100) {
                if (!give_back(resource, blocks.back()))
                    all_intact = false;
                blocks.pop_back();
            }
        }
        if (!give_back_all(resource, blocks))
            all_intact = false;
    });
    EXPECT_TRUE(all_intact);
    this->expect_empty(resource);
}

TYPED_TEST_P(shared_resource_conformance, accepts_remote_frees)
{
    TypeParam resource(&this->upstream_);
    std::array<handover, shared_resource_conformance<TypeParam>::thread_count> ring;
    std::atomic<bool> all_intact{true};
    in_threads(ring.size(), [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        handover& to_next = ring[thread];
        handover& to_me = ring[(thread + 1) % ring.size()];
        for (int round = 0; round != (this->is_slow ? 2000 : 20'000); ++round) {
            to_next.put(this->allocate_any(resource, random));
            if (const auto block = to_me.take(); block && !give_back(resource, *block))
                all_intact = false;
        }
    });
    for (handover& left : ring)
        while (const auto block = left.take())
            EXPECT_TRUE(give_back(resource, *block));
    EXPECT_TRUE(all_intact);
    this->expect_empty(resource);
}

TYPED_TEST_P(shared_resource_conformance, keeps_the_blocks_of_exited_threads)
{
    TypeParam resource(&this->upstream_);
    std::vector<filled_block> blocks;
    for (int thread = 0; thread != 50; ++thread)
        in_a_thread([&] {
            std::mt19937 random(static_cast<unsigned>(thread));
            for (int i = 0; i != 20; ++i)
                blocks.push_back(this->allocate_any(resource, random));
        });
    EXPECT_TRUE(resource.verify());
    in_a_thread([&] { EXPECT_TRUE(give_back_all(resource, blocks)); });
    this->expect_empty(resource);
    const std::size_t before = this->upstream_.live_bytes();
    in_a_thread([&] { give_back(resource, allocate_filled(resource, 24)); });
    EXPECT_LE(this->upstream_.live_bytes(), before) << "a thread reuses the memory of exited threads";
}

TYPED_TEST_P(shared_resource_conformance, can_be_destroyed_before_its_threads_exit)
{
    std::atomic<int> ready{0};
    std::atomic<bool> is_gone{false};
    auto resource = std::make_unique<TypeParam>(&this->upstream_);
    std::vector<std::thread> threads;
    threads.reserve(this->thread_count);
    for (std::size_t i = 0; i != this->thread_count; ++i)
        threads.emplace_back([&] {
            give_back(*resource, allocate_filled(*resource, 40));
            ++ready;
            while (!is_gone)
                std::this_thread::yield();
            TypeParam next; // May use the slot of the destroyed resource.
            EXPECT_TRUE(give_back(next, allocate_filled(next, 40)));
        });
    while (ready != static_cast<int>(this->thread_count))
        std::this_thread::yield();
    resource.reset();
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    is_gone = true;
    for (std::thread& thread : threads)
        thread.join();
}

TYPED_TEST_P(shared_resource_conformance, can_be_destroyed_while_its_threads_exit)
{
    for (int round = 0; round != 50; ++round) {
        std::atomic<int> ready{0};
        auto resource = std::make_unique<TypeParam>(&this->upstream_);
        std::vector<std::thread> threads;
        threads.reserve(3);
        for (int i = 0; i != 3; ++i)
            threads.emplace_back([&] {
                give_back(*resource, allocate_filled(*resource, 40));
                ++ready;
            });
        while (ready != 3)
            std::this_thread::yield();
        resource.reset();
        EXPECT_EQ(this->upstream_.live_chunks(), 0u);
        for (std::thread& thread : threads)
            thread.join();
    }
}

/// Uses a resource at thread exit, after the resource has been notified of the exit.
template <class Resource>
struct late_user
{
    ~late_user()
    {
        if (resource == nullptr)
            return;
        const filled_block block = allocate_filled(*resource, 40);
        is_intact = give_back(*resource, block) && give_back(*resource, kept);
    }

    Resource* resource = nullptr;
    filled_block kept{};
    static inline std::atomic<bool> is_intact{false};
};

TYPED_TEST_P(shared_resource_conformance, works_in_destructors_of_thread_local_objects)
{
    TypeParam resource(&this->upstream_);
    late_user<TypeParam>::is_intact = false;
    in_a_thread([&] {
        thread_local late_user<TypeParam> user; // Constructed before the first allocation, so destroyed later.
        user.resource = &resource;
        user.kept = allocate_filled(resource, 100);
    });
    EXPECT_TRUE(late_user<TypeParam>::is_intact);
    this->expect_empty(resource);
}

TYPED_TEST_P(shared_resource_conformance, can_be_one_of_many_used_by_a_thread)
{
    std::vector<std::unique_ptr<TypeParam>> resources;
    for (int i = 0; i != 80; ++i)
        resources.push_back(std::make_unique<TypeParam>(&this->upstream_));
    std::vector<filled_block> blocks;
    for (int round = 0; round != 3; ++round)
        for (const auto& resource : resources)
            blocks.push_back(allocate_filled(*resource, 40));
    for (std::size_t i = 0; i != blocks.size(); ++i)
        EXPECT_TRUE(give_back(*resources[i % resources.size()], blocks[i]));
    for (const auto& resource : resources) {
        EXPECT_EQ(resource->bytes_in_use(), 0u);
        EXPECT_TRUE(resource->verify());
    }
    resources.clear();
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    for (int i = 0; i != 200; ++i) { // One after the other: the resources reuse numbers.
        TypeParam resource(&this->upstream_);
        EXPECT_TRUE(give_back(resource, allocate_filled(resource, 40)));
    }
}

TYPED_TEST_P(shared_resource_conformance, can_be_trimmed_and_queried_concurrently)
{
    TypeParam resource(&this->upstream_);
    std::atomic<bool> all_intact{true};
    std::atomic<std::size_t> at_work{3};
    in_threads(4, [&](std::size_t thread) {
        if (thread == 0) {
            while (at_work != 0) {
                (void)resource.trim();
                (void)resource.bytes_in_use();
                (void)resource.bytes_reserved();
                std::this_thread::yield();
            }
            return;
        }
        std::mt19937 random(static_cast<unsigned>(thread));
        for (int round = 0; round != (this->is_slow ? 20 : 200); ++round) {
            std::vector<filled_block> blocks;
            for (int i = 0; i != 200; ++i)
                blocks.push_back(this->allocate_any(resource, random));
            if (!give_back_all(resource, blocks))
                all_intact = false;
        }
        --at_work;
    });
    EXPECT_TRUE(all_intact);
    this->expect_empty(resource);
}

TYPED_TEST_P(shared_resource_conformance, bytes_in_use_is_exact_when_threads_are_idle)
{
    TypeParam resource(&this->upstream_);
    constexpr std::size_t each = 1024; // A block size of the pools, which arenas do not round.
    const std::size_t taken_for_one = [&] {
        const filled_block one = allocate_filled(resource, each);
        const std::size_t in_use = resource.bytes_in_use();
        give_back(resource, one);
        return in_use;
    }();
    std::array<std::vector<filled_block>, shared_resource_conformance<TypeParam>::thread_count> kept;
    in_threads(kept.size(), [&](std::size_t thread) {
        for (std::size_t i = 0; i != 100; ++i)
            kept[thread].push_back(allocate_filled(resource, each));
        for (std::size_t i = 0; i != 10 * thread; ++i) {
            give_back(resource, kept[thread].back());
            kept[thread].pop_back();
        }
    });
    EXPECT_EQ(resource.bytes_in_use(), (100u + 90u + 80u + 70u) * taken_for_one);
    in_threads(kept.size(),
               [&](std::size_t thread) { EXPECT_TRUE(give_back_all(resource, kept[(thread + 1) % kept.size()])); });
    this->expect_empty(resource);
}

REGISTER_TYPED_TEST_SUITE_P(shared_resource_conformance, serves_concurrent_threads, accepts_remote_frees,
                            keeps_the_blocks_of_exited_threads, can_be_destroyed_before_its_threads_exit,
                            can_be_destroyed_while_its_threads_exit, works_in_destructors_of_thread_local_objects,
                            can_be_one_of_many_used_by_a_thread, can_be_trimmed_and_queried_concurrently,
                            bytes_in_use_is_exact_when_threads_are_idle);

#if TESTS_MAY_FORK
template <class Resource>
class forked_resource_conformance : public shared_resource_conformance<Resource>
{
};

TYPED_TEST_SUITE_P(forked_resource_conformance);

TYPED_TEST_P(forked_resource_conformance, can_be_used_in_a_forked_child_of_a_threaded_program)
{
    TypeParam resource(&this->upstream_);
    std::atomic<bool> is_over{false};
    std::atomic<int> at_work{0};
    std::vector<std::thread> threads;
    const std::vector<filled_block> mine{allocate_filled(resource, 40), allocate_filled(resource, 5000),
                                         allocate_filled(resource, 100'000)};
    threads.reserve(3);
    for (unsigned i = 0; i != 3; ++i)
        threads.emplace_back([&, i] {
            std::mt19937 random(i);
            while (!is_over) {
                // Repeated in one arena, whose cursor and floor move in two steps.
                for (int round = 0; round != 300; ++round) {
                    void* const small = resource.allocate(8, 8);
                    void* const aligned = resource.allocate(8, 64);
                    resource.deallocate(small, 8, 8);
                    resource.deallocate(aligned, 8, 64);
                }
                give_back(resource, this->allocate_any(resource, random));
                ++at_work;
            }
        });
    while (at_work < 30)
        std::this_thread::yield();
    for (int round = 0; round != 40; ++round)
        expect_in_child([&] {
            bool works = resource.verify() && give_back_all(resource, mine);
            std::mt19937 random(7);
            std::vector<filled_block> blocks;
            for (int i = 0; i != 300; ++i)
                blocks.push_back(this->allocate_any(resource, random));
            works = give_back_all(resource, blocks) && works;
            in_a_thread([&] { works = give_back(resource, allocate_filled(resource, 40)) && works; });
            resource.trim();
            works = works && resource.verify();
            resource.release();
            return works && resource.verify() && resource.bytes_in_use() == 0 &&
                   give_back(resource, allocate_filled(resource, 40));
        });
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_TRUE(give_back_all(resource, mine));
    this->expect_empty(resource);
}

REGISTER_TYPED_TEST_SUITE_P(forked_resource_conformance, can_be_used_in_a_forked_child_of_a_threaded_program);
#endif
} // namespace test
