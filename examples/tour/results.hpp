// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The results of a tour, as the source of its table, its conclusion and its JSON. ./dev tour --html renders the JSON
/// as a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// The costs of a job with a side.
struct side_statistics
{
    std::string side;
    bool is_pool; ///< A pool or arena of this library.
    std::uint64_t nanoseconds;
    std::uint64_t peak_memory;
    std::optional<std::uint64_t> heap_calls; ///< Empty if this build does not count them.
    std::optional<std::uint64_t> wasted;     ///< Empty if unknown.
};

/// A job, with statistics of each side that does it. The first side is new/delete.
struct job_statistics
{
    std::string name;
    std::string explanation;
    std::vector<side_statistics> sides;
};

/// A name with an explanation.
struct term
{
    std::string name;
    std::string explanation;
};

struct results
{
    std::vector<std::string> command;
    std::string text; ///< A description of the text.
    std::vector<std::string> text_notes;
    std::size_t rounds = 0;
    std::size_t threads = 0;
    std::vector<term> machine;
    std::vector<term> sides;
    std::vector<job_statistics> jobs;
    std::vector<term> legend;
    std::string agreement;
    std::string conclusion;
};

/// Returns: `shown` as JSON.
std::string as_json(const results& shown);

/// Returns: the environment of the measurements: processor, system, C library and compiler.
std::vector<term> describe_machine();

/// Returns: an error message if the file `path` cannot be written, otherwise an empty string. Does not change the file.
std::string why_not_writable(const std::string& path);

/// Effects: writes `text` to the file `path`. Removes a partly written file on failure.
/// Returns: an error message, or an empty string on success.
std::string write_file(const std::string& path, std::string_view text);
} // namespace tour
