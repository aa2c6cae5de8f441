// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The depot, where threads that share a pool exchange full and empty magazines without a lock.
///
///     shard 0    full: [||||||||] -> [||||||||]    empty: [        ]
///     shard 1    full: [||||||||]                  empty: [        ] -> [        ]
///     ...                                          never-used magazines:  [        ] [        ] ...
///
///     magazines made = full + empty + never used + in thread caches
///
/// Each thread tries its home shard first, so that it gets back the blocks that it freed, which are in the cache of its
/// processor. (With a single shard, two threads that each allocated and freed 10,000 blocks took three times as long.)
/// It tries the other shards only if the home shard is empty.
///
/// Magazines are allocated in groups: the first group is as large as requested, and each further group twice as large
/// as the last. (Bonwick and Adams, "Magazines and Vmem", 2001, describe a depot with a lock; this depot consists of
/// lock-free stacks.)
///
/// A thread may read a magazine that another thread has just popped. Therefore, no group is returned to upstream while
/// a thread may be between the load and the exchange of a pop, which is always within an operation on its open cache:
///
///     thread:   begin, is the cache open?  pop, push  end          otherwise only with the pool's lock
///     shrink:   the lock; close every cache; wait until no operation is in flight; empty all magazines
///
/// After that wait, every later operation finds its cache closed, and takes the lock before it uses the depot again
/// (core/threads/thread_cache.hpp; tests/models/cache_handshake.pml). The wait synchronizes with the end of the owner's
/// operation, and the lock orders all later accesses. The tags of the stacks are not reset.
///
/// Thread safety: any thread may push and pop. `provide` and `shrink` are for one thread at a time.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/threads/tagged_stack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The header of an array of pointers, which follows it. No two magazines share a cache line.
struct alignas(cache_line_size) depot_magazine : stack_node
{
    explicit depot_magazine(std::uint32_t index) noexcept : number(index) {}

    const std::uint32_t number;

    void** pointers() noexcept { return static_cast<void**>(base::address_past(this, head_bytes)); }

    static constexpr std::size_t head_bytes = base::round_up(3 * sizeof(std::uint32_t), sizeof(void*));
};

/// Full and empty magazines.
class depot
{
public:
    /// Effects: makes an empty depot, for magazines of `room` pointers each.
    depot(std::size_t room, std::pmr::memory_resource* upstream) noexcept : room_(room), upstream_(upstream) {}
    ~depot() { shrink(0); }

    /// Returns: the capacity of a magazine, in pointers.
    std::size_t room() const noexcept { return room_; }

    /// Threads with different home shards do not contend.
    static constexpr std::size_t shard_count = 16;

    /// Returns: the number of full magazines; approximate while other threads are active.
    std::size_t full_count() const noexcept
    {
        std::size_t count = 0;
        for (const shard& each : shards_)
            count += each.full.size(node_at{*this});
        return count;
    }

    std::size_t bytes_reserved() const noexcept { return bytes_reserved_; }

    /// Effects: makes magazines until there are at least `count`.
    /// Throws: exceptions of upstream; the magazines allocated so far stay.
    void provide(std::size_t count)
    {
        count = std::min<std::size_t>(count, max_magazines);
        if (made_.load(std::memory_order_relaxed) == 0)
            first_group_ = static_cast<std::uint32_t>(std::max<std::size_t>(count, smallest_group));
        for (std::uint32_t made = made_.load(std::memory_order_relaxed); made < count;
             made = made_.load(std::memory_order_relaxed))
            add_group(made);
    }

    /// Returns: a full magazine, preferably of shard `home`; nullptr if there is none.
    depot_magazine* pop_full(std::size_t home) noexcept
    {
        for (std::size_t i = 0; i != shard_count; ++i)
            if (depot_magazine* const popped = pop(shard_at(home + i).full))
                return popped;
        return nullptr;
    }

    void push_full(std::size_t home, depot_magazine* pushed) noexcept { push(shard_at(home).full, pushed); }

    /// Returns: an empty magazine, preferably of shard `home`; nullptr if there is none.
    depot_magazine* pop_empty(std::size_t home) noexcept
    {
        for (std::size_t i = 0; i != shard_count; ++i)
            if (depot_magazine* const popped = pop(shard_at(home + i).empty))
                return popped;
        return take_unused();
    }

    void push_empty(std::size_t home, depot_magazine* pushed) noexcept { push(shard_at(home).empty, pushed); }

    /// Effects: returns the groups that are not needed for `count` magazines to upstream; all groups, if less than half
    ///   of the first group is needed. The magazines of the remaining groups become never-used magazines.
    /// Preconditions: no thread holds or requests a magazine, or has done so since its cache was closed.
    void shrink(std::size_t count) noexcept
    {
        std::uint32_t kept = 0;
        for (unsigned group = 0; group != groups_.size(); ++group) {
            std::byte* const memory = groups_[group].load(std::memory_order_relaxed);
            if (memory == nullptr)
                break;
            const std::uint32_t magazines = first_group_ << group;
            if (kept < count && magazines / 2 <= count) {
                kept += magazines;
                continue;
            }
            groups_[group].store(nullptr, std::memory_order_relaxed);
            upstream_->deallocate(memory, group_bytes(group), alignof(depot_magazine));
            bytes_reserved_ -= group_bytes(group);
        }
        for (shard& each : shards_) {
            each.full.clear();
            each.empty.clear();
        }
        used_.store(0, std::memory_order_relaxed);
        made_.store(std::min(kept, made_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    }

private:
    /// Maps numbers to the nodes of a stack.
    struct node_at
    {
        const depot& home;
        stack_node& operator()(std::uint32_t number) const noexcept { return home.magazine_at(number); }
    };

    struct alignas(cache_line_size) shard
    {
        tagged_stack<> full;
        tagged_stack<> empty;
    };

    shard& shard_at(std::size_t home) noexcept { return shards_[home % shard_count]; }

    static constexpr std::uint32_t smallest_group = 4;
    static constexpr unsigned max_groups = 24;
    static constexpr std::uint32_t max_magazines = smallest_group * ((std::uint32_t{1} << max_groups) - 1);
    static_assert(max_magazines <= tagged_stack<>::max_nodes);

    /// The group of a magazine, and the index in that group.
    struct position
    {
        unsigned group;
        std::uint32_t place;
    };

    position position_of(std::uint32_t number) const noexcept
    {
        const std::uint32_t groups_before = number / first_group_ + 1;
        const unsigned group = base::highest_bit(groups_before);
        return {group, number - first_group_ * ((std::uint32_t{1} << group) - 1)};
    }

    std::size_t magazine_bytes() const noexcept
    {
        return base::round_up(depot_magazine::head_bytes + room_ * sizeof(void*), alignof(depot_magazine));
    }

    std::size_t group_bytes(unsigned group) const noexcept
    {
        return (std::size_t{first_group_} << group) * magazine_bytes();
    }

    void* memory_of(std::uint32_t number) const noexcept
    {
        const position at = position_of(number);
        // Every number comes from a thread that has seen the group of that magazine.
        return groups_[at.group].load(std::memory_order_acquire) + at.place * magazine_bytes();
    }

    depot_magazine& magazine_at(std::uint32_t number) const noexcept
    {
        return *std::launder(static_cast<depot_magazine*>(memory_of(number)));
    }

    void add_group(std::uint32_t made)
    {
        const unsigned group = position_of(made).group;
        void* const memory = allocate_upstream(upstream_, group_bytes(group), alignof(depot_magazine));
        groups_[group].store(static_cast<std::byte*>(memory), std::memory_order_release);
        bytes_reserved_ += group_bytes(group);
        const std::uint32_t added = std::min(first_group_ << group, max_magazines - made);
        made_.store(made + added, std::memory_order_release);
    }

    depot_magazine* take_unused() noexcept
    {
        std::uint32_t number = used_.load(std::memory_order_relaxed);
        do {
            if (number >= made_.load(std::memory_order_acquire))
                return nullptr;
        } while (!used_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
        return ::new (memory_of(number)) depot_magazine(number);
    }

    depot_magazine* pop(tagged_stack<>& stack) noexcept
    {
        std::uint32_t number = 0;
        return stack.pop(number, node_at{*this}) ? &magazine_at(number) : nullptr;
    }

    void push(tagged_stack<>& stack, depot_magazine* pushed) noexcept { stack.push(pushed->number, node_at{*this}); }

    std::array<shard, shard_count> shards_;
    alignas(cache_line_size) std::atomic<std::uint32_t> used_{0}; ///< Magazines from this number on were never used.
    std::atomic<std::uint32_t> made_{0};
    std::uint32_t first_group_ = 0; ///< Magazines in the first group; constant once it exists.
    std::array<std::atomic<std::byte*>, max_groups> groups_{};
    std::size_t bytes_reserved_ = 0;
    const std::size_t room_;
    std::pmr::memory_resource* const upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
