// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Headers that a source includes after this one instantiate their templates there. Headers included before it only
/// declare them: another source has those instances.
#pragma once

#include <memory_pool/base/config.hpp>

#undef MEMORY_POOL_INSTANCE
#if MEMORY_POOL_CONFIGURATION == MEMORY_POOL_COMPILED
#define MEMORY_POOL_INSTANCE(...) template __VA_ARGS__;
#else // With these options, units compile what they use.
#define MEMORY_POOL_INSTANCE(...)
#endif
