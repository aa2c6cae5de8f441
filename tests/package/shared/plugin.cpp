// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library, linked with libnp_alloc.so, that programs load at run time.
#include <memory_pool/np_alloc.h>
#include <memory_pool/np_alloc.hpp>

extern "C" {
void* plugin_allocate(std::size_t bytes)
{
    return np_alloc(bytes);
}

void plugin_free(void* block)
{
    np_free(block);
}

np_heap* plugin_create_heap()
{
    return np_heap_create();
}
}
