// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The interface of a store of reference-counted objects, which is built on a pool, to the slabs of the pool. An object
/// finds its store through its slab.
///
///     item --(masking)--> slab --(owner)--> slab_listener --(give_back)--> the pool
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
class slab;

/// The owner of slabs. Without a listener, a slab belongs to its slab_store.
class slab_listener : base::immovable<slab_listener>
{
public:
    using give_back_function = void (*)(slab_listener& self, void* counted);

    /// Effects: initializes and adds `count` blocks to a slab.
    /// Preconditions: the slab has room.
    /// Throws: anything. The blocks added before the exception stay: removing them during growth could run user code.
    virtual void add_blocks(slab& home, std::size_t count, std::size_t stride) = 0;

    /// Effects: undoes the initialization of all blocks of a slab.
    /// Preconditions: all blocks are free.
    /// Thread safety: called without a lock.
    virtual void leave(slab& leaving, std::size_t stride) noexcept = 0;

    /// Effects: handles a `block` that was freed after the listener had abandoned the store: see shared_store::abandon.
    /// Thread safety: any thread; called without a lock.
    virtual void survivor_returned(void* block) noexcept = 0;

    /// Frees the object at `counted` in one of the blocks. A function pointer rather than a virtual function: the
    /// pointer saves a load, and the listener can change it.
    give_back_function give_back;

    /// True if `add_blocks` is expensive: then, the store adds at most as many blocks as requested or as it already
    /// has, whichever is more.
    const bool is_expensive;

protected:
    slab_listener(give_back_function function, bool expensive) noexcept : give_back(function), is_expensive(expensive)
    {
    }
    ~slab_listener() = default;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
