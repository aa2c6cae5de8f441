// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The drop-ins that need neither Boost nor np_alloc, as a user's translation unit: see headers.cmake.
#include <memory_pool/policies.hpp>

#include <ArenaMR/ArenaMR.hpp>
#include <custAlloc/custAlloc.hpp>
#include <memory_pool.h>

#include <headers/value.hpp>

#include <cstddef>
#include <memory_resource>
#include <vector>

template class memory_pool::MemoryPool<headers::value>;
template class memory_pool::MemoryPool<headers::value, memory_pool::checking_policy>;

namespace headers {
std::size_t use_drop_ins();
std::size_t use_drop_ins()
{
    PoolAllocator blocks(sizeof(value), 1);
    blocks.deallocate_object(blocks.allocate_object());
    arena_mr::UnsynchronizedArenaMR arenas(10, 10'000);
    const std::pmr::vector<int> numbers(100, 1, &arenas);
    return arenas.NumOfArenas() + arenas.SizePerArena() + arenas.FreeArenaSize() + arenas.UsedMemory() +
           arenas.WastedMemory() + numbers.size();
}
} // namespace headers
