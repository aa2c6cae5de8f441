// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

void* np_alloc_at(size_t bytes, const char*, int)
{
    return np_alloc(bytes);
}
