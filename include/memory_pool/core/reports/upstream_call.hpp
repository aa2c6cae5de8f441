// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Calls of upstream, counted in the no_allocation_scope of the thread: see no_allocation_scope.hpp.
///
///     innermost scope of the thread  ->  np_no_allocation_scope: name, allocations, ...
///            ^
///     upstream_call: clears the scope, so that allocations of upstream do not count; notes one allocation in it;
///                    restores it at the end
///
/// np_alloc holds the innermost scope of a thread if it is linked into the program or preloaded as libnp_malloc.so; it
/// is referenced by a weak symbol (ELF). Otherwise the scope is held here.
///
/// Thread safety: any thread; a scope belongs to one.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/no_allocation_scope.h>

#include <cstddef>
#include <memory_resource>
#include <utility>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// np_set_no_allocation_scope under another name: if that one were declared weak, calls of it by the program would not
/// link it from an archive.
MEMORY_POOL_WEAK np_no_allocation_scope* memory_pool_np_set_no_allocation_scope(np_no_allocation_scope* scope) noexcept;
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The innermost scope of this thread, if np_alloc does not hold it.
MEMORY_POOL_ONE_PER_PROCESS thread_local np_no_allocation_scope* innermost_scope = nullptr;

/// Effects: as np_set_no_allocation_scope, which it calls if that is present.
inline np_no_allocation_scope* set_no_allocation_scope(np_no_allocation_scope* scope) noexcept
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_set_no_allocation_scope != nullptr)
        return memory_pool_np_set_no_allocation_scope(scope);
#endif
    return std::exchange(innermost_scope, scope);
}

/// Effects: counts an allocation in a scope, and calls its function.
/// Preconditions: the scope is not in effect, as its function may allocate.
inline void note_allocation(np_no_allocation_scope& scope, std::size_t bytes, const char* allocator) noexcept
{
    ++scope.allocations;
    scope.bytes += bytes;
    if (scope.note != nullptr)
        scope.note(&scope, bytes, allocator);
}

/// A call of upstream by a pool, arena or resource: one allocation, whatever upstream does.
class upstream_call : base::immovable<upstream_call>
{
public:
    upstream_call(std::size_t bytes, const char* pool_name) noexcept : scope_(set_no_allocation_scope(nullptr))
    {
        if (MEMORY_POOL_UNLIKELY(scope_ != nullptr))
            note_allocation(*scope_, bytes, pool_name);
    }
    ~upstream_call()
    {
        if (MEMORY_POOL_UNLIKELY(scope_ != nullptr))
            (void)set_no_allocation_scope(scope_);
    }

private:
    np_no_allocation_scope* const scope_;
};

/// Returns: memory from upstream, for the pool, arena or resource of that name.
/// Throws: what upstream throws.
inline void* allocate_upstream(std::pmr::memory_resource* upstream, std::size_t bytes, std::size_t alignment,
                               const char* pool_name = "unnamed")
{
    const upstream_call call(bytes, pool_name);
    return upstream->allocate(bytes, alignment);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
