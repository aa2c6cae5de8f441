// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports of jobs at their peak, for tools/heap_map: see ./dev tour --map.
#pragma once

#include <string>
#include <string_view>

namespace tour {
/// Returns: the path of the report of a job with a side. Paths sort by `number`.
std::string report_path(std::string_view directory, unsigned number, std::string_view job, std::string_view side);

/// Effects: writes a report of this process, as JSON.
/// Returns: whether the report was written.
bool write_report_file(const std::string& path);
} // namespace tour
