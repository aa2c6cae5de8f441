// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The state of each block, for reports that tools draw as a map.
///
/// Thread safety: any thread.
#pragma once

#include "../support/internals.hpp"
#include "../support/output.hpp"

namespace memory_pool::np {
/// Effects: writes the member `slabs` of a report, with a comma before it, if np_option_report_slabs is set.
void print_slabs_of_report(output::function write, void* argument);
} // namespace memory_pool::np
