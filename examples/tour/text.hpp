// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads the text of the tour from a file, or from all files in folders, in a reproducible order.
#pragma once

#include "process.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// The result of reading.
struct reading
{
    std::uint64_t bytes = 0;         ///< The size of the text.
    std::uint64_t files = 0;         ///< The number of files with text.
    std::uint64_t skipped = 0;       ///< Files and folders that could not be read.
    std::uint64_t not_text = 0;      ///< Non-text files in folders.
    bool is_cut = false;             ///< The text did not fit into the memory.
    std::array<char, 160> problem{}; ///< An error message if there is no text, otherwise empty.
};

/// Effects: reads `path`, a file or a folder, into `memory`.
reading read_path(const std::string& path, const shared_memory& memory);

/// Effects: reads all readable files in `folders`, each folder once, into `memory`.
reading read_folders(const std::vector<std::string>& folders, const shared_memory& memory);

/// Returns: the default folders of the compiler's C++ headers, as far as known.
std::vector<std::string> header_folders();

/// Returns: `name`, with question marks for line breaks, control characters and non-ASCII bytes.
std::string printable(std::string_view name);
} // namespace tour
