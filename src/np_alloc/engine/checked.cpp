// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "checked.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../hardening/block_state.hpp"
#include "../hardening/checked_slice.hpp"
#include "../hardening/quarantine.hpp"
#include "../heaps/shared_heap.hpp"
#include "../slices/sizes.hpp"
#include "../support/build_variant.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"
#include "block_lookup.hpp"
#include "engine.hpp"
#include "large_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

namespace memory_pool::np::checked
{
namespace
{
/// Behind what was asked for.
constexpr std::size_t least_canary = 1;
constexpr std::size_t largest_in_checked_slab = largest_in_slab - least_canary;

/// Where a block begins, whether it is in use or not.
struct place
{
    slice_tag tag;
    std::byte* block;
    block_state* state;      ///< nullptr if the block is outside of the region.
    std::size_t block_bytes; ///< With those of the canary.

    bool is_large() const noexcept { return tag == large_block; }
    bool is_outside() const noexcept { return state == nullptr; }
    bool is_zero_size() const noexcept { return (tag & ~class_bits) == registry().zero_size().own_tag(); }
};

checked_slice& record(std::size_t slice) noexcept
{
    return pages().region().record(slice);
}

/// Returns: the slab that a block of that class lies in.
MEMORY_POOL_ALWAYS_INLINE checked_slice& slab_of(const class_facts& its, std::size_t slice) noexcept
{
    checked_slice& of_slice = record(slice);
    return MEMORY_POOL_LIKELY(its.slices == 1) ? of_slice : record(of_slice.slab);
}

/// Returns: the number of the block of a slab that begins there, or no_block_there.
MEMORY_POOL_ALWAYS_INLINE std::size_t number_in(const checked_slice& slab, const class_facts& its,
                                                const void* block) noexcept
{
    return block_at(its, static_cast<std::size_t>(static_cast<const std::byte*>(block) - slab.begin));
}

std::optional<place> place_in_slab(slice_tag tag, void* block) noexcept
{
    const class_facts& its = facts[tag & class_bits];
    checked_slice& slab = slab_of(its, slice_of(block));
    const std::size_t number = number_in(slab, its, block);
    if (number == no_block_there || is_misaligned(block))
        return std::nullopt;
    return place{tag, static_cast<std::byte*>(block), &slab.blocks[number], its.block_bytes};
}

/// Preconditions: a large block begins there.
place place_of_large(void* block) noexcept
{
    const slice_number first = slice_of(block);
    return {large_block, static_cast<std::byte*>(block), &record(first).large, pages().checks().canary_end(first)};
}

/// Preconditions: a block outside of the region begins there. Behind it, up to the end of its page, nothing else is.
place place_outside(void* block) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t end = in_whole_pages(begin + pages().direct_bytes(block));
    return {direct_block, static_cast<std::byte*>(block), nullptr, end - begin};
}

/// Returns: what begins there; nothing if no block does.
std::optional<place> find_place(slice_tag tag, void* block) noexcept
{
    if (is_of_slab(tag))
        return place_in_slab(tag, block);
    if (tag == direct_block)
        return place_outside(block);
    if (tag != large_block || reinterpret_cast<std::uintptr_t>(block) % slice_bytes != 0)
        return std::nullopt;
    return place_of_large(block);
}

/// Returns: the size requested at the last allocation of the block that contains the address; 0 if unknown.
std::size_t last_asked_around(slice_tag tag, const void* address) noexcept
{
    if (tag == large_block)
        return pages().checks().bytes_of_large(slice_of(address));
    if (!is_of_slab(tag))
        return 0;
    const class_facts& its = facts[tag & class_bits];
    const checked_slice& slab = slab_of(its, slice_of(address));
    const std::size_t number =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - slab.begin) / its.block_bytes;
    return number < slab.capacity ? slab.blocks[number].last_bytes() : 0;
}

/// Effects: reports what is wrong with an address where no block begins.
MEMORY_POOL_SLOW_PATH void report_no_place(slice_tag tag, const void* address) noexcept
{
    const page_heap::region_type& all = pages().region();
    if (all.slice_of(address) >= all.slices())
        report_wrong_outside(address);
    else if (tag != no_owner || is_misaligned(address))
        report_misuse(error::misaligned_pointer, address, last_asked_around(tag, address));
    else
        report_misuse(error::double_free, address, 0); // Of what was there, nothing is left.
}

/// Returns: what begins there; nothing if no block does, which is reported.
std::optional<place> place_of(void* block) noexcept
{
    const slice_tag tag = tag_of(block);
    const std::optional<place> found = find_place(tag, block);
    if (MEMORY_POOL_UNLIKELY(!found))
        report_no_place(tag, block);
    return found;
}

// Sizes that were asked for.

std::size_t asked(const place& where, std::size_t noted) noexcept
{
    return where.is_large() ? pages().checks().bytes_of_large(slice_of(where.block)) : noted;
}

/// Returns: the size requested at the last allocation of the block, in use or not; 0 if unknown.
std::size_t last_asked(const place& where) noexcept
{
    return where.is_outside() ? pages().direct_bytes(where.block) : asked(where, where.state->last_bytes());
}

MEMORY_POOL_SLOW_PATH void report(error kind, const place& where, const char* to = "np_alloc") noexcept
{
    report_misuse(kind, where.block, last_asked(where), to);
}

/// Returns: how many bytes of a block were asked for; nothing if it is not in use, which is reported.
std::optional<std::size_t> asked_bytes(const place& where) noexcept
{
    if (where.is_outside())
        return pages().direct_bytes(where.block);
    const std::optional<std::size_t> noted = where.state->bytes();
    if (MEMORY_POOL_UNLIKELY(!noted)) {
        report(error::double_free, where);
        return std::nullopt;
    }
    return asked(where, *noted);
}

bool is_in_use(const place& where) noexcept
{
    return where.is_outside() ? pages().direct_bytes(where.block) != 0 : where.state->is_in_use();
}

// Canaries.

void write_canary(const place& where, std::size_t bytes) noexcept
{
    if (!where.is_zero_size())
        the_canary.write(where.block + bytes, where.block + where.block_bytes);
}

void look_at_canary(const place& where, std::size_t bytes) noexcept
{
    if (!where.is_zero_size() &&
        MEMORY_POOL_UNLIKELY(!the_canary.is_intact(where.block + bytes, where.block + where.block_bytes))) {
        write_canary(where, bytes); // so that it is reported once
        report_misuse(error::overflow, where.block, bytes);
    }
}

// Handing out.

/// Writes the canary of a block that was written to after free, and reports that with the size requested before. The
/// report is last, as the error handler may leave by longjmp.
MEMORY_POOL_SLOW_PATH void hand_out_damaged(std::byte* block, std::size_t block_bytes, std::size_t bytes,
                                            std::size_t bytes_before) noexcept
{
    the_canary.write_to_new(block + bytes, block + block_bytes);
    report_misuse(error::write_after_free, block, bytes_before);
}

/// Effects: makes a block that is not empty the program's, for which it has asked for so many bytes.
MEMORY_POOL_ALWAYS_INLINE void hand_out(block_state& state, std::byte* block, std::size_t block_bytes,
                                        std::size_t bytes) noexcept
{
    const std::optional<std::size_t> bytes_before = state.hand_out(bytes);
    if (MEMORY_POOL_LIKELY(bytes_before.has_value()) && the_options.get(np_option_poison) != 0 &&
        MEMORY_POOL_UNLIKELY(!is_poisoned(block, block_bytes)))
        hand_out_damaged(block, block_bytes, bytes, *bytes_before);
    else
        the_canary.write_to_new(block + bytes, block + block_bytes);
}

/// Effects: the same for a block outside of the region, with that alignment.
/// Returns: it: a sample begins where it ends as near to its guard as can be.
MEMORY_POOL_NOINLINE void* hand_out_outside(void* block, std::size_t bytes, std::size_t alignment) noexcept
{
    void* const fitted = pages().fit_guarded(block, bytes, alignment);
    write_canary(place_outside(fitted), pages().direct_bytes(fitted));
    return fitted;
}

/// Effects: the same for a block of that class, if there is one, and it is of a slab.
/// Returns: it.
MEMORY_POOL_ALWAYS_INLINE void* hand_out(std::size_t size_class, void* block, std::size_t bytes,
                                         std::size_t alignment = alignment_of_all) noexcept
{
    const page_heap::region_type& all = pages().region();
    const std::uintptr_t steps = all.steps_to(block);
    if (MEMORY_POOL_UNLIKELY(!all.is_committed(steps)))
        return block != nullptr ? hand_out_outside(block, bytes, alignment) : nullptr;
    const class_facts& its = facts[size_class];
    checked_slice& slab = slab_of(its, all.slice_at(steps));
    hand_out(slab.blocks[number_in(slab, its, block)], static_cast<std::byte*>(block), its.block_bytes, bytes);
    return block;
}

MEMORY_POOL_ALWAYS_INLINE void* allocate_in_class_at_random(std::size_t size_class) noexcept
{
    void* block = allocate_in_class(size_class);
    thread_cache& cache = this_thread.cache;
    if (MEMORY_POOL_LIKELY(block != nullptr && cache.has_heap()) && the_options.get(np_option_random_order) != 0)
        cache.shuffle_in(size_class, block, cache.heap().checks.random);
    return block;
}

/// Returns: a block of 0 bytes, which may not be touched; nullptr, and errno is set, if there is no memory.
void* allocate_zero_size() noexcept
{
    constexpr std::size_t smallest = sizes::of(0);
    if (!registry().start())
        return out_of_memory();
    void* const block = registry().zero_size().allocate(smallest);
    if (block == nullptr)
        return hand_out(smallest, allocate_in_class(smallest), 0);
    checked_slice& slab = record(slice_of(block));
    const std::size_t number = number_in(slab, facts[smallest], block);
    const bool was_given_back = slab.blocks[number].hand_out(0).has_value();
    if (number == 0 && !was_given_back) // The first of a slab goes out first.
        pages().checks().guard_all(slab.slab, slab_slices(smallest));
    return block;
}

// Taking back.

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

/// Effects: reports what is wrong with a block of which `bytes` were asked for, and that is given back as one of `expected` bytes.
MEMORY_POOL_ALWAYS_INLINE void look_at_size(const void* block, std::size_t bytes, std::size_t expected) noexcept
{
    if (MEMORY_POOL_UNLIKELY(expected != any_size && expected != bytes))
        report_misuse(error::size_mismatch, block, bytes);
}

/// Effects: frees a block that the program has no longer to do with.
MEMORY_POOL_NOINLINE void free_at_once(void* block) noexcept
{
    free_unchecked(block);
}

/// Effects: has a block of a slab wait, and frees what has waited long enough.
///   Whether they are of this thread's heap need not be asked again: their slabs are not given back meanwhile.
MEMORY_POOL_ALWAYS_INLINE void free_later(std::size_t size_class, void* block, bool is_own) noexcept
{
    const std::size_t most_bytes = the_options.get(np_option_quarantine_bytes);
    thread_cache& cache = this_thread.cache;
    quarantine& queue = cache.heap().checks.quarantined;
    queue.push(size_class, block, is_own);
    while (queue.bytes() > most_bytes || queue.is_full()) {
        const quarantine::entry oldest = queue.pop();
        if (MEMORY_POOL_UNLIKELY(!oldest.is_own))
            free_unchecked(oldest.block);
        else if (MEMORY_POOL_UNLIKELY(!cache.push(oldest.size_class, oldest.block)))
            free_to_full(oldest.size_class, oldest.block);
    }
}

/// Effects: frees a block of a slab that is not of this thread's heap.
MEMORY_POOL_NOINLINE void free_of_another(slice_tag tag, void* block) noexcept
{
    const errno_as_it_was kept;
    if (shared_heap_of(block, tag) == nullptr && this_thread.cache.has_heap())
        free_later(tag & class_bits, block, false);
    else
        free_unchecked(block);
}

/// Effects: takes a block in the region back; reports what is wrong with it before, as an error handler may leave by a long jump.
/// Returns: whether it was in use.
bool take_back(const place& where, std::size_t expected) noexcept
{
    const std::optional<std::size_t> bytes = asked_bytes(where);
    if (!bytes)
        return false;
    look_at_canary(where, *bytes);
    look_at_size(where.block, *bytes, expected);
    if (where.state->take_back())
        return true;
    report(error::double_free, where); // Another thread was faster, or the error handler.
    return false;
}

/// Effects: reports what is wrong with a block outside of the region that is given back as one of `expected` bytes. Only of a sample
///   it is known how many were asked for; one of 0 bytes has one.
void look_at_outside(const place& where, std::size_t expected) noexcept
{
    const std::size_t bytes = pages().direct_bytes(where.block);
    look_at_canary(where, bytes);
    if (pages().slots().contain(where.block))
        look_at_size(where.block, bytes, std::max<std::size_t>(expected, 1));
}

/// Effects: frees what is no block of a slab, or empty, or wrong.
MEMORY_POOL_NOINLINE void free_slowly(void* block, std::size_t expected) noexcept
{
    if (block == nullptr)
        return;
    const std::optional<place> where = place_of(block);
    if (!where)
        return;
    if (where->is_outside())
        look_at_outside(*where, expected);
    else if (!take_back(*where, expected))
        return;
    free_at_once(block);
}

/// Effects: frees a block of a slab of which so many bytes were asked for, and with which something is wrong.
MEMORY_POOL_SLOW_PATH void free_wrong(const place& where, std::size_t bytes, std::size_t expected) noexcept
{
    where.state->resize(bytes); // It is in use until all is reported, as an error handler may leave by a long jump.
    look_at_canary(where, bytes);
    look_at_size(where.block, bytes, expected);
    checked::free(where.block);
}

MEMORY_POOL_ALWAYS_INLINE void free(void* block, std::size_t expected) noexcept
{
    const page_heap::region_type& all = pages().region();
    const std::uintptr_t steps = all.steps_to(block);
    if (MEMORY_POOL_UNLIKELY(!all.is_committed(steps))) {
        free_slowly(block, expected);
        return;
    }
    const slice_tag tag = all.tag(all.slice_at(steps)).load(std::memory_order_relaxed);
    const std::size_t size_class = tag & class_bits;
    if (MEMORY_POOL_UNLIKELY(!is_of_slab(tag) || tag - size_class == registry().zero_size().own_tag())) {
        free_slowly(block, expected);
        return;
    }
    const class_facts& its = facts[size_class];
    checked_slice& slab = slab_of(its, all.slice_at(steps));
    const std::size_t number = number_in(slab, its, block);
    if (MEMORY_POOL_UNLIKELY(number == no_block_there)) {
        free_slowly(block, expected);
        return;
    }
    const std::optional<std::size_t> bytes = slab.blocks[number].take_back();
    if (MEMORY_POOL_UNLIKELY(!bytes)) {
        free_slowly(block, expected);
        return;
    }
    auto* const begin = static_cast<std::byte*>(block);
    if (MEMORY_POOL_UNLIKELY(!the_canary.is_intact(begin + *bytes, begin + its.block_bytes)) ||
        MEMORY_POOL_UNLIKELY(expected != any_size && expected != *bytes)) {
        free_wrong({tag, begin, &slab.blocks[number], its.block_bytes}, *bytes, expected);
        return;
    }
    if (the_options.get(np_option_poison) != 0)
        poison(block, its.block_bytes);
    if (MEMORY_POOL_LIKELY(this_thread.cache.class_in(tag) < class_count))
        free_later(size_class, block, true);
    else
        free_of_another(tag, block);
}

// Resizing.

/// Returns: whether the block has room for `bytes` now, and not too much.
bool resize_in_place(const place& where, std::size_t bytes) noexcept
{
    if (where.is_outside()) {
        const std::size_t held = pages().direct_bytes(where.block);
        return bytes <= held && bytes >= held / 2 && !pages().slots().contain(where.block);
    }
    if (bytes == 0)
        return false;
    if (where.is_large()) {
        if (bytes <= largest_in_checked_slab || !pages().resize_large(slice_of(where.block), bytes))
            return false;
        watch_if_large(bytes);
        write_canary({where.tag, where.block, where.state, pages().checks().canary_end(slice_of(where.block))}, bytes);
        return true;
    }
    const std::size_t needed = bytes + least_canary;
    if (where.is_zero_size() || needed > where.block_bytes || needed < where.block_bytes / 2)
        return false;
    where.state->resize(bytes);
    write_canary(where, bytes);
    return true;
}

/// Effects: less is asked for of a block that stays where it is, as there is no memory for a smaller one.
void shrink_in_place(const place& where, std::size_t bytes) noexcept
{
    if (where.is_large()) {
        (void)pages().checks().resize_large(slice_of(where.block), bytes, [] { return true; });
        write_canary(place_of_large(where.block), bytes);
    } else if (!where.is_outside()) {
        where.state->resize(bytes);
        write_canary(where, bytes);
    }
}

/// Returns: a block for what was in `from`, which has `held` bytes; if that is a large block that grows, one with room to grow on:
///   when that happens again and again, it is moved seldom.
template <class Allocate>
void* allocate_for(const place& from, std::size_t held, std::size_t bytes, Allocate&& allocate) noexcept
{
    const bool grows = from.is_large() && bytes > held && bytes > largest_in_checked_slab;
    void* const roomy = grows ? allocate(base::saturating_add(bytes, bytes / 8)) : nullptr;
    if (roomy == nullptr)
        return allocate(bytes);
    if (tag_of(roomy) == large_block) {
        pages().checks().leave_room(slice_of(roomy), bytes);
        write_canary(place_of_large(roomy), bytes);
    }
    return roomy;
}

/// Effects: frees the block at `from`, of which `held` bytes were asked for, when another one has what it held, as far as it has room.
///   `home` is its shared heap, or nullptr.
/// Returns: the other one; nullptr if there is no memory: then the old one is as it was.
void* move_by_copying(const place& from, std::size_t held, shared_heap* home, std::size_t bytes) noexcept
{
    shared_heap* const own_home = from.is_zero_size() ? nullptr : home;
    void* const moved = allocate_for(from, held, bytes, [own_home](std::size_t wanted) {
        return own_home != nullptr ? allocate_like_in(*own_home, wanted) : checked::allocate(wanted);
    });
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, from.block, std::min(bytes, held));
    if (home != nullptr && shared_heap_of(moved, tag_of(moved)) == home)
        home->moved(from.block, moved, bytes);
    checked::free(from.block);
    return moved;
}
} // namespace

void* allocate(std::size_t bytes) noexcept
{
    if (MEMORY_POOL_UNLIKELY(bytes - 1 >= largest_in_checked_slab)) // 0 bytes: too many
        return bytes == 0 ? allocate_zero_size() : allocate_large(bytes, 1).block;
    const std::size_t size_class = sizes::of(bytes + least_canary);
    return hand_out(size_class, allocate_in_class_at_random(size_class), bytes);
}

void* allocate_zeroed(std::size_t count, std::size_t size) noexcept
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (bytes > largest_in_checked_slab)
        return allocate_large_zeroed(bytes);
    void* const block = allocate(bytes);
    return block != nullptr ? std::memset(block, 0, bytes) : nullptr;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept
{
    if (alignment <= alignment_of_all)
        return allocate(bytes);
    const std::size_t size_class =
        bytes <= largest_in_checked_slab ? aligned_class(bytes + least_canary, alignment) : class_count;
    if (size_class == class_count)
        return allocate_large(bytes, alignment).block;
    return hand_out(size_class, allocate_in_class_at_random(size_class), bytes, alignment);
}

void free(void* block) noexcept
{
    free(block, any_size);
}

void free_sized(void* block, std::size_t bytes) noexcept
{
    free(block, bytes);
}

void* reallocate(void* block, std::size_t bytes) noexcept
{
    if (block == nullptr)
        return allocate(bytes);
    const std::optional<place> where = place_of(block);
    const std::optional<std::size_t> held = where ? asked_bytes(*where) : std::nullopt;
    if (MEMORY_POOL_UNLIKELY(!held)) {
        errno = EINVAL;
        return nullptr;
    }
    look_at_canary(*where, *held);
    if (MEMORY_POOL_UNLIKELY(!is_in_use(*where))) { // The error handler has freed it.
        errno = EINVAL;
        return nullptr;
    }
    shared_heap* const home = shared_heap_of(block, where->tag);
    const auto stay = [=] {
        if (home != nullptr)
            home->moved(block, block, bytes);
        return block;
    };
    if (resize_in_place(*where, bytes))
        return stay();
    if (void* const moved = move_by_copying(*where, *held, home, bytes))
        return moved;
    if (bytes > *held)
        return nullptr;
    shrink_in_place(*where, bytes); // There may be no memory for a smaller one.
    return stay();
}

std::size_t usable_size(const void* block) noexcept
{
    if (block == nullptr)
        return 0;
    const std::optional<place> where = place_of(const_cast<void*>(block));
    const std::optional<std::size_t> bytes = where ? asked_bytes(*where) : std::nullopt;
    if (MEMORY_POOL_UNLIKELY(!bytes))
        return 0;
    look_at_canary(*where, *bytes);
    return *bytes;
}

// Shared heaps.

void* allocate_in(shared_heap& home, std::size_t bytes) noexcept
{
    if (bytes > largest_in_checked_slab)
        return allocate_large(bytes, 1, &home).block;
    const std::size_t size_class = sizes::of(bytes + least_canary);
    void* const block = home.allocate(size_class);
    return block != nullptr ? hand_out(size_class, block, bytes) : out_of_memory();
}

void* allocate_zeroed_in(shared_heap& home, std::size_t count, std::size_t size) noexcept
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (bytes > largest_in_checked_slab)
        return allocate_large_zeroed(bytes, &home);
    void* const block = checked::allocate_in(home, bytes);
    return block != nullptr ? std::memset(block, 0, bytes) : nullptr;
}

bool is_block_of(const shared_heap& home, const void* block) noexcept
{
    const std::optional<place> where = place_of(const_cast<void*>(block));
    if (!where)
        return false;
    if (shared_heap_of(block, where->tag) == &home)
        return true;
    report(error::foreign_pointer, *where, "np_heap");
    return false;
}
} // namespace memory_pool::np::checked
