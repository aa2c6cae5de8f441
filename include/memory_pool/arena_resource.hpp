// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr: for one thread, and shared by threads.
///
/// Thread safety: see each.
#pragma once

#include <memory_pool/synchronized_arena_resource.hpp>
#include <memory_pool/unsynchronized_arena_resource.hpp>
