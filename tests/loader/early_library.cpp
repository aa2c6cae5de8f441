// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A library that allocates in its constructor, which runs before that of libnp_malloc.so if it is loaded after that.
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
