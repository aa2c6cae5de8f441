// SPDX-License-Identifier: MIT
#undef MEMORY_POOL_COMPILED
#include <memory_pool/report.hpp>

static_assert(!MEMORY_POOL_USES_LIBRARY, "this unit compiles the code itself");

#include <cstddef>

std::size_t pools_seen_by_another();

std::size_t pools_seen_by_another()
{
    return memory_pool::snapshot().entries.size();
}
