// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Verification of all blocks at process exit: finds damage that no later allocation or free has found.
///
/// Thread safety: any thread.
#pragma once

namespace memory_pool::np {
/// Effects: in the checked build, unless NP_VERIFY_AT_END is 0: verifies free blocks, blocks in quarantine, and the
///   canaries of blocks in use; reports the first damaged one.
/// Complexity: linear in memory.
void verify_at_end() noexcept;
} // namespace memory_pool::np
