// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The process-wide pools, one for each size class, over new and delete. They are never destroyed because blocks may
/// outlive static objects.
///
///     ready:   [ 16 | 32 | 48 | ... ]     zero before any constructor runs; each: nothing yet, or
///                 |
///                 v
///                pool of 16 bytes         in class_pools, created on first use, under the lock
///
/// `ready` is at a fixed address, so finding the pool for a constant size is one load.
///
/// Thread safety: any thread, even at thread exit and during static destruction.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/core/resources/block_classes.hpp>
#include <memory_pool/core/resources/class_pools.hpp>
#include <memory_pool/core/resources/locked_upstream.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The process-wide pools of type `Pool`, shared by threads.
template <class Pool>
class process_pools
{
public:
    /// The size in bytes of the largest block that pools allocate.
    static constexpr std::size_t largest_block = std::size_t{32} * 1024;

    /// Returns: a block, never nullptr.
    /// Preconditions: `alignment` is a power of two.
    /// Throws: size_overflow if `bytes` exceeds the address space; exceptions from new.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE static void* allocate(std::size_t bytes, std::size_t alignment)
    {
        const std::size_t needed = bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > largest_block))
            return allocate_large(bytes, alignment);
        const std::size_t number = block_sizes::of(needed);
        Pool* const pool = ready[number].load(std::memory_order_acquire);
        return MEMORY_POOL_LIKELY(pool != nullptr) ? pool->allocate() : allocate_first(number);
    }

    /// Effects: frees a block. Ignores nullptr.
    /// Preconditions: the block is from `allocate` with these arguments, and in use. Otherwise, the pool of this size
    ///   reports misuse if its policy requires it.
    MEMORY_POOL_ALWAYS_INLINE static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        const std::size_t needed = bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > largest_block)) {
            deallocate_large(block, bytes, alignment);
            return;
        }
        Pool* const pool = ready[block_sizes::of(needed)].load(std::memory_order_acquire);
        if (MEMORY_POOL_LIKELY(pool != nullptr))
            pool->deallocate(block);
        else
            report_foreign(block, bytes, alignment);
    }

    /// Effects: returns slabs without blocks in use to new and delete.
    /// Returns: the number of bytes returned.
    static std::size_t trim() noexcept { return get().pools.trim(); }

    /// Returns: bytes in use: the block sizes of the pools, and the requested sizes of large blocks. Approximate while
    ///   other threads are active.
    static std::size_t bytes_in_use() noexcept
    {
        return get().pools.bytes_in_pools() + with_large([](const oversized_blocks& l) { return l.bytes_in_use(); });
    }

    /// Returns: bytes allocated by new and not yet deleted, including bookkeeping.
    static std::size_t bytes_reserved() noexcept
    {
        return get().pools.bytes_for_pools() + with_large([](const oversized_blocks& l) { return l.bytes_reserved(); });
    }

    /// Returns: whether the invariants hold.
    static bool verify() noexcept { return get().pools.verify(); }

private:
    struct all
    {
        locked_upstream gate{std::pmr::new_delete_resource()}; ///< Only its lock is used. Pools call new directly.
        class_pools<Pool> pools{{0, largest_block},
                                std::pmr::new_delete_resource(),
                                std::pmr::new_delete_resource(),
                                "of coroutine frames"};
    };

    static all& get() noexcept
    {
        alignas(all) static std::byte memory[sizeof(all)];
        static auto* const made = ::new (static_cast<void*>(memory)) all;
        return *made;
    }

    template <class Look>
    static auto with_large(Look&& look)
    {
        all& mine = get();
        const pool_lock held = mine.gate.lock();
        return look(mine.pools.large());
    }

    MEMORY_POOL_SLOW_PATH static void* allocate_first(std::size_t number)
    {
        all& mine = get();
        Pool* pool = nullptr;
        {
            const pool_lock held = mine.gate.lock();
            pool = &mine.pools.make(number);
            ready[number].store(pool, std::memory_order_release);
        }
        return pool->allocate();
    }

    MEMORY_POOL_SLOW_PATH static void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        return with_large([&](oversized_blocks& large) { return large.allocate(bytes, alignment); });
    }

    MEMORY_POOL_SLOW_PATH static void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if (block == nullptr)
            return;
        const base::block_request given{bytes, alignment};
        const auto found = with_large([&](oversized_blocks& large) -> std::optional<base::misuse> {
            if constexpr (base::checked_policy<typename Pool::policy>::checks)
                if (const std::optional<base::misuse> misuse = large.misuse(block, given))
                    return misuse;
            if (!large.deallocate(block, bytes, alignment))
                return base::misuse(error_kind::foreign_pointer);
            return std::nullopt;
        });
        if (found)
            get().pools.report_misuse(*found, block, given);
    }

    MEMORY_POOL_SLOW_PATH static void report_foreign(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        get().pools.report_misuse(error_kind::foreign_pointer, block, {bytes, alignment});
    }

    static inline std::array<std::atomic<Pool*>, block_sizes::of(largest_block) + 1> ready{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
