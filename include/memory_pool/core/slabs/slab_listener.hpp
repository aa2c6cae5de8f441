// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The listener of slabs: a store of reference-counted objects built on the blocks of a pool, and found from them.
///
///     item --(masking)--> slab --(owner)--> slab_listener --(give_back)--> the pool
///
/// Thread safety: as said at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
class slab;

/// The owner of slabs. Without one, a slab belongs to its slab_store.
class slab_listener : base::immovable<slab_listener>
{
public:
    using give_back_function = void (*)(slab_listener& self, void* counted);

    /// Effects: adds `count` blocks to a slab, each after initialising it.
    /// Preconditions: the slab has room.
    /// Throws: anything. The blocks added before stay: undoing them during growth could run user code.
    virtual void add_blocks(slab& home, std::size_t count, std::size_t stride) = 0;

    /// Effects: undoes the initialisation of all blocks of a slab, all of which are free.
    /// Thread safety: no lock is held.
    virtual void leave(slab& leaving, std::size_t stride) noexcept = 0;

    /// Effects: handles a `block` that came back after the listener has abandoned its blocks: see
    ///   shared_store::abandon.
    /// Thread safety: any thread. No lock is held.
    virtual void survivor_returned(void* block) noexcept = 0;

    /// Takes back what lies at `counted` in one of the blocks. Not virtual: so it is one load less away, and can be
    /// chosen once. For the listener to change.
    give_back_function give_back;

    /// Whether `add_blocks` is expensive: the store then adds no more blocks than requested, or than it has.
    const bool is_dear;

protected:
    slab_listener(give_back_function function, bool dear) noexcept : give_back(function), is_dear(dear) {}
    ~slab_listener() = default;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
