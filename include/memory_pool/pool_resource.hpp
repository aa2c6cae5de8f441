// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size: for one thread, and shared by threads.
///
/// Thread safety: see each.
#pragma once

#include <memory_pool/synchronized_pool_resource.hpp>
#include <memory_pool/unsynchronized_pool_resource.hpp>
