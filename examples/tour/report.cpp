// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tour {
namespace {
std::string with_digits(double value, int digits)
{
    char text[64];
    (void)std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

void print_padding(std::size_t width)
{
    std::printf("%*s", static_cast<int>(width), "");
}
} // namespace

std::string in_thousands(std::uint64_t count)
{
    std::string text = std::to_string(count);
    for (std::size_t position = text.size(); position > 3; position -= 3)
        text.insert(position - 3, 1, ',');
    return text;
}

std::string in_bytes(std::uint64_t bytes)
{
    constexpr double kibibyte = 1024;
    const double kibibytes = static_cast<double>(bytes) / kibibyte;
    return kibibytes < kibibyte ? with_digits(kibibytes, 1) + " KiB" : with_digits(kibibytes / kibibyte, 1) + " MiB";
}

std::string in_milliseconds(std::uint64_t nanoseconds)
{
    const double milliseconds = static_cast<double>(nanoseconds) / 1e6;
    return with_digits(milliseconds, milliseconds < 10 ? 3 : 1) + " ms";
}

std::string in_times(std::uint64_t dividend, std::uint64_t divisor)
{
    return with_digits(static_cast<double>(dividend) / static_cast<double>(std::max<std::uint64_t>(divisor, 1)), 2) +
           "x";
}

std::vector<std::size_t> table::widths() const
{
    std::vector<std::size_t> widths(rows_.front().size());
    for (const std::vector<std::string>& row : rows_)
        for (std::size_t column = 0; column != row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    return widths;
}

void table::print() const
{
    constexpr std::size_t gap = 3;
    constexpr std::size_t left_columns = 2;
    const std::vector<std::size_t> widths = this->widths();
    for (const std::vector<std::string>& row : rows_) {
        for (std::size_t column = 0; column != row.size(); ++column) {
            const std::size_t padding = widths[column] - row[column].size();
            print_padding(column == 0 ? 0 : gap);
            print_padding(column < left_columns ? 0 : padding);
            std::printf("%s", row[column].c_str());
            print_padding(column < left_columns ? padding : 0);
        }
        std::printf("\n");
    }
}

progress::progress(std::size_t steps) noexcept : steps_(steps), is_shown_(::isatty(STDERR_FILENO) == 1) {}

progress::~progress()
{
    if (is_shown_)
        std::fprintf(stderr, "\r%70s\r", "");
}

void progress::begin_step(std::string_view what)
{
    constexpr std::size_t bar_width = 24;
    const std::size_t filled = begun_++ * bar_width / steps_;
    if (!is_shown_)
        return;
    const std::string bar = std::string(filled, '#') + std::string(bar_width - filled, '.');
    const std::string text = '[' + bar + "] " + std::string(what);
    std::fprintf(stderr, "\r%-70.70s", text.c_str());
}
} // namespace tour
