// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "allocation_scopes.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/allocation_report.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>

#include "../support/misuse.hpp"
#include "engine.hpp"

#include <cstddef>
#include <utility>

namespace memory_pool::np {
np_no_allocation_scope* set_no_allocation_scope(np_no_allocation_scope* scope) noexcept
{
    np_no_allocation_scope* const before = std::exchange(this_thread.no_allocation, scope);
    if (scope != nullptr && scope->note == nullptr)
        scope->note = &core::report_allocation;
    choose_path_of_allocations();
    return before;
}

MEMORY_POOL_NOINLINE void note_in_scope(std::size_t bytes) noexcept
{
    const errno_as_it_was kept;
    np_no_allocation_scope* const scope = set_no_allocation_scope(nullptr);
    core::note_allocation(*scope, bytes, "np_alloc");
    (void)set_no_allocation_scope(scope);
}
} // namespace memory_pool::np

extern "C" {
MEMORY_POOL_VISIBLE np_no_allocation_scope* np_set_no_allocation_scope(np_no_allocation_scope* scope) noexcept
{
    return memory_pool::np::set_no_allocation_scope(scope);
}
}
