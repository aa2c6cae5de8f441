// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The figures of a tour, from which its table, its conclusion and its JSON are made. ./dev tour --html makes a page of
/// the JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// What a job took with a side.
struct side_figures
{
    std::string side;
    bool is_pool; ///< A pool or arena of this library.
    std::uint64_t nanoseconds;
    std::uint64_t peak_memory;
    std::optional<std::uint64_t> heap_calls; ///< Empty if this build does not count them.
    std::optional<std::uint64_t> wasted;     ///< Empty if it is unknown.
};

/// A job, with its figures for each side that does it. The first is new/delete.
struct job_figures
{
    std::string name;
    std::string explanation;
    std::vector<side_figures> sides;
};

/// A name, and what it means.
struct term
{
    std::string name;
    std::string explanation;
};

struct figures
{
    std::vector<std::string> command;
    std::string text; ///< What was read.
    std::vector<std::string> text_notes;
    std::size_t rounds = 0;
    std::size_t threads = 0;
    std::vector<term> machine;
    std::vector<term> sides;
    std::vector<job_figures> jobs;
    std::vector<term> legend;
    std::string agreement;
    std::string conclusion;
};

/// Returns: `figures` as JSON.
std::string as_json(const figures& shown);

/// Returns: what the measurements depend on: processor, system, C library and compiler.
std::vector<term> describe_machine();

/// Returns: why the file `path` cannot be written; empty if it can. The file is unchanged.
std::string why_not_writable(const std::string& path);

/// Effects: writes `text` to the file `path`. A file that cannot be written as a whole is removed.
/// Returns: an error message, or an empty string on success.
std::string write_file(const std::string& path, std::string_view text);
} // namespace tour
