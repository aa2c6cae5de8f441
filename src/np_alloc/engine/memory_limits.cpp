// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "memory_limits.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>

#include "../page_heap/memory_limit.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/misuse.hpp"
#include "engine.hpp"

#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
bool sweep() noexcept
{
    if (this_thread_locks != 0)
        return false;
    this_thread.drains_done = registry().maintenance().ask_for_drains(); // This thread is trimmed below.
    (void)trim();
    return true;
}

MEMORY_POOL_NOINLINE bool make_room(std::uint32_t refusals) noexcept
{
    return pages().source().limit().refusals() != refusals && sweep();
}

MEMORY_POOL_NOINLINE void answer_crossing() noexcept
{
    if (this_thread_locks != 0 || this_thread.answers_crossing || !pages().source().limit().take_crossing())
        return;
    const errno_as_it_was kept;
    this_thread.answers_crossing = true;
    (void)sweep();
    const soft_limit_callback callback = pages().source().with_limit(
        [](const memory_limit& limit, std::size_t reserved) { return limit.callback_for(reserved); });
    if (callback.function != nullptr) {
        callback.function(callback.bytes, callback.argument);
        (void)sweep();
    }
    this_thread.answers_crossing = false;
}
} // namespace memory_pool::np

namespace np = memory_pool::np;

extern "C" {
MEMORY_POOL_VISIBLE void np_set_soft_limit_callback(void (*function)(size_t bytes, void* argument),
                                                    void* argument) noexcept
{
    np::pages().source().with_limit(
        [=](np::memory_limit& limit, std::size_t) { limit.set_callback({function, argument, 0}); });
}
}
