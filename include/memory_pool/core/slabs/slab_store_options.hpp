// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The options of a slab store, set by its pool.
///
/// Thread safety: values.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The name and block size of a pool, for reports.
struct pool_identity
{
    const char* name;
    std::size_t block_size;
};

/// The options of a slab store.
struct slab_store_options
{
    bool prefault;              ///< Make every page resident at once.
    bool has_room_for_magazine; ///< Leave room for the array of a magazine behind the first slab.
    /// Write the bytes of fill_pattern to new blocks. The pool fills freed blocks itself.
    bool fills_free_blocks;
    std::size_t growth_step = 0;       ///< See pool_options.
    slab_listener* listener = nullptr; ///< Owner of the slabs, or nullptr. If set, the first slab is like the others.
    std::size_t max_cached_blocks = 0; ///< See pool_options.
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
