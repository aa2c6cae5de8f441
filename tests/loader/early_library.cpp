// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library whose constructor allocates, before the constructor of libnp_malloc.so if that is loaded first.
#include "early.hpp"

namespace {
early_block from_constructor;

[[gnu::constructor(101)]] void allocate_in_constructor()
{
    from_constructor.allocate();
}
} // namespace

early_block& from_library()
{
    return from_constructor;
}
