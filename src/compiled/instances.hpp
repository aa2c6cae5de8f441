// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Headers included after this one instantiate their templates in this source. Headers included before it only declare
/// the instances: another source has them.
#pragma once

#include <memory_pool/base/config.hpp>

#undef MEMORY_POOL_INSTANCE
#if MEMORY_POOL_CONFIGURATION == MEMORY_POOL_COMPILED
#define MEMORY_POOL_INSTANCE(...) template __VA_ARGS__;
#else // With other options, translation units instantiate what they use.
#define MEMORY_POOL_INSTANCE(...)
#endif
