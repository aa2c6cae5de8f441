// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library with its own np_alloc, loaded at run time.
#include "use.hpp"

#include <memory_pool/np_alloc.h>

extern "C" __attribute__((visibility("default"))) bool use_np_alloc()
{
    return test::use(&np_alloc, &np_realloc, &np_free);
}
