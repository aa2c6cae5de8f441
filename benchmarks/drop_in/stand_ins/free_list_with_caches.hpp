// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The algorithm of poolAllocator, reimplemented as the baseline of its drop-in: a lock-free list of all free blocks,
/// and a cache per thread.
///
///     thread:  [ block | block | ... ]    64 at most
///                 ^          |
///         refill  |          v  flush     32 blocks each
///     list:    head -> block -> block -> ...
///
/// A refill pops block by block, each with a compare-and-swap of the head; a flush pushes its blocks as one chain.
/// Every change of the head increments its tag, which prevents ABA errors. The cache belongs to the pool that the
/// thread used last: when the thread uses another pool, it flushes the cache first. When a thread ends, its cached
/// blocks are leaked.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace stand_ins {
class free_list_with_caches
{
public:
    static constexpr std::size_t cached_blocks = 64;

    free_list_with_caches(std::size_t object_size, std::size_t pool_size)
        : stride_((object_size + alignment - 1) / alignment * alignment), links_(pool_size),
          memory_(static_cast<std::byte*>(::operator new(stride_ * pool_size, std::align_val_t{alignment})))
    {
        for (std::size_t i = pool_size; i-- != 0;)
            push(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i));
    }

    free_list_with_caches(const free_list_with_caches&) = delete;
    free_list_with_caches& operator=(const free_list_with_caches&) = delete;
    ~free_list_with_caches() { ::operator delete(memory_, std::align_val_t{alignment}); }

    void* allocate_object() noexcept
    {
        cache& mine = cache_of_this_thread();
        if (mine.count == 0 && !refill(mine))
            return nullptr;
        return mine.blocks[--mine.count];
    }

    void deallocate_object(void* object) noexcept
    {
        cache& mine = cache_of_this_thread();
        if (mine.count == cached_blocks)
            flush(mine, cached_blocks / 2);
        mine.blocks[mine.count++] = object;
    }

private:
    static constexpr std::size_t alignment = 64;
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    struct cache
    {
        free_list_with_caches* pool;
        std::size_t count;
        std::array<void*, cached_blocks> blocks;
    };

    cache& cache_of_this_thread() noexcept
    {
        if (this_thread_cache.pool != this)
            adopt(this_thread_cache);
        return this_thread_cache;
    }

    void adopt(cache& mine) noexcept
    {
        if (mine.count != 0)
            mine.pool->flush(mine, mine.count);
        mine.pool = this;
    }

    bool refill(cache& mine) noexcept
    {
        while (mine.count != cached_blocks / 2) {
            void* const block = pop();
            if (block == nullptr)
                break;
            mine.blocks[mine.count++] = block;
        }
        return mine.count != 0;
    }

    void flush(cache& mine, std::size_t count) noexcept
    {
        const std::uint32_t last = index_of(mine.blocks[mine.count - 1]);
        std::uint32_t first = last;
        for (std::size_t i = 1; i != count; ++i) {
            const std::uint32_t next = first;
            first = index_of(mine.blocks[mine.count - 1 - i]);
            links_[first].store(next, std::memory_order_relaxed);
        }
        mine.count -= count;
        push(first, last);
    }

    std::uint32_t index_of(const void* block) const noexcept
    {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory_) /
                                          stride_);
    }

    /// The index of a block in the low bits, the tag above.
    static std::uint64_t next_head(std::uint64_t head, std::uint32_t index) noexcept
    {
        return ((head >> 32) + 1) << 32 | index;
    }

    void* pop() noexcept
    {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        for (;;) {
            const auto index = static_cast<std::uint32_t>(head);
            if (index == none)
                return nullptr;
            const std::uint32_t next = links_[index].load(std::memory_order_relaxed);
            if (head_.compare_exchange_weak(head, next_head(head, next), std::memory_order_acq_rel,
                                            std::memory_order_acquire))
                return memory_ + index * stride_;
        }
    }

    void push(std::uint32_t first, std::uint32_t last) noexcept
    {
        std::uint64_t head = head_.load(std::memory_order_relaxed);
        do
            links_[last].store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
        while (!head_.compare_exchange_weak(head, next_head(head, first), std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    }

    static inline thread_local cache this_thread_cache{};

    std::size_t stride_;
    std::vector<std::atomic<std::uint32_t>> links_; ///< The next free block, by index.
    std::byte* memory_;
    alignas(alignment) std::atomic<std::uint64_t> head_{none};
};
} // namespace stand_ins
