// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Frees the block of an object that was destroyed, or whose constructor threw: the last chance to free it.
///
/// Thread safety: that of `Blocks`.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/policies.hpp>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// Effects: frees a block. A checking policy reports an overflow; the block is freed anyway.
template <class Blocks>
MEMORY_POOL_ALWAYS_INLINE void give_back_ended(Blocks& blocks, void* block) noexcept
{
    if constexpr (base::checked_policy<typename Blocks::policy>::checks) {
        if (!blocks.verify(block) && !blocks.is_in_use(block))
            return;
    }
    blocks.deallocate(block);
}
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
