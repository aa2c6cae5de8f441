// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Included first in each source of libnp_alloc.so, whose default is hidden visibility: makes the functions of the C
/// interface visible outside of the library.
#pragma once

#pragma GCC visibility push(default)
#include <memory_pool/no_allocation_scope.h>
#include <memory_pool/np_alloc.h>
#pragma GCC visibility pop
