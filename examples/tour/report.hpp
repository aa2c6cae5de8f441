// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The output of the tour: numbers, a table, and a progress bar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// Returns: `count` with commas: 1,234,567.
std::string in_thousands(std::uint64_t count);

/// Returns: `bytes` in MiB, or in KiB below 1 MiB, with one decimal.
std::string in_bytes(std::uint64_t bytes);

/// Returns: `nanoseconds` in ms, with one decimal, or three decimals below 10 ms.
std::string in_milliseconds(std::uint64_t nanoseconds);

/// Returns: `dividend / divisor`, with two decimals and an x: 2.07x.
std::string in_times(std::uint64_t dividend, std::uint64_t divisor);

/// A table with columns as wide as their content. The first two columns are left-aligned; the other columns are
/// right-aligned.
class table
{
public:
    explicit table(std::vector<std::string> titles) { add(std::move(titles)); }

    /// Effects: adds a row with a cell for each title.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    /// Effects: adds an empty row.
    void add_gap() { rows_.emplace_back(); }

    /// Effects: prints the table to stdout.
    void print() const;

private:
    std::vector<std::size_t> widths() const;

    std::vector<std::vector<std::string>> rows_;
};

/// A progress bar on stderr, if stderr is a terminal.
class progress
{
public:
    explicit progress(std::size_t steps) noexcept;
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    /// Effects: shows the beginning of the next step, with a description.
    void begin_step(std::string_view what);

private:
    std::size_t steps_;
    std::size_t begun_ = 0;
    bool is_shown_;
};
} // namespace tour
