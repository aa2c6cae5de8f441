// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "backend.hpp"
#include "front.hpp"
#include "heap.hpp"
#include "process.hpp"
#include "sizes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace memory_pool::np
{
namespace
{
// Constant to begin with, so that nothing has to run before the first block is asked for, and never destroyed.
process the_process;
thread_local thread_state this_thread;

backend& memory() noexcept
{
    return the_process.memory();
}

/// The one thing that runs when the library is loaded.
[[maybe_unused]] const bool fork_is_prepared = process::prepare_for_fork();

constexpr std::size_t alignment_of_all = 16;

void* out_of_memory() noexcept
{
    errno = ENOMEM;
    return nullptr;
}

// Blocks in slabs.

MEMORY_POOL_NOINLINE void* allocate_slowly(std::size_t size_class) noexcept
{
    front& at_hand = this_thread.at_hand;
    void* block = nullptr;
    if (at_hand.has_heap() || the_process.attach(this_thread))
        block = at_hand.refill(size_class);
    else
        block = the_process.take_late(size_class);
    return block != nullptr ? block : out_of_memory();
}

MEMORY_POOL_ALWAYS_INLINE void* allocate_in_class(std::size_t size_class) noexcept
{
    void* block = nullptr;
    return MEMORY_POOL_LIKELY(this_thread.at_hand.pop(size_class, block)) ? block : allocate_slowly(size_class);
}

// Large blocks.

MEMORY_POOL_NOINLINE run allocate_large(std::size_t bytes, std::size_t alignment) noexcept
{
    return the_process.start() ? memory().take_large(bytes, alignment) : run{};
}

void* address_of(const run& large) noexcept
{
    return large.first != no_slice ? memory().memory().address(large.first) : out_of_memory();
}

// Any block.

MEMORY_POOL_NOINLINE void* allocate_medium(std::size_t bytes) noexcept
{
    if (bytes == 0)
        return allocate_in_class(0);
    if (bytes <= largest_in_slab)
        return allocate_in_class(sizes::of(bytes));
    return address_of(allocate_large(bytes, 1));
}

MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes) noexcept
{
    const std::size_t last = bytes - 1; // 0 bytes: too many
    if (MEMORY_POOL_UNLIKELY(last >= largest_small))
        return allocate_medium(bytes);
    return allocate_in_class(last / sizes::step);
}

/// Returns: whose the slice of `address` is: nobody if it lies outside of all.
MEMORY_POOL_ALWAYS_INLINE owner_word owner_of(const void* address) noexcept
{
    const backend::region_type& all = memory().memory();
    const std::size_t slice = all.slice_of(address);
    return MEMORY_POOL_LIKELY(slice < all.committed()) ? all.owner(slice).load(std::memory_order_relaxed) : nobody;
}

bool is_misaligned(const void* block) noexcept
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment_of_all != 0;
}

/// Effects: reports what is wrong with `block`, whose slice has that word, as far as that can be seen.
/// Returns: whether something is.
bool report_misuse(owner_word owner, const void* block) noexcept
{
    const bool is_inside = owner == inside_large_block ||
                           (owner == large_block && reinterpret_cast<std::uintptr_t>(block) % slice_bytes != 0);
    if (owner == nobody)
        base::report_misuse(error::foreign_pointer, block, 0, "np_alloc");
    else if (is_inside || is_misaligned(block))
        base::report_misuse(error::misaligned_pointer, block, 0, "np_alloc");
    else
        return false;
    return true;
}

/// Effects: frees a block that is not of this thread's heap, or reports that it is none.
MEMORY_POOL_NOINLINE void free_slowly(void* block) noexcept
{
    if (block == nullptr)
        return;
    const owner_word owner = owner_of(block);
    if (report_misuse(owner, block))
        return;
    const int error_before = errno;
    front& at_hand = this_thread.at_hand;
    if (owner == large_block) {
        memory().give_large(static_cast<slice_number>(memory().memory().slice_of(block)));
    } else if (!at_hand.has_heap() && !the_process.attach(this_thread)) {
        process::put_late(*reinterpret_cast<heap*>(owner & ~class_bits), block);
    } else if (const owner_word size_class = at_hand.class_in(owner); size_class < class_count) {
        if (!at_hand.push(size_class, block)) // The heap was adopted a moment ago.
            at_hand.flush_half(size_class);
    } else {
        at_hand.memory().slabs.keep_for(*reinterpret_cast<heap*>(owner & ~class_bits), block);
    }
    errno = error_before;
}

MEMORY_POOL_NOINLINE void flush(std::size_t size_class) noexcept
{
    const int error_before = errno;
    this_thread.at_hand.flush_half(size_class);
    errno = error_before;
}

MEMORY_POOL_ALWAYS_INLINE void free_block(void* block) noexcept
{
    front& at_hand = this_thread.at_hand;
    const owner_word size_class = at_hand.class_in(owner_of(block));
    if (MEMORY_POOL_UNLIKELY(size_class >= class_count || is_misaligned(block))) {
        free_slowly(block);
        return;
    }
    if (MEMORY_POOL_UNLIKELY(!at_hand.push(size_class, block)))
        flush(size_class);
}

std::size_t usable_size(const void* block, owner_word owner) noexcept
{
    if (owner != large_block)
        return sizes::size(owner & class_bits);
    return memory().memory().record(memory().memory().slice_of(block)).length * slice_bytes;
}

/// Returns: the class of blocks that have room for `bytes` and are so aligned; class_count if there is none.
std::size_t aligned_class(std::size_t bytes, std::size_t alignment) noexcept
{
    if (bytes > largest_in_slab || alignment > largest_in_slab)
        return class_count;
    // Sizes that are multiples of the alignment are aligned to it; there is one between any two multiples of it.
    const std::size_t rounded = base::round_up(std::max<std::size_t>(bytes, 1), alignment);
    return rounded <= largest_in_slab ? sizes::of(rounded) : class_count;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept
{
    if (alignment <= alignment_of_all)
        return allocate(bytes);
    const std::size_t size_class = aligned_class(bytes, alignment);
    return size_class != class_count ? allocate_in_class(size_class) : address_of(allocate_large(bytes, alignment));
}

/// Returns: whether `block` has room for `bytes` now, and not too much.
bool resize_in_place(void* block, owner_word owner, std::size_t bytes) noexcept
{
    const std::size_t usable = usable_size(block, owner);
    if (owner == large_block && bytes > largest_in_slab)
        return memory().resize_large(static_cast<slice_number>(memory().memory().slice_of(block)), bytes);
    return bytes <= usable && bytes >= usable / 2;
}

void* reallocate(void* block, std::size_t bytes) noexcept
{
    if (block == nullptr)
        return allocate(bytes);
    const owner_word owner = owner_of(block);
    if (report_misuse(owner, block))
        return nullptr;
    if (resize_in_place(block, owner, bytes))
        return block;
    void* const moved = allocate(bytes);
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, block, std::min(bytes, usable_size(block, owner)));
    free_block(block);
    return moved;
}
} // namespace

process& process::current() noexcept
{
    return the_process;
}

heap* process::heap_of_this_thread() noexcept
{
    return this_thread.at_hand.has_heap() ? &this_thread.at_hand.memory().slabs : nullptr;
}
} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace base = memory_pool::base;

extern "C" {
void* np_alloc(size_t bytes)
{
    return np::allocate(bytes);
}

void np_free(void* block)
{
    np::free_block(block);
}

void* np_calloc(size_t count, size_t size)
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (bytes > np::largest_in_slab) {
        const np::run large = np::allocate_large(bytes, 1);
        void* const block = np::address_of(large);
        if (block != nullptr && !large.is_zeroed)
            std::memset(block, 0, bytes);
        return block;
    }
    void* const block = np::allocate(bytes);
    return block != nullptr ? std::memset(block, 0, bytes) : nullptr;
}

void* np_realloc(void* block, size_t bytes)
{
    return np::reallocate(block, bytes);
}

void* np_reallocarray(void* block, size_t count, size_t size)
{
    return np::reallocate(block, base::saturating_multiply(count, size));
}

void* np_aligned_alloc(size_t alignment, size_t bytes)
{
    if (!base::is_power_of_two(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return np::allocate_aligned(alignment, bytes);
}

int np_posix_memalign(void** block, size_t alignment, size_t bytes)
{
    if (!base::is_power_of_two(alignment) || alignment % sizeof(void*) != 0)
        return EINVAL;
    const int error_before = errno;
    void* const aligned = np::allocate_aligned(alignment, bytes);
    errno = error_before;
    if (aligned == nullptr)
        return ENOMEM;
    *block = aligned;
    return 0;
}

size_t np_usable_size(const void* block)
{
    if (block == nullptr)
        return 0;
    const np::owner_word owner = np::owner_of(block);
    return np::report_misuse(owner, block) ? 0 : np::usable_size(block, owner);
}

size_t np_good_size(size_t bytes)
{
    if (bytes <= np::largest_in_slab)
        return np::sizes::size(np::sizes::of(bytes));
    return base::saturating_add(bytes, np::slice_bytes - 1) & ~(np::slice_bytes - 1);
}

void np_free_sized(void* block, size_t)
{
    np::free_block(block);
}

void np_free_aligned_sized(void* block, size_t, size_t)
{
    np::free_block(block);
}

int np_owns(const void* address)
{
    return np::owner_of(address) != np::nobody ? 1 : 0;
}

size_t np_trim(void)
{
    np::front& at_hand = np::this_thread.at_hand;
    if (at_hand.has_heap())
        at_hand.tidy();
    return np::the_process.trim();
}
}
