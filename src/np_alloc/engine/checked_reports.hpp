// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds and reports misuse of blocks in the checked build.
///
///     address -> checked_lookup.hpp -> no block | not in use | canaries | allocation function | size -> report
///
/// An error handler that returns may have freed the block, so each function checks again before the next report.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../hardening/block_state.hpp"
#include "../hardening/checked_slice.hpp"
#include "../hardening/dealloc_mismatch.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "block_lookup.hpp"
#include "checked_lookup.hpp"
#include "engine.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace memory_pool::np::checked {
/// Effects: reports an address where no block begins.
MEMORY_POOL_SLOW_PATH inline void report_no_block(slice_tag tag, const void* address) noexcept
{
    const page_heap::region_type& all = pages().region();
    if (all.slices_before(address) >= all.slices())
        report_wrong_outside(address);
    else if (tag != no_owner || is_misaligned(address))
        report_misuse(error_kind::misaligned_pointer, address, last_asked_around(tag, address));
    else
        report_misuse(error_kind::double_free, address, 0); // Its block was freed, and no record of it is left.
}

/// Effects: reports an address where no block begins.
/// Returns: the block that begins at `block`; nothing if there is none.
inline std::optional<checked_block> locate(void* block) noexcept
{
    const slice_tag tag = tag_of(block);
    const std::optional<checked_block> found = find_block(tag, block);
    if (MEMORY_POOL_UNLIKELY(!found))
        report_no_block(tag, block);
    return found;
}

MEMORY_POOL_SLOW_PATH inline void report(error_kind kind, const checked_block& where,
                                         const char* to = "np_alloc") noexcept
{
    report_misuse(kind, where.begin, last_asked(where), to);
}

/// Effects: reports a block that is not in use.
/// Returns: the requested size; nothing if the block is not in use.
inline std::optional<std::size_t> asked_bytes(const checked_block& where) noexcept
{
    if (where.is_outside())
        return pages().mmap_bytes(where.begin);
    const std::optional<std::size_t> noted = where.state->bytes();
    if (MEMORY_POOL_UNLIKELY(!noted)) {
        report(error_kind::double_free, where);
        return std::nullopt;
    }
    return asked(where, *noted);
}

// Canaries.

/// Effects: reports a write just before a block. (The first page of a large block is behind a guard.)
inline void look_at_front(const checked_block& where) noexcept
{
    if (where.is_outside() || where.is_zero_size())
        return;
    if (where.is_large()) {
        if (MEMORY_POOL_UNLIKELY(pages().checks().mend_front_of_large(slice_of(where.begin))))
            report(error_kind::buffer_underflow, where);
        return;
    }
    const checked_slice& slab = slab_of(class_info[where.tag & class_bits], pages().region().record_of(where.begin));
    if (MEMORY_POOL_UNLIKELY(!is_front_intact(slab, where.begin)))
        if (const auto found = pages().checks().mend_front(where.begin))
            report_misuse(found->kind, found->address, found->block_size);
}

inline void look_at_canary(const checked_block& where, std::size_t bytes) noexcept
{
    if (!where.is_zero_size() &&
        MEMORY_POOL_UNLIKELY(!the_canary.is_intact(where.begin + bytes, where.begin + where.block_bytes))) {
        write_canary(where, bytes); // so that it is reported once
        report_misuse(error_kind::buffer_overflow, where.begin, bytes);
    }
}

/// Effects: reports writes before a block and behind its requested `bytes`. Stops if the error handler has freed the
///   block.
inline void look_at_canaries(const checked_block& where, std::size_t bytes) noexcept
{
    if (where.is_outside() && pages().slots().contain(where.begin)) {
        look_around_sample(where.begin);
        return;
    }
    look_at_front(where);
    if (is_in_use(where))
        look_at_canary(where, bytes);
}

// Frees.

inline constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

/// Effects: reports a block with a requested size of `bytes` that is freed with another size, `expected`.
inline void look_at_size(const void* block, std::size_t bytes, std::size_t expected) noexcept
{
    if (MEMORY_POOL_UNLIKELY(expected != any_size && expected != bytes))
        report_misuse(error_kind::size_mismatch, block, bytes);
}

/// Returns: the function that allocated a block in use; nothing if unknown.
inline std::optional<allocated_by> function_of(const checked_block& where) noexcept
{
    if (!where.is_outside())
        return where.state->function();
    return pages().with_guarded(
        where.begin, [&where](guarded_slots& slots) { return std::optional(slots.at(where.begin).function); });
}

/// Effects: sets the allocation function of a block in use.
inline void set_function(const checked_block& where, allocated_by function) noexcept
{
    if (!where.is_outside())
        where.state->set_function(function);
    else
        (void)pages().with_guarded(where.begin, [&](guarded_slots& slots) {
            slots.at(where.begin).function = function;
            return true;
        });
}

/// Effects: reports a mismatched deallocation of a block in use, unless NP_PAIRS is 0, or the mismatch involves
///   operators and the program has replaced operators.
MEMORY_POOL_SLOW_PATH inline void report_no_pair(const checked_block& where, std::size_t bytes, allocated_by from,
                                                 freed_by given_to) noexcept
{
    if (the_options.get(np_option_pairs) == 0 || (is_of_operators(from, given_to) && operators_are_replaced()))
        return;
    report_misuse(error_kind::mismatched_deallocation, where.begin, bytes, "np_alloc",
                  base::message("it was allocated by %s, but freed by %s: free it with %s; NP_PAIRS=0 ignores "
                                "mismatches",
                                name_of(from), name_of(given_to), partner_of(from))
                      .c_str());
}

/// Effects: as report_no_pair, if the functions do not match.
inline void look_at_pair(const checked_block& where, std::size_t bytes, freed_by given_to) noexcept
{
    if (const auto from = function_of(where); MEMORY_POOL_UNLIKELY(from && !are_pair(*from, given_to)))
        report_no_pair(where, bytes, *from, given_to);
}

/// Effects: reports the misuse of a block in use that `function` frees with a size of `expected`. Outside of the
///   region, only the requested sizes of guarded samples are known; a request of 0 bytes counts as 1 there.
inline void report_wrong_free(const checked_block& where, std::size_t bytes, std::size_t expected,
                              freed_by function) noexcept
{
    look_at_canaries(where, bytes);
    if (where.is_outside() && !pages().slots().contain(where.begin))
        return;
    if (is_in_use(where))
        look_at_pair(where, bytes, function);
    if (is_in_use(where))
        look_at_size(where.begin, bytes, where.is_outside() ? std::max<std::size_t>(expected, 1) : expected);
}
} // namespace memory_pool::np::checked
