// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reading the text of the tour from a file, or from all files of folders, in an order that is always the same.
#pragma once

#include "process.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// What was read.
struct reading
{
    std::uint64_t bytes = 0;         ///< Of text, which is in the memory that was passed.
    std::uint64_t files = 0;         ///< That the text is from.
    std::uint64_t skipped = 0;       ///< Files and folders that could not be read.
    std::uint64_t not_text = 0;      ///< Files of folders that are something else.
    bool is_cut = false;             ///< There was more text than memory.
    std::array<char, 160> problem{}; ///< Why there is no text; empty if there is some.
};

/// Effects: reads `path`, a file or a folder, into `memory`.
reading read_path(const std::string& path, const shared_memory& memory);

/// Effects: reads those of `folders` that can be read, one after the other, each file once, into `memory`.
reading read_folders(const std::vector<std::string>& folders, const shared_memory& memory);

/// Returns: the folders in which the compiler looks for C++ headers by itself, or what comes closest.
std::vector<std::string> header_folders();

/// Returns: `name` without what would break a line or confuse a terminal.
std::string printable(std::string_view name);
} // namespace tour
