// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slabs of a pool for one thread, and how blocks move between them and its caches. local_store hands them out.
///
///     magazine full:   its older half   -->  slabs
///     row complete:    all of it        -->  slabs, or the outgoing span
///     flush:           all caches       -->  slabs
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/core/blocks/allocation_counters.hpp>
#include <memory_pool/core/blocks/local_caches.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/slabs/block_row.hpp>
#include <memory_pool/core/slabs/block_span.hpp>
#include <memory_pool/core/slabs/slab_layout.hpp>
#include <memory_pool/core/slabs/slab_magazine.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/pool_options.hpp>

#include <cstddef>
#include <memory_resource>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Slabs, caches and, if `Counts`, counters of one pool.
template <bool Counts>
class local_slabs : public allocation_counters<Counts>, protected local_caches
{
public:
    using local_caches::changes, local_caches::stride;

protected:
    local_slabs(std::size_t stride, std::size_t block_size, const pool_options& options,
                const slab_store_options& store_options, std::pmr::memory_resource* upstream)
        : local_caches(stride),
          slabs_(slab_layout(stride, alignment_of_blocks(block_size, options.alignment), options.max_capacity,
                             blocks_in_a_step(options), store_options.listener != nullptr ? slab_granule : 1),
                 options.max_capacity, store_options, {name_in(options), block_size}, upstream)
    {
    }
    ~local_slabs() = default;

    /// Returns: whether the magazine ended in a row of blocks of these slabs, which was removed.
    bool begin_row() noexcept
    {
        const std::ptrdiff_t step = magazine_.step_of_row(stride_);
        if (step == 0 || !slabs_.owns(magazine_.row(step)))
            return false;
        incoming_ = magazine_.take_row(step);
        magazine_.close();
        return true;
    }

    /// Returns: the blocks of the completed incoming row.
    block_span take_row_out() noexcept
    {
        const block_row row = std::exchange(incoming_, {});
        const block_span span = slabs_.clip(row);
        this->uncount_deallocations((row.span().bytes() - span.bytes()) / stride_);
        return span;
    }

    /// Lets a few blocks into the magazine, to see whether they begin the next row.
    void end_row() noexcept
    {
        put(take_row_out());
        if (!magazine_.open(slab_magazine::row_length))
            make_room_in_magazine();
    }

    void make_room_in_magazine() noexcept
    {
        if (magazine_.open(patience))
            return;
        const std::size_t oldest = base::divide_round_up(magazine_.size(), 2);
        put(magazine_.blocks(), oldest);
        magazine_.forget_oldest(oldest);
        (void)magazine_.open(patience);
    }

    /// Empties the caches into the slabs.
    void flush() noexcept
    {
        flush_returned();
        put(std::exchange(outgoing_, {}));
    }

    /// The part of flush() whose cost is amortized over the blocks freed before.
    void flush_returned() noexcept
    {
        put(magazine_.blocks(), magazine_.size());
        magazine_.clear();
        put(take_row_out());
    }

    /// Begins a watch, in which freed blocks go straight into their slabs and are counted: see local_caches.
    void watch() noexcept
    {
        if (!is_watched()) {
            const base::late_reports reports(slabs_);
            flush_returned();
            magazine_.close();
        }
        begin_watch();
    }

    /// Puts blocks back into their slabs. Rejected blocks do not count as freed.
    void put(void* const* blocks, std::size_t count) noexcept
    {
        this->uncount_deallocations(slabs_.put(blocks, count));
    }
    void put(const block_span& span) noexcept { this->uncount_deallocations(slabs_.put(span)); }

    /// Puts all but `most` blocks of the outgoing span back.
    MEMORY_POOL_NOINLINE void limit_outgoing(std::size_t most) noexcept
    {
        if (outgoing_.bytes() <= most * stride_)
            return;
        char* const end = outgoing_.begin + most * stride_;
        put(block_span{end, std::exchange(outgoing_.end, end)});
    }

    slab_store slabs_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
