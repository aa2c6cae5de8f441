// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Checks of blocks that are freed to arenas.
///
///     | block, as requested | up to a granule | canary: 16 bytes |      with a checking policy
///     <--------------------- extent ----------------------------->
///
/// Thread safety: none; the resource that owns the arenas synchronizes.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/resources/arena.hpp>
#include <memory_pool/core/resources/arena_marks.hpp>
#include <memory_pool/core/resources/arena_store.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>

#include <cstddef>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Checks the blocks of one resource: blocks in arenas of a store that `checks`, and large blocks.
template <class Arena>
class arena_checks
{
public:
    /// The size of the canary after each block.
    static constexpr std::size_t canary_bytes = fill_pattern::canary_bytes;

    arena_checks(const arena_store<Arena>& store, const oversized_blocks& large) noexcept : store_(store), large_(large)
    {
    }

    /// Effects: marks a block as in use.
    /// Returns: write_after_free if the bytes of the block changed while it was free.
    std::optional<error_kind> hand_out(void* block, const base::block_request& asked) const noexcept
    {
        const fill_pattern bytes_of_block = checks_for(asked.bytes);
        const bool is_untouched = bytes_of_block.is_untouched(block);
        bytes_of_block.mark_in_use(block);
        marks_at(block).add(block, asked, extent(asked.bytes));
        return is_untouched ? std::nullopt : std::optional(error_kind::write_after_free);
    }

    /// Returns: the misuse if freeing `block` is misuse. `block` may be any pointer. Each overflow is returned only
    ///   once.
    std::optional<base::misuse> misuse(void* block, const base::block_request& given) const noexcept
    {
        if (!store_.contains(block))
            return large_.misuse(block, given);
        if (const auto misuse = misuse_of_place(block))
            return *misuse;
        if (const base::block_request actual = marks_at(block).request_of(block); actual != given)
            return base::misuse(actual);
        if (checks_for(given.bytes).take_overflow(block))
            return error_kind::buffer_overflow;
        return std::nullopt;
    }

    /// Effects: marks a block of an arena as not in use.
    /// Preconditions: freeing the block is no misuse.
    void take_back(void* block, std::size_t bytes) const noexcept
    {
        marks_at(block).remove(block);
        checks_for(bytes).mark_free(block);
    }

private:
    static std::size_t extent(std::size_t bytes) noexcept { return arena_extent(bytes) + canary_bytes; }
    static fill_pattern checks_for(std::size_t bytes) noexcept { return {bytes, extent(bytes)}; }
    arena_marks marks_at(void* block) const noexcept { return store_.marks_of(*store_.arena_of(block)); }

    /// Returns the misuse if no block in use begins at `address`, which lies in an arena.
    std::optional<error_kind> misuse_of_place(void* address) const noexcept
    {
        if (static_cast<std::byte*>(address) < store_.start_of(*store_.arena_of(address)))
            return error_kind::foreign_pointer;
        const arena_marks marks = marks_at(address);
        if (marks.is_start(address))
            return std::nullopt;
        return marks.is_inside(address) ? error_kind::misaligned_pointer : error_kind::double_free;
    }

    const arena_store<Arena>& store_;
    const oversized_blocks& large_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
