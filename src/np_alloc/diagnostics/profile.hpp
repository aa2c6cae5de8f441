// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes the allocation profile of the process: see np_alloc.h.
///
///     profile samples of the_profile  ->  taken_profile  ->  pprof | folded | text
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/core/reports/profile_sample.hpp>

#include "../support/internals.hpp"

namespace memory_pool::np {
/// Returns: the profile sample without its innermost np_alloc frames if np_alloc is a separate module; the unchanged
///   sample if it has no other frames.
core::profile_sample without_own_frames(core::profile_sample sample) noexcept;

/// Effects: as np_profile_dump.
int dump_profile(const char* path) noexcept;
} // namespace memory_pool::np
