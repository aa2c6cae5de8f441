// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports a refused access: beside a guarded sample or to a freed guarded sample (see guarded_slots.hpp). In the
/// checked build, also reports an access to the guard of a large block or to a freed large block: see checked_slice.hpp
/// and revoked_runs.hpp.
///
///     memory_pool: buffer overflow: access to address 0x7f52a4018000, block 0x7f52a4017fc0, block size 64 bytes, ...
///       remedy: find the access past the end of this block, in the calls below
///       a write 0 bytes past the end of the block, by thread 4712 of process 4711
///       accessed by:
///         /usr/bin/program+0x11d4 (parse)
///         ...
///       allocated by:
///         ...
///
/// Thread safety: any thread.
#pragma once

#include "../os/fault.hpp"
#include "../support/internals.hpp"

namespace memory_pool::np {
/// Effects: reports the refused access if `address` is guarded. Reports a repeated access only once.
/// Preconditions: the caller is the signal handler, in the thread whose access was refused.
void report_wrong_access(const void* address, os::access how);
} // namespace memory_pool::np
