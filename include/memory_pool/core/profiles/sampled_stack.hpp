// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The call stack of a sample.
///
///     | call_stack | sampler | allocate | parse | main |      by rows if the loader may be asked, else by the unwinder
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/profiles/loader_gate.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/unwind_rows.hpp>

#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
using sampled_stack = os::basic_call_stack<profile_sample::most_frames>;

/// Returns: the call stack of this thread.
MEMORY_POOL_ALWAYS_INLINE sampled_stack take_sampled_stack(loader_gate& gate) noexcept
{
    if (!gate.enter())
        return sampled_stack::of_this_thread();
    const std::uintptr_t unloads = os::unwind_rows::unloads();
    gate.leave();
    return sampled_stack::of_this_thread_by_rows(unloads);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
