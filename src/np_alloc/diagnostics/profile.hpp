// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes the profile of the process: see np_alloc_profile.h.
///
///     samples of the_profile  ->  taken_profile  ->  pprof | folded | text
///
/// Thread safety: any thread.
#pragma once

namespace memory_pool::np {
/// Effects: as np_profile_dump.
int dump_profile(const char* path) noexcept;
} // namespace memory_pool::np
