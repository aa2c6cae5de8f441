// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Instantiates functions of the public classes, for the names of their symbols.
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/np_alloc.hpp>

#include <ArenaMR/ArenaMR.hpp>
#include <custAlloc/custAlloc.hpp>
#include <memory_pool.h>

template class memory_pool::basic_block_pool<memory_pool::checking_policy>;
template class memory_pool::basic_block_pool<memory_pool::checking_policy,
                                             memory_pool::detail::core::shared_blocks<memory_pool::checking_policy>>;
template class memory_pool::basic_object_pool<int, memory_pool::basic_block_pool<memory_pool::counting_policy>>;
template class memory_pool::basic_shared_pool<int, memory_pool::basic_block_pool<memory_pool::counting_policy>>;
template class memory_pool::basic_recycling_shared_pool<
    int, memory_pool::basic_concurrent_block_pool<memory_pool::counting_policy>>;
template class memory_pool::block_resource<memory_pool::block_pool>;
template class memory_pool::np_allocator<int>;

/// Effects: creates one of each resource.
void use_resources()
{
    memory_pool::page_resource pages;
    memory_pool::tracking_resource tracking(&pages);
    memory_pool::limit_resource limit(1'000'000, &tracking);
    memory_pool::synchronized_resource synchronized(&limit);
    memory_pool::unsynchronized_pool_resource pools(&synchronized);
    memory_pool::synchronized_pool_resource shared_pools(&synchronized);
    memory_pool::unsynchronized_arena_resource arenas;
    memory_pool::synchronized_arena_resource shared_arenas;
    arena_mr::UnsynchronizedArenaMR dropped_in(1, 1024);
    memory_pool::MemoryPool<int> objects(1);
    int* object = objects.new_block_pt();
    objects.delete_block_pt(object);
    PoolAllocator blocks(8, 8);
    np_statistics_print();
    np_free(np_alloc(1, __FILE__, __LINE__));
}
