// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library with profiled pools that uses the pool registry of the program: see unloading_host.cpp.
#include <memory_pool/block_pool.hpp>
#include <memory_pool/profiling_policy.hpp>

extern "C" void use_profiled_pool()
{
    memory_pool::set_profile_bytes(1);
    memory_pool::basic_block_pool<memory_pool::profiling_policy<>> pool(64);
    pool.deallocate(pool.allocate());
    (void)pool.allocate(); // a leak
}
