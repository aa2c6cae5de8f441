// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "checked.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../hardening/block_state.hpp"
#include "../hardening/checked_slice.hpp"
#include "../hardening/dealloc_mismatch.hpp"
#include "../hardening/quarantine.hpp"
#include "../heaps/shared_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "allocation_scopes.hpp"
#include "block_lookup.hpp"
#include "checked_lookup.hpp"
#include "checked_reports.hpp"
#include "defrag.hpp"
#include "engine.hpp"
#include "large_alloc.hpp"
#include "memory_limits.hpp"
#include "profiling.hpp"
#include "reallocate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>

/// 1 in libnp_malloc, which replaces malloc and has the operators.
#ifndef MEMORY_POOL_TAKES_PLACE_OF_MALLOC
#define MEMORY_POOL_TAKES_PLACE_OF_MALLOC 0
#endif

namespace memory_pool::np::checked { namespace {
// Allocation.

/// Effects: zeroes the requested bytes of a new block. If `is_zero`, only the few bytes that the canary may have
///   overwritten are not zero yet.
MEMORY_POOL_NOINLINE void clear_new(std::byte* block, std::size_t bytes, bool is_zero) noexcept
{
    const std::size_t from = is_zero && bytes > canary::max_bytes_before ? bytes - canary::max_bytes_before : 0;
    std::memset(block + from, 0, bytes - from);
}

/// Writes the canary of a block that was written to after free, and reports the write with the previously requested
/// size. The report comes last, because the error handler may leave by longjmp.
MEMORY_POOL_SLOW_PATH void hand_out_damaged(block_state& state, std::byte* block, std::size_t block_bytes,
                                            std::size_t bytes, std::size_t bytes_before) noexcept
{
    the_canary.write_last(block + block_bytes);
    the_canary.write_to_new(block + bytes, block + block_bytes);
    if (clears_new_blocks())
        clear_new(block, bytes, false);
    state.begin_use();
    const auto before = bytes_before == 0 ? pages().checks().mend_front(block) : std::nullopt;
    if (before && before->kind == error_kind::buffer_overflow) // The preceding block overflowed.
        report_misuse(before->kind, before->address, before->block_size);
    else
        report_misuse(error_kind::write_after_free, block, bytes_before);
}

/// Effects: faults in the pages of a block for writing, without changing them. A read fault would cost a second fault
///   at the first write, and would interrupt every other thread.
void prefault(std::byte* block, std::size_t bytes) noexcept
{
    os::for_each_page(block, bytes, [](unsigned char* byte) { // NOLINT(readability-non-const-parameter): written to
        unsigned char expected = 0;
        (void)__atomic_compare_exchange_n(byte, &expected, expected, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    });
}

/// As hand_out(), for a block that was purged or never allocated.
MEMORY_POOL_SLOW_PATH void hand_out_unfilled(block_state& state, std::byte* block, std::size_t block_bytes,
                                             std::size_t bytes, allocated_by function) noexcept
{
    const std::size_t bytes_before = state.last_bytes();
    prefault(block, block_bytes);
    const bool is_intact = !fills_free_memory() || is_as_left(state, block, block_bytes);
    the_canary.write_last(block + block_bytes); // First: other threads accept zeros only in a purged block.
    (void)state.hand_out(bytes, function);
    if (!is_intact) {
        hand_out_damaged(state, block, block_bytes, bytes, bytes_before);
        return;
    }
    the_canary.write_to_new(block + bytes, block + block_bytes);
    if (clears_new_blocks())
        clear_new(block, bytes, false);
    state.begin_use();
}

/// Effects: marks a block of a slab as in use with `bytes` requested bytes, at least one.
MEMORY_POOL_ALWAYS_INLINE void hand_out(block_state& state, std::byte* block, std::size_t block_bytes,
                                        std::size_t bytes, allocated_by function) noexcept
{
    if (MEMORY_POOL_UNLIKELY(state.is_not_filled())) {
        hand_out_unfilled(state, block, block_bytes, bytes, function);
        return;
    }
    const std::optional<std::size_t> bytes_before = state.hand_out(bytes, function);
    const bool is_verified = MEMORY_POOL_LIKELY(bytes_before.has_value()) && fills_free_memory();
    if (is_verified && MEMORY_POOL_UNLIKELY(!is_poisoned_block(block, block_bytes))) {
        hand_out_damaged(state, block, block_bytes, bytes, *bytes_before);
        return;
    }
    the_canary.write_to_new(block + bytes, block + block_bytes);
    if (MEMORY_POOL_UNLIKELY(clears_new_blocks()))
        clear_new(block, bytes, is_verified && the_poison.load(std::memory_order_relaxed) == 0);
    state.begin_use();
}

/// Effects: as hand_out(), for a block outside of the region.
/// Returns: the block; a guarded sample moves, to end as close to its guard as `alignment` allows.
MEMORY_POOL_NOINLINE void* hand_out_outside(void* block, std::size_t bytes, std::size_t alignment,
                                            allocated_by function) noexcept
{
    void* const fitted = pages().fit_guarded(block, bytes, alignment, function);
    if (pages().slots().contain(fitted))
        sample_if_due(fitted, bytes, nullptr);
    else
        write_canary(outside_block(fitted), pages().mmap_bytes(fitted));
    return fitted;
}

/// Effects: as hand_out(), for a block of a class in or outside of the region. No-op for nullptr.
/// Returns: as hand_out_outside().
MEMORY_POOL_ALWAYS_INLINE void* hand_out(std::size_t size_class, void* block, std::size_t bytes, allocated_by function,
                                         std::size_t alignment = alignment_of_all) noexcept
{
    const page_heap::region_type& all = pages().region();
    const std::uintptr_t granule = all.granule_index(block);
    if (MEMORY_POOL_UNLIKELY(!all.is_committed(granule)))
        return block != nullptr ? hand_out_outside(block, bytes, alignment, function) : nullptr;
    const size_class_info& info = class_info[size_class];
    checked_slice& slab = slab_of(info, all.record_after(granule));
    hand_out(slab.blocks[number_in(slab, info, block)], static_cast<std::byte*>(block), info.block_bytes, bytes,
             function);
    return block;
}

MEMORY_POOL_ALWAYS_INLINE void* allocate_in_class_at_random(std::size_t size_class, std::size_t bytes) noexcept
{
    void* block = allocate_in_class(size_class, bytes);
    thread_cache& cache = this_thread.cache;
    const page_heap::region_type& all = pages().region();
    const bool may_be_cached =
        all.is_committed(all.granule_index(block)) && cache.has_heap() && !(cache.is_counting() && is_sample(block));
    if (MEMORY_POOL_LIKELY(may_be_cached) && the_options.get(np_option_random_order) != 0)
        cache.shuffle_in(size_class, block, cache.heap().checks.random);
    return block;
}

/// Returns: a large block whose first bytes are filled, because a pointer read from zeros would be nullptr, which a
///   program may free. If there is no memory, sets errno and returns nullptr.
MEMORY_POOL_NOINLINE void* allocate_large_by(std::size_t bytes, std::size_t alignment, allocated_by function) noexcept
{
    constexpr std::size_t max_filled = 64;
    void* const block = allocate_large(bytes, alignment).block;
    if (block == nullptr || tag_of(block) != large_block)
        return block;
    pages().checks().large_allocated_by(slice_of(block), function);
    if (fills_free_memory() && !clears_new_blocks())
        poison(block, std::min(bytes, max_filled));
    return block;
}

/// Returns: an inaccessible block of 0 bytes. If there is no memory, sets errno and returns nullptr.
void* allocate_zero_size(allocated_by function) noexcept
{
    constexpr std::size_t smallest = sizes::of(0);
    constexpr std::size_t with_bytes = sizes::of(with_canary(0));
    if (!registry().heaps().start())
        return out_of_memory();
    void* const block = registry().heaps().zero_size.allocate(smallest, 0);
    if (block == nullptr)
        return hand_out(with_bytes, allocate_in_class(with_bytes, 0), 0, function);
    note_if_forbidden(0);
    checked_slice& slab = pages().region().record_of(block);
    const std::size_t number = number_in(slab, class_info[smallest], block);
    const bool was_given_back = slab.blocks[number].hand_out(0, function).has_value();
    slab.blocks[number].begin_use();
    if (number == 0 && !was_given_back) // A slab's first block is allocated first.
        pages().checks().guard_all(slab.slab, slab_slices(smallest));
    return block;
}

// Deallocation.

/// Effects: frees a block without the thread's quarantine.
MEMORY_POOL_NOINLINE void free_at_once(void* block) noexcept
{
    plain_paths::free(block);
}

/// Effects: quarantines a block of a slab, and frees the oldest blocks of the quarantine as its limits require.
///   `is_own`: the block belongs to this thread's heap. This stays true, because the slab is not freed during the call.
MEMORY_POOL_ALWAYS_INLINE void free_later(std::size_t size_class, void* block, bool is_own) noexcept
{
    const std::size_t max_bytes = the_options.get(np_option_quarantine_bytes);
    thread_cache& cache = this_thread.cache;
    quarantine& queue = cache.heap().checks.quarantined;
    const auto free_now = [&cache](const quarantine::entry& oldest) {
        if (MEMORY_POOL_UNLIKELY(!oldest.is_own))
            plain_paths::free(oldest.block);
        else if (MEMORY_POOL_UNLIKELY(!cache.push_slowly(oldest.size_class, oldest.block)))
            free_to_full(oldest.size_class, oldest.block);
    };
    if (MEMORY_POOL_UNLIKELY(max_bytes == 0 && queue.bytes_in_rings() != 0)) // The limit was not 0 before.
        queue.pop_all([](std::size_t, void* oldest) { plain_paths::free(oldest); });
    if (quarantine::has_ring(size_class) && max_bytes != 0) {
        if (const quarantine::entry oldest = queue.replace(size_class, block, is_own); oldest.block != nullptr)
            free_now(oldest);
        return;
    }
    queue.push(size_class, block, is_own);
    while (queue.bytes() > max_bytes || queue.is_full())
        free_now(queue.pop());
}

/// Effects: frees a block of a slab of another heap.
MEMORY_POOL_NOINLINE void free_of_another(slice_tag tag, void* block) noexcept
{
    const errno_as_it_was kept;
    if (shared_heap_of(block, tag) == nullptr && this_thread.cache.has_heap())
        free_later(tag & class_bits, block, false);
    else
        plain_paths::free(block);
}

/// Effects: marks a block in the region as free. Reports a double free if another thread, or the error handler, has
///   freed it first.
/// Returns: whether the block was in use.
bool take_back(const checked_block& where) noexcept
{
    if (!where.state->take_back()) {
        report(error_kind::double_free, where);
        return false;
    }
    where.state->end_use();
    return true;
}

/// Effects: frees large blocks, zero-size blocks, and blocks outside of the region; reports invalid blocks. Reports
///   come first, because an error handler may leave by longjmp.
MEMORY_POOL_NOINLINE void free_slowly(void* block, std::size_t expected, freed_by function) noexcept
{
    if (block == nullptr)
        return;
    const std::optional<checked_block> where = locate(block);
    const std::optional<std::size_t> bytes = where ? asked_bytes(*where) : std::nullopt;
    if (!bytes)
        return;
    report_wrong_free(*where, *bytes, expected, function);
    if (where->is_outside() || take_back(*where))
        free_at_once(block);
}

/// Effects: frees a slab's block with a damaged canary, or with a wrong function or size; `bytes` is the requested
///   size.
MEMORY_POOL_SLOW_PATH void free_wrong(const checked_block& where, std::size_t bytes, std::size_t expected,
                                      freed_by function) noexcept
{
    where.state->resize(bytes); // The block stays in use until everything is reported.
    report_wrong_free(where, bytes, expected, function);
    if (where.state->is_in_use()) // The error handler may have freed it.
        where.state->set_function(allocated_by::malloc);
    checked_paths::free(where.begin);
}

MEMORY_POOL_ALWAYS_INLINE void free(void* block, std::size_t expected, freed_by function) noexcept
{
    const page_heap::region_type& all = pages().region();
    const std::uintptr_t granule = all.granule_index(block);
    if (MEMORY_POOL_UNLIKELY(!all.is_committed(granule))) {
        free_slowly(block, expected, function);
        return;
    }
    const slice_tag tag = all.tag_after(granule).load(std::memory_order_relaxed);
    const std::size_t size_class = tag & class_bits;
    if (MEMORY_POOL_UNLIKELY(!is_of_slab(tag) || tag - size_class == registry().heaps().zero_size.own_tag())) {
        free_slowly(block, expected, function);
        return;
    }
    const size_class_info& info = class_info[size_class];
    checked_slice& slab = slab_of(info, all.record_after(granule));
    const std::size_t number = number_in(slab, info, block);
    if (MEMORY_POOL_UNLIKELY(number == no_block_there)) {
        free_slowly(block, expected, function);
        return;
    }
    const std::optional<std::size_t> bytes = slab.blocks[number].take_back();
    if (MEMORY_POOL_UNLIKELY(!bytes)) {
        free_slowly(block, expected, function);
        return;
    }
    auto* const begin = static_cast<std::byte*>(block);
    if (MEMORY_POOL_UNLIKELY(!the_canary.is_intact(begin + *bytes, begin + info.block_bytes)) ||
        MEMORY_POOL_UNLIKELY(!is_front_intact(slab, begin)) ||
        MEMORY_POOL_UNLIKELY(!are_pair(slab.blocks[number].function(), function)) ||
        MEMORY_POOL_UNLIKELY(expected != any_size && expected != *bytes)) {
        free_wrong({tag, begin, &slab.blocks[number], info.block_bytes}, *bytes, expected, function);
        return;
    }
    if (fills_free_memory())
        poison_block(block, info.block_bytes);
    slab.blocks[number].end_use();
    if (MEMORY_POOL_LIKELY(this_thread.cache.owns(tag)))
        free_later(size_class, block, true);
    else
        free_of_another(tag, block);
}

// Resizing.

/// Checked blocks, for reallocate.hpp.
struct checked_blocks
{
    struct block : checked_block
    {
        std::size_t held;
    };

    static std::optional<block> locate(void* pointer) noexcept
    {
        const std::optional<checked_block> where = checked::locate(pointer);
        return where ? std::optional(block{*where, 0}) : std::nullopt;
    }

    static std::optional<block> find(void* pointer) noexcept
    {
        const std::optional<checked_block> where = checked::locate(pointer);
        const std::optional<std::size_t> held = where ? asked_bytes(*where) : std::nullopt;
        if (MEMORY_POOL_UNLIKELY(!held))
            return std::nullopt;
        look_at_canaries(*where, *held);
        if (MEMORY_POOL_UNLIKELY(!is_in_use(*where))) // The error handler has freed it.
            return std::nullopt;
        return block{*where, *held};
    }

    static shared_heap* home_of(const block& where) noexcept
    {
        return where.is_zero_size() ? nullptr : shared_heap_of(where.begin, where.tag);
    }
    static std::size_t last_bytes(const block& where) noexcept { return last_asked(where); }
    static bool is_large(const block& where) noexcept { return where.is_large(); }
    static void* move_memory(const block&, std::size_t) noexcept { return nullptr; }

    static void take_over(const block& from, void* to) noexcept
    {
        (void)hand_out(from.tag & class_bits, to, from.held, from.state->function());
        std::memcpy(to, from.begin, from.held);
        (void)from.state->take_back();
        if (fills_free_memory())
            poison_block(from.begin, from.block_bytes);
        from.state->end_use();
    }

    static void leave_room(void* roomy, std::size_t bytes) noexcept
    {
        if (tag_of(roomy) != large_block)
            return;
        pages().checks().leave_room(slice_of(roomy), bytes);
        pages().large().note_asked(slice_of(roomy), bytes);
    }

    /// Returns: whether the block now has room for `bytes`, but not too much.
    static bool resize_in_place(const block& where, std::size_t bytes) noexcept
    {
        if (!give_size_in_place(where, bytes))
            return false;
        if (bytes > where.held && clears_new_blocks())
            os::clear_memory(where.begin + where.held, bytes - where.held);
        return true;
    }

    static bool give_size_in_place(const checked_block& where, std::size_t bytes) noexcept
    {
        if (where.is_outside()) {
            const std::size_t held = pages().mmap_bytes(where.begin);
            return bytes <= held && bytes >= held / 2 && !pages().slots().contain(where.begin);
        }
        if (bytes == 0)
            return false;
        if (where.is_large()) {
            if (bytes <= largest_asked_in_slab ||
                !take_within_limits([&] { return pages().large().resize_large(slice_of(where.begin), bytes); }))
                return false;
            watch_if_large(bytes);
            return true;
        }
        const std::size_t needed = with_canary(bytes);
        if (where.is_zero_size() || needed > where.block_bytes || needed < where.block_bytes / 2)
            return false;
        resize_small(where, bytes);
        return true;
    }

    /// Keeps the canary intact at every moment, even for a signal handler that ends the process.
    static void resize_small(const checked_block& where, std::size_t bytes) noexcept
    {
        if (bytes < where.state->last_bytes())
            write_canary(where, bytes);
        where.state->resize(bytes);
        write_canary(where, bytes);
    }

    /// Effects: reduces the requested size of a block that stays in place for lack of memory.
    static void shrink_in_place(const checked_block& where, std::size_t bytes) noexcept
    {
        if (where.is_large()) {
            (void)pages().checks().resize_large(slice_of(where.begin), bytes, [] { return true; });
            pages().large().note_asked(slice_of(where.begin), bytes);
        } else if (!where.is_outside()) {
            resize_small(where, bytes);
        }
    }
};

/// checked_blocks for realloc, which matches only the allocation functions of C.
struct blocks_of_realloc : checked_blocks
{
    static std::optional<block> find(void* pointer) noexcept
    {
        const std::optional<block> found = checked_blocks::find(pointer);
        const auto from = found ? function_of(*found) : std::nullopt;
        if (!from || MEMORY_POOL_LIKELY(are_pair(*from, freed_by::realloc)))
            return found;
        report_no_pair(*found, found->held, *from, freed_by::realloc);
        if (!is_in_use(*found)) // The error handler has freed it.
            return std::nullopt;
        set_function(*found, allocated_by::malloc);
        return found;
    }

    static bool resize_in_place(const block& where, std::size_t bytes) noexcept
    {
        return the_options.get(np_option_realloc_moves) == 0 && checked_blocks::resize_in_place(where, bytes);
    }
};
}} // namespace memory_pool::np::checked

namespace memory_pool::np {
void* checked_paths::allocate(std::size_t bytes, allocated_by function) noexcept
{
    if (MEMORY_POOL_UNLIKELY(bytes - 1 >= largest_asked_in_slab)) // 0 wraps around
        return bytes == 0 ? checked::allocate_zero_size(function) : checked::allocate_large_by(bytes, 1, function);
    const std::size_t size_class = sizes::of(with_canary(bytes));
    return checked::hand_out(size_class, checked::allocate_in_class_at_random(size_class, bytes), bytes, function);
}

void checked_paths::free(void* block, freed_by function) noexcept
{
    checked::free(block, checked::any_size, function);
}

void checked_paths::free_sized(void* block, std::size_t bytes, freed_by function) noexcept
{
    checked::free(block, bytes, function);
}

void* checked_paths::allocate_aligned(std::size_t alignment, std::size_t bytes, allocated_by function) noexcept
{
    if (alignment <= alignment_of_all)
        return allocate(bytes, function);
    const std::size_t size_class = class_for(bytes, alignment);
    if (size_class == class_count)
        return checked::allocate_large_by(bytes, alignment, function);
    return checked::hand_out(size_class, checked::allocate_in_class_at_random(size_class, bytes), bytes, function,
                             alignment);
}

void checked_paths::note_function(void* block, allocated_by function) noexcept
{
    const std::optional<checked::checked_block> found = checked::find_block(tag_of(block), block);
    if (found && is_in_use(*found))
        checked::set_function(*found, function);
}

#if MEMORY_POOL_TAKES_PLACE_OF_MALLOC == 0
bool operators_are_replaced() noexcept
{
    return false;
}
#endif

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept
{
    return checked_paths::allocate_aligned(alignment, bytes, allocation_aligned_to(alignment));
}

void* reallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept
{
    void* const moved = reallocate_block<checked::blocks_of_realloc>(block, bytes, alignment);
    if (moved == block && block != nullptr)
        checked_paths::note_function(block, allocation_aligned_to(alignment));
    return moved;
}

void* move_to_denser_slab(void* block) noexcept
{
    return move_to_denser_slab_of<checked::checked_blocks>(block);
}

bool expand(void* block, std::size_t bytes) noexcept
{
    return expand_block<checked::checked_blocks>(block, bytes);
}

std::size_t usable_size(const void* block) noexcept
{
    if (block == nullptr)
        return 0;
    const std::optional<checked::checked_block> where = checked::locate(const_cast<void*>(block));
    const std::optional<std::size_t> bytes = where ? asked_bytes(*where) : std::nullopt;
    if (MEMORY_POOL_UNLIKELY(!bytes))
        return 0;
    look_at_canaries(*where, *bytes);
    return *bytes;
}

// Shared heaps.

void* allocate_in(shared_heap& home, std::size_t bytes, std::size_t alignment) noexcept
{
    const std::size_t size_class = class_for(bytes, alignment);
    if (size_class == class_count)
        return allocate_large(bytes, alignment, &home).block;
    void* const block = take_within_limits([&] { return home.allocate(size_class, bytes); });
    count_allocation(block, bytes, &home);
    const allocated_by function = allocation_aligned_to(alignment);
    return block != nullptr ? checked::hand_out(size_class, block, bytes, function) : out_of_memory();
}

bool is_block_of(const shared_heap& home, const void* block) noexcept
{
    return belongs_to<checked::checked_blocks>(home, block);
}

shared_heap* home_of(void* block) noexcept
{
    return home_of_block<checked::checked_blocks>(block);
}
} // namespace memory_pool::np
