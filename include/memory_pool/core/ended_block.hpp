// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How a block goes back to its pool whose object is gone, or could not be made: nothing could give it back later.
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
/// Effects: gives a block back. With a policy that checks, an overflow is reported, and the block goes back all the same.
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
