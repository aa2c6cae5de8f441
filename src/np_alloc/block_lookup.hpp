// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What is known of a block by its address, and large blocks: for what is done beside the fast ways of engine.hpp.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>

#include "backend.hpp"
#include "engine.hpp"
#include "heap.hpp"
#include "misuse.hpp"
#include "policy.hpp"
#include "shared_heap.hpp"
#include "sizes.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
inline backend& memory() noexcept
{
    return the_process.memory();
}

inline void* out_of_memory() noexcept
{
    errno = ENOMEM;
    return nullptr;
}

// What is known of a block.

inline bool is_misaligned(const void* block) noexcept
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment_of_all != 0;
}

/// Returns: whose the slice of `address` is; direct_block if it is one; nobody if it lies outside of all.
inline owner_word owner_of(const void* address) noexcept
{
    const backend::region_type& all = memory().memory();
    const std::size_t slice = all.slice_of(address);
    if (MEMORY_POOL_LIKELY(slice < all.committed()))
        return all.owner(slice).load(std::memory_order_relaxed);
    return memory().direct_bytes(address) != 0 ? direct_block : nobody;
}

inline slice_number slice_of(const void* block) noexcept
{
    return static_cast<slice_number>(memory().memory().slice_of(block));
}

MEMORY_POOL_NOINLINE inline std::size_t usable_size(const void* block, owner_word owner) noexcept
{
    switch (owner) {
    case large_block: return memory().memory().record(slice_of(block)).length * slice_bytes;
    case direct_block: return memory().direct_bytes(block);
    default: return sizes::size(owner & class_bits);
    }
}

inline bool is_inside_large_block(owner_word owner, const void* block) noexcept
{
    return owner == inside_large_block ||
           (owner == large_block && reinterpret_cast<std::uintptr_t>(block) % slice_bytes != 0);
}

/// Effects: reports what is wrong with an address outside of the region, where no block begins.
MEMORY_POOL_SLOW_PATH inline void report_wrong_outside(const void* address) noexcept
{
    const wrong_address wrong = memory().what_is_wrong_with(address);
    report_misuse(wrong.kind, address, wrong.block_bytes);
}

MEMORY_POOL_SLOW_PATH inline void report_wrong(owner_word owner, const void* block) noexcept
{
    if (owner != nobody)
        report_misuse(error::misaligned_pointer, block, owner != inside_large_block ? usable_size(block, owner) : 0);
    else if (memory().memory().slice_of(block) < memory().memory().committed())
        report_misuse(error::double_free, block, 0); // A program has been given nothing there but blocks.
    else
        report_wrong_outside(block);
}

/// Effects: reports what is wrong with `block`, whose slice has that word, as far as that can be seen.
/// Returns: whether something is.
inline bool report_if_wrong(owner_word owner, const void* block) noexcept
{
    if (MEMORY_POOL_LIKELY(owner != nobody && !is_inside_large_block(owner, block) && !is_misaligned(block)))
        return false;
    report_wrong(owner, block);
    return true;
}

/// Returns: the shared heap that a block is of, or nullptr if it is of none.
inline shared_heap* shared_heap_of(const void* block, owner_word owner) noexcept
{
    if (owner == large_block)
        return memory().memory().record(slice_of(block)).home;
    if (owner == direct_block)
        return nullptr;
    return heap::of(owner).is_shared() ? &shared_heap::of(owner) : nullptr;
}

// Large blocks.

/// What came of a request for a large block.
struct large_allocation
{
    void* block; ///< nullptr, and errno is set, if there is no memory.
    bool is_zeroed;
};

/// Effects: has accesses to a block of so many bytes reported when it will have been freed, if it will be out of reach then.
inline void watch_if_large([[maybe_unused]] std::size_t bytes) noexcept
{
    if constexpr (is_checked)
        if (backend::goes_out_of_reach(bytes))
            (void)the_process.watch_accesses();
}

/// Returns: a large block, in the shared heap `home` if that is not nullptr.
MEMORY_POOL_NOINLINE inline large_allocation allocate_large(std::size_t bytes, std::size_t alignment,
                                                            shared_heap* home = nullptr) noexcept
{
    if (!the_process.start())
        return {out_of_memory(), false};
    work_for_all();
    watch_if_large(bytes);
    const run taken = memory().take_large(bytes, alignment);
    if (taken.first != no_slice) {
        MEMORY_POOL_DELAY_POINT();
        if (home != nullptr)
            home->adopt_large(taken.first);
        return {memory().memory().address(taken.first), taken.is_zeroed};
    }
    void* const direct = home == nullptr ? memory().take_direct(bytes, alignment) : nullptr;
    return {direct != nullptr ? direct : out_of_memory(), true};
}

/// Returns: whether there is one still.
inline bool free_large(slice_number first) noexcept
{
    shared_heap* const home = memory().memory().record(first).home;
    return home != nullptr ? home->free_large(first) : memory().give_large(first);
}

/// Returns: a large block filled with zeros, in `home` if that is not nullptr; nullptr, and errno is set, if there is no memory.
inline void* allocate_large_zeroed(std::size_t bytes, shared_heap* home = nullptr) noexcept
{
    const large_allocation large = allocate_large(bytes, 1, home);
    if (large.block != nullptr && !large.is_zeroed)
        os::clear_memory(large.block, bytes);
    return large.block;
}

/// Returns: the class of blocks that have room for `bytes` and are so aligned; class_count if there is none.
inline std::size_t aligned_class(std::size_t bytes, std::size_t alignment) noexcept
{
    if (bytes > largest_in_slab || alignment > largest_in_slab)
        return class_count;
    // Sizes that are multiples of the alignment are aligned to it; there is one between any two multiples of it.
    const std::size_t rounded = base::round_up(std::max<std::size_t>(bytes, 1), alignment);
    return rounded <= largest_in_slab ? sizes::of(rounded) : class_count;
}
} // namespace memory_pool::np
