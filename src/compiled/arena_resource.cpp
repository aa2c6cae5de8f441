// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// libmemory_pool: arena resources.
// Not sorted: this changes the effect of the next header.
#include "instances.hpp"

#include <memory_pool/arena_resource.hpp>
