// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library with one function, MEMORY_POOL_TEST_FUNCTION, which allocates: see closing_host.cpp. Libraries from this
/// source differ by the name of the function.

extern "C" void* MEMORY_POOL_TEST_FUNCTION(void* (*allocate)())
{
    void* volatile block = allocate(); // prevents a tail call
    return block;
}
