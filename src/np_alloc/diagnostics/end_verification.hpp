// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Verification of all blocks at process exit: finds damage that no later allocation or free has found.
///
/// Thread safety: any thread.
#pragma once

namespace memory_pool::np {
/// Effects: where blocks are checked, unless NP_VERIFY_AT_END is 0, or there are other threads: verifies free blocks,
///   those in quarantine, and what lies behind blocks of slabs in use; reports the first that was written to.
/// Complexity: linear in memory.
void verify_at_end() noexcept;
} // namespace memory_pool::np
