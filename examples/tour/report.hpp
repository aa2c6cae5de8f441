// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What the tour prints: figures, a table, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
/// Returns: `count` with commas: 1,234,567.
std::string in_thousands(std::uint64_t count);

/// Returns: `bytes` in MiB, with one digit after the point; in KiB below 1 MiB.
std::string in_bytes(std::uint64_t bytes);

/// Returns: `nanoseconds` in ms, with one digit after the point; with three below 10 ms.
std::string in_milliseconds(std::uint64_t nanoseconds);

/// Returns: `dividend / divisor`, with two digits after the point and an x: 2.07x.
std::string in_times(std::uint64_t dividend, std::uint64_t divisor);

/// Columns that are as wide as what is in them; the first two begin at the left, the others end at the right.
class table
{
public:
    explicit table(std::vector<std::string> titles) { add(std::move(titles)); }

    /// Effects: adds a row, which has as many cells as there are titles.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    /// Effects: adds an empty row.
    void add_gap() { rows_.emplace_back(); }

    /// Effects: prints everything to stdout.
    void print() const;

private:
    std::vector<std::size_t> widths() const;

    std::vector<std::vector<std::string>> rows_;
};

/// A bar that grows, on stderr, if that is a terminal; nothing elsewhere.
class progress
{
public:
    explicit progress(std::size_t steps) noexcept;
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    /// Effects: shows that the next step begins, and what it is.
    void begin_step(std::string_view what);

private:
    std::size_t steps_;
    std::size_t begun_ = 0;
    bool is_shown_;
};
} // namespace tour
