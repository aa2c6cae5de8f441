// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Programs that clang's thread safety analysis must reject, one for each value of REFUSED, and valid code for 0. The
/// expected messages are in static_checks.cmake.
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/blocks/cache_revocation.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <np_alloc/heaps/heap.hpp>
#include <np_alloc/support/misuse.hpp>

#include <cstddef>

namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;
namespace np = memory_pool::np;

class counter
{
public:
    void count()
    {
#if REFUSED != 1
        const base::lock_guard lock(mutex_);
#endif
        ++count_;
    }

    void count_by_another()
    {
#if REFUSED != 2
        const base::lock_guard lock(mutex_);
#endif
        count_locked();
    }

    void count_once_more()
    {
        const base::lock_guard lock(mutex_);
#if REFUSED == 3
        const base::lock_guard again(mutex_);
#endif
        count_locked();
    }

    void count_if_free()
    {
        if (!mutex_.try_lock())
            return;
#if REFUSED != 4
        const base::lock_guard lock(mutex_, base::adopt_lock);
#endif
        count_locked();
    }

private:
    void count_locked() MEMORY_POOL_REQUIRES(mutex_) { ++count_; }

    base::mutex mutex_;
    int count_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
};

// Uses of declarations in the library.

std::size_t capacity_of(core::cache_revocation& store)
{
#if REFUSED != 5
    const core::cache_revocation::locked lock(store);
#endif
    return store.cached.slabs.capacity();
}

core::slab_store::detached_chunks trim(core::cache_revocation& store)
{
#if REFUSED != 6
    const core::cache_revocation::locked lock(store);
#endif
    return store.detach_free();
}

bool drain(np::heap& heap)
{
    np::misuse_list found;
#if REFUSED != 7
    const np::heap::scoped_lock lock(heap, found);
#endif
    return heap.drain();
}
