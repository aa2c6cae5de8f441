// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A memory resource over a pool of blocks, for std::pmr containers whose nodes all have the same size.
///
///     std::pmr::list<T> -> block_resource --- fits into a block ---> pool
///                                         --- does not ------------> upstream
///
/// Size and alignment alone determine whether a request fits, so each block returns to its origin. Containers request
/// the alignment of their nodes. A call without an alignment requests `alignof(std::max_align_t)`, which blocks of 24
/// bytes have only if the pool's options request it.
///
/// Thread safety: as the pool and upstream.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A view of a `Pool` (a block_pool or a concurrent_block_pool, with any policy) as a memory resource.
template <class Pool>
class block_resource final : public std::pmr::memory_resource, public detail::core::resource_by_address
{
public:
    /// Effects: makes a view of `pool`. Requests that do not fit into a block go to the pool's upstream.
    /// Preconditions: the pool outlives the view. If threads share the pool, its upstream is thread-safe, because the
    ///   view does not take the pool's lock. If upstream is not thread-safe, use the other constructor.
    explicit block_resource(Pool& pool) noexcept : pool_(pool), upstream_(pool.upstream_resource()) {}

    /// Effects: makes a view of `pool`. Requests that do not fit into a block go to `upstream`.
    ///   (std::pmr::null_memory_resource() rejects such requests.)
    /// Preconditions: `pool` and `upstream` outlive the view.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    block_resource(Pool& pool, std::pmr::memory_resource* upstream) : pool_(pool), upstream_(upstream)
    {
        detail::core::check_upstream(upstream, pool.name());
    }

    block_resource(const block_resource&) = delete;
    block_resource& operator=(const block_resource&) = delete;

    /// Effects: releases nothing: the blocks belong to the pool.
    ~block_resource() override = default;

    /// Effects: allocates a block from the pool or upstream. A call through the concrete type is not virtual.
    /// Returns: the block: at least `bytes` bytes, aligned to `alignment`.
    /// Throws: pool_exhausted if the pool is at its limit; what upstream throws.
    /// Complexity: as the pool or upstream.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes,
                                                           std::size_t alignment = alignof(std::max_align_t))
    {
        if (MEMORY_POOL_LIKELY(fits(bytes, alignment)))
            return pool_.allocate();
        return allocate_upstream(bytes, alignment);
    }

    /// Effects: returns a block to the pool or upstream. nullptr is ignored.
    /// Preconditions: `block` was requested with these `bytes` and this `alignment`. If the pool has a checking policy,
    ///   a call for a block of the pool with a size or alignment that does not fit is reported and ignored.
    /// Complexity: as the pool or upstream.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block, std::size_t bytes,
                                              std::size_t alignment = alignof(std::max_align_t)) noexcept
    {
        if (MEMORY_POOL_LIKELY(fits(bytes, alignment)))
            pool_.deallocate(block);
        else if (block != nullptr)
            deallocate_upstream(block, bytes, alignment);
    }

    /// Returns: the usable size of a block requested with `bytes` and `alignment`.
    std::size_t good_size(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) const noexcept
    {
        return fits(bytes, alignment) ? pool_.block_size() : bytes;
    }

    /// Returns: the pool.
    Pool& pool() const noexcept { return pool_; }

    /// Returns: the upstream for requests that do not fit into a block.
    std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

private:
    bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    {
        return bytes <= pool_.block_size() && alignment <= pool_.alignment();
    }

    /// If upstream fails, returns free slabs of the pool to upstream and retries.
    MEMORY_POOL_SLOW_PATH void* allocate_upstream(std::size_t bytes, std::size_t alignment)
    {
        void* block = nullptr;
        detail::base::try_again_after(detail::base::by_trimming(pool_), [&] {
            block = detail::core::allocate_upstream(upstream_, bytes, alignment, pool_.name());
        });
        return block;
    }

    void deallocate_upstream(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if constexpr (Pool::policy::checks)
            if (pool_.owns(block)) {
                detail::base::report_misuse(detail::base::misuse({pool_.block_size(), pool_.alignment()}), block,
                                            {bytes, alignment}, pool_.name());
                return;
            }
        upstream_->deallocate(block, bytes, alignment);
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    Pool& pool_;
    std::pmr::memory_resource* const upstream_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
