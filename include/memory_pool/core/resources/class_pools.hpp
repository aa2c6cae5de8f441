// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A resource's pools, one per size class and created on first use, and its large blocks.
///
///     pools:  [ 8 | 16 | 24 | ... ]      each: nothing, or a pool in memory from upstream
///                   |
///                   v
///                  pool of 16 bytes
///
/// The size of a block determines its class, so freeing needs no search.
///
/// Thread safety: `find`: any thread. Other functions: none; the owner synchronizes.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/resources/block_classes.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory_resource>
#include <new>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The pools of one resource.
template <class Pool>
class class_pools
{
public:
    /// Effects: constructs an object without pools. Pools allocate their slabs from `upstream_of_pools`. The pool
    ///   objects and large blocks are allocated from `upstream`. `name` is the name of the pools in reports.
    class_pools(const std::pmr::pool_options& options, std::pmr::memory_resource* upstream,
                std::pmr::memory_resource* upstream_of_pools, const char* name) noexcept
        : options_(actual(options)), upstream_of_pools_(upstream_of_pools), name_(name), large_(upstream)
    {
    }

    ~class_pools()
    {
        // One by one: the error handler may allocate when a pool under destruction reports misuse.
        while (has_pools())
            release();
    }

    /// Returns: the pool of the class, or nullptr if there is none yet.
    MEMORY_POOL_ALWAYS_INLINE Pool* find(std::size_t number) const noexcept
    {
        return pools_[number].load(std::memory_order_acquire);
    }

    /// Effects: creates the pool of the class, unless it exists.
    /// Throws: exceptions from upstream.
    Pool& make(std::size_t number)
    {
        if (Pool* const existing = find(number))
            return *existing;
        const deferred_callbacks deferred;
        memory_pool::pool_options options;
        options.alignment = block_class_alignment(number);
        options.growth_step = growth_step(block_sizes::size(number));
        options.max_cached_blocks = max_cached_blocks;
        options.name = name_;
        void* const memory = allocate_upstream(upstream(), sizeof(Pool), alignof(Pool), name_);
        base::failure_guard guard([&] { upstream()->deallocate(memory, sizeof(Pool), alignof(Pool)); });
        auto* const made = ::new (memory) Pool(block_sizes::size(number), options, upstream_of_pools_);
        guard.succeeded();
        pools_[number].store(made, std::memory_order_release);
        return *made;
    }

    /// Returns: the size in bytes of the largest block that pools allocate.
    std::size_t largest_block() const noexcept { return options_.largest_required_pool_block; }

    /// Returns: the size of the block that a pool allocates for `bytes` and `alignment`; for large blocks, `bytes`.
    std::size_t block_size(std::size_t bytes, std::size_t alignment) const noexcept
    {
        const std::size_t needed = bytes_in_class(bytes, alignment);
        return needed > largest_block() ? bytes : block_sizes::size(block_sizes::of(needed));
    }

    const char* name() const noexcept { return name_; }

    /// Effects: reports a misuse of a block that is in no pool, unless the block is nullptr.
    MEMORY_POOL_SLOW_PATH void report_misuse(const base::misuse& found, const void* block,
                                             const base::block_request& given) const noexcept
    {
        if (block != nullptr)
            base::report_misuse(found, block, given, name_);
    }

    oversized_blocks& large() noexcept { return large_; }
    const oversized_blocks& large() const noexcept { return large_; }
    std::pmr::memory_resource* upstream() const noexcept { return large_.upstream(); }

    /// Effects: returns all memory to upstream.
    void release() noexcept
    {
        large_.release();
        for (std::atomic<Pool*>& place : pools_) {
            if (Pool* const leaving = place.exchange(nullptr, std::memory_order_relaxed)) {
                leaving->~Pool();
                upstream()->deallocate(leaving, sizeof(Pool), alignof(Pool));
            }
        }
    }

    /// Effects: frees all blocks; keeps the pools and their slabs.
    void clear() noexcept
    {
        large_.release();
        for_each([](Pool& pool) { pool.clear(); });
    }

    /// Returns: the pool that owns the block at `address`, or nullptr. Any pointer is allowed.
    Pool* find_owner(const void* address) const noexcept
    {
        Pool* owner = nullptr;
        for_each([&](Pool& pool) { owner = owner == nullptr && pool.owns(address) ? &pool : owner; });
        return owner;
    }

    /// Effects: calls `visit(Pool&)` for each existing pool.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for (std::size_t number = 0; number != block_sizes::count; ++number)
            if (Pool* const pool = find(number))
                visit(*pool);
    }

    /// Effects: returns slabs without blocks in use to upstream.
    /// Returns: the number of bytes returned.
    std::size_t trim() noexcept
    {
        std::size_t bytes = 0;
        for_each([&bytes](Pool& pool) { bytes += pool.trim(); });
        return bytes;
    }

    /// Returns: bytes in blocks in use, except large blocks.
    std::size_t bytes_in_pools() const noexcept
    {
        std::size_t sum = 0;
        for_each([&sum](const Pool& pool) { sum += pool.in_use() * pool.block_size(); });
        return sum;
    }

    /// Returns: bytes that the pools hold, except large blocks.
    std::size_t bytes_for_pools() const noexcept
    {
        std::size_t sum = 0;
        for_each([&sum](const Pool& pool) { sum += pool.bytes_reserved() + sizeof(Pool); });
        return sum;
    }

    bool verify() const noexcept
    {
        bool all_are = true;
        for_each([&all_are](Pool& pool) { all_are = all_are && pool.verify(); });
        return all_are;
    }

    /// Returns: the options in effect.
    const std::pmr::pool_options& options() const noexcept { return options_; }

private:
    bool has_pools() const noexcept
    {
        bool any = false;
        for_each([&any](const Pool&) { any = true; });
        return any;
    }

    /// Containers often free their nodes in an order unrelated to addresses. With larger magazines, refilling a map
    /// scatters its nodes and takes a third longer.
    static constexpr std::size_t max_cached_blocks = 256;

    /// Bytes of a growth step if the number of blocks is not specified.
    static constexpr std::size_t max_chunk_bytes_by_default = std::size_t{1} << 20;

    /// As in the standard library's pools.
    static constexpr std::size_t default_largest_block = 4096;

    static std::pmr::pool_options actual(std::pmr::pool_options options) noexcept
    {
        const std::size_t largest =
            options.largest_required_pool_block != 0 ? options.largest_required_pool_block : default_largest_block;
        options.largest_required_pool_block =
            block_sizes::size(block_sizes::of(std::min(largest, block_sizes::largest)));
        if (options.max_blocks_per_chunk == 0)
            options.max_blocks_per_chunk = max_chunk_bytes_by_default / block_sizes::size(0);
        return options;
    }

    /// Returns the number of blocks of a growth step. 0: the pool decides, up to 1 MiB.
    std::size_t growth_step(std::size_t block_size) const noexcept
    {
        constexpr std::size_t usual_step = std::size_t{64} * 1024;
        const std::size_t max_blocks = options_.max_blocks_per_chunk;
        if (max_blocks >= max_chunk_bytes_by_default / block_size)
            return 0;
        return std::min(max_blocks, std::max<std::size_t>(usual_step / block_size, 1));
    }

    std::array<std::atomic<Pool*>, block_sizes::count> pools_{};
    const std::pmr::pool_options options_;
    std::pmr::memory_resource* const upstream_of_pools_;
    const char* const name_;
    oversized_blocks large_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
