// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr: a block is handed out by moving a cursor, and an arena whose last block is freed is
/// reused.
///
///     current:  | header | block | block | gap | block |        free        |      allocate moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all their blocks are back
///     free:     | header |                     free                         |      are used next
///
///     bytes_reserved = arena_count * arena_size + large blocks
///
/// For containers and their like that come and go as a whole, or nearly: parsing, a request, a frame. Where blocks of
/// all ages are mixed for long, one block can keep an arena from being used again (`bytes_wasted` tells), and a pool
/// resource is the better choice.
///
/// In a synchronized_arena_resource each thread fills an arena of its own, without a lock, and any may free a block;
/// core/arenas/shared_arenas.hpp says how. It reserves about 128 bytes more for each concurrent thread. A process may
/// fork while threads use it, as with pools: see concurrent_block_pool.hpp.
///
/// Thread safety: unsynchronized_arena_resource: one thread at a time. synchronized_arena_resource: any thread, but for
/// `clear`, `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/basic_arena_resource.hpp>
#include <memory_pool/core/arenas/local_arenas.hpp>
#include <memory_pool/core/arenas/shared_arenas.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Frees at its end what was allocated from an arena resource since its construction, however many blocks that is:
///
///     arena_scope scope(arenas);        parse(request, &arenas);        } // as if each block had been freed
///
/// Arenas without blocks in use are free again, large blocks go back upstream. Blocks from before may be freed during
/// the scope, and later. Scopes nest: they end in the reverse order of their construction.
///
/// Thread safety: that of the resource, which is one for one thread.
class [[nodiscard]] arena_scope : detail::base::immovable<arena_scope>
{
public:
    /// Effects: begins a scope. Allocates nothing. Of scopes nested deeper than 65,535, the blocks are freed by the
    ///   65,535th.
    /// Complexity: O(1).
    template <class Policy>
    explicit arena_scope(basic_unsynchronized_arena_resource<Policy>& arenas) noexcept
    {
        arenas.arenas_.begin_scope(mark_);
    }

    /// Effects: frees the blocks allocated since the construction. `clear` and `release` of the resource may have
    ///   freed them before; if the resource has ended, this is a no-op.
    /// Preconditions: no block from the scope is used or freed any more: its containers have ended, or are never
    ///   destroyed. Scopes within this one have ended. If not, they end now, and a checking policy reports it.
    /// Complexity: linear in the arenas and large blocks that the scope has taken; in their bytes, with a checking
    ///   policy.
    ~arena_scope()
    {
        if (mark_.arenas != nullptr)
            mark_.arenas->end_scope(mark_);
    }

private:
    detail::core::arena_mark mark_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
