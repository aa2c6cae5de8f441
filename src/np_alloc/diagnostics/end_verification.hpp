// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Verification of all blocks at process exit: finds damage that no allocation or free has found.
///
/// Thread safety: any thread.
#pragma once

namespace memory_pool::np {
/// Effects: verifies free blocks, blocks in quarantine, and the canaries behind slabs' blocks in use. Reports the first
///   damaged block. No-op in the plain build, if NP_VERIFY_AT_END is 0, or if there are other threads.
/// Complexity: linear in memory.
void verify_at_end() noexcept;
} // namespace memory_pool::np
