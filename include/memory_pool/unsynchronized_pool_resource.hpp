// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size, for one thread. Takes the place of the class of the same name in
/// std::pmr.
///
///     8 bytes:   pool of blocks          a block of 50 bytes comes from the pool of 56, and goes back to it
///     16 bytes:  pool of blocks
///     ...
///     large:     one by one from upstream
///
///     bytes_in_use = sum over pools of (blocks in use * block size) + large blocks
///
/// For containers that live long and change: every block can be used again as soon as it is back. Where all is given back
/// together, an arena resource is faster still.
///
/// Thread safety: none. Use one from one thread at a time, or a synchronized_pool_resource.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/block_classes.hpp>
#include <memory_pool/core/class_pools.hpp>
#include <memory_pool/core/pool_arguments.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool
{
/// Pools by size for one thread. See `unsynchronized_pool_resource` for the plain one, and base/policies.hpp for `Policy`, which is
/// that of the pools.
template <class Policy = default_policy>
class basic_unsynchronized_pool_resource final : public std::pmr::memory_resource
{
public:
    /// The variant that this resource is.
    using policy = Policy;

    /// Effects: makes a resource over the default resource.
    basic_unsynchronized_pool_resource() : basic_unsynchronized_pool_resource(std::pmr::pool_options{}) {}

    /// Effects: makes a resource over `upstream`.
    explicit basic_unsynchronized_pool_resource(std::pmr::memory_resource* upstream)
        : basic_unsynchronized_pool_resource(std::pmr::pool_options{}, upstream)
    {
    }

    /// Effects: makes a resource. Takes nothing from `upstream` yet. `options` mean what they do for std::pmr: the most blocks that
    ///   a pool takes at once, and the largest block that comes from a pool; 0 stands for the default: up to a MiB, and 4096
    ///   bytes. Pools for blocks larger than a MiB there are none.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    /// Complexity: O(1).
    explicit basic_unsynchronized_pool_resource(const std::pmr::pool_options& options,
                                                std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : pools_(options, upstream, upstream), largest_block_(pools_.options().largest_required_pool_block)
    {
        core::check_upstream(upstream, "resource");
    }

    basic_unsynchronized_pool_resource(const basic_unsynchronized_pool_resource&) = delete;
    basic_unsynchronized_pool_resource& operator=(const basic_unsynchronized_pool_resource&) = delete;

    /// Effects: gives everything back upstream. Blocks still in use are gone.
    ~basic_unsynchronized_pool_resource() override = default;

    /// Effects: hands out a block. Through the concrete type this is no virtual call; see resource_allocator.
    /// Returns: it: `bytes` bytes, aligned to `alignment`. Also for 0 bytes it is not nullptr.
    /// Preconditions: `alignment` is a power of two.
    /// Throws: size_overflow if `bytes` is more than a program can address; what upstream throws. No block is handed out then.
    /// Complexity: O(1), and now and then a call upstream.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes,
                                                           std::size_t alignment = alignof(std::max_align_t))
    {
        const std::size_t needed = core::bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > largest_block_))
            return allocate_large(bytes, alignment);
        const std::size_t number = core::block_class_of(needed);
        pool_type* const pool = pools_.find(number);
        return MEMORY_POOL_LIKELY(pool != nullptr) ? pool->allocate() : allocate_first(number, alignment);
    }

    /// Effects: takes a block back. nullptr is ignored.
    /// Preconditions: `block` is from this resource and in use, and was asked for with these `bytes` and this `alignment`. If not,
    ///   the pool of that size reports it, as its policy says.
    /// Complexity: O(1).
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block, std::size_t bytes,
                                              std::size_t alignment = alignof(std::max_align_t)) noexcept
    {
        const std::size_t needed = core::bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > largest_block_)) {
            deallocate_large(block, bytes, alignment);
            return;
        }
        pool_type* const pool = pools_.find(core::block_class_of(needed));
        if (MEMORY_POOL_LIKELY(pool != nullptr))
            pool->deallocate(block);
        else
            core::report_misuse_in_pools(error::foreign_pointer, block, bytes);
    }

    /// Effects: gives every slab that is wholly free back upstream.
    /// Returns: how many bytes went back.
    /// Complexity: linear in slabs and free blocks.
    std::size_t trim() noexcept { return pools_.trim(); }

    /// Effects: takes every block back, and gives everything back upstream. The resource works on.
    /// Complexity: linear in slabs and large blocks.
    void release() noexcept { pools_.release(); }

    /// Returns: the options as they are heeded.
    std::pmr::pool_options options() const noexcept { return pools_.options(); }

    /// Returns: bytes in blocks in use, each as large as its pool makes it, and in large blocks.
    /// Complexity: linear in pools.
    std::size_t bytes_in_use() const noexcept { return pools_.bytes_in_pools() + pools_.large().bytes_in_use(); }

    /// Returns: bytes taken from upstream and not given back, bookkeeping included.
    /// Complexity: linear in pools.
    std::size_t bytes_reserved() const noexcept { return pools_.bytes_for_pools() + pools_.large().bytes_reserved(); }

    /// Returns: where the memory comes from.
    std::pmr::memory_resource* upstream_resource() const noexcept { return pools_.upstream(); }

    /// Returns: whether the bookkeeping is in order. For tests.
    /// Complexity: linear in blocks.
    bool is_valid() const noexcept { return pools_.is_valid(); }

private:
    using pool_type = basic_block_pool<Policy>;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    MEMORY_POOL_SLOW_PATH void* allocate_first(std::size_t number, std::size_t alignment)
    {
        core::check_alignment(alignment, "resource");
        return pools_.make(number).allocate();
    }

    MEMORY_POOL_SLOW_PATH void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        core::check_alignment(alignment, "resource");
        return pools_.large().allocate(bytes, alignment);
    }

    MEMORY_POOL_SLOW_PATH void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if (block == nullptr)
            return;
        if constexpr (Policy::checks)
            if (const auto misuse = pools_.large().misuse(block, bytes, alignment))
                return core::report_misuse_in_pools(*misuse, block, bytes);
        if (!pools_.large().deallocate(block, bytes, alignment))
            core::report_misuse_in_pools(error::foreign_pointer, block, bytes);
    }

    core::class_pools<pool_type> pools_;
    const std::size_t largest_block_;
};

/// Pools by size for one thread, without checks beyond those that cost nothing.
using unsynchronized_pool_resource = basic_unsynchronized_pool_resource<>;
} // namespace memory_pool
