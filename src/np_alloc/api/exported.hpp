// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Makes the functions of the C interface visible outside of libnp_alloc.so, whose default is hidden visibility. Each
/// source of the library includes this file first.
#pragma once

#pragma GCC visibility push(default)
#include <memory_pool/no_allocation_scope.h>
#include <memory_pool/np_alloc.h>
#pragma GCC visibility pop
