// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Headers that a source includes after this one instantiate their templates there. Headers included before it only
/// declare them: another source has those instances.
#pragma once

#include <memory_pool/base/config.hpp>

#if MEMORY_POOL_CONFIGURATION != MEMORY_POOL_COMPILED
#error "compiled with options that CMAKE_CXX_FLAGS does not have, so its users would not match: set them there"
#endif

#undef MEMORY_POOL_INSTANCE
#define MEMORY_POOL_INSTANCE(...) template __VA_ARGS__;
