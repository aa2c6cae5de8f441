// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What is said when a program has touched what lies beside a sample, or a sample that was freed: see
/// guarded_slots.hpp; or, in the checked build, the guard of a large block, or a freed large block: see
/// checked_slice.hpp and revoked_runs.hpp.
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
/// Effects: if the address is one of those, reports what was wrong with an access to it that the system has refused;
///   once, however often it comes again.
/// Preconditions: it is called in the thread that was refused, by the handler of the signal.
void report_wrong_access(const void* address, os::access how);
} // namespace memory_pool::np
