// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A call site: the file and line of a call, which the called function gets by a default argument.
///
///     void f(call_site from = call_site::here());        // f() knows the file and the line of each call
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A line of a source file, or any text and number that identify a place.
struct call_site
{
    /// Not copied: the string must outlive every copy of the call site. A string from `here` lives until its library is
    /// unloaded.
    const char* file;
    unsigned line; ///< Counted from 1.

    /// Returns: the line of this call; in a default argument, the line that calls the function with that argument.
    ///   Compilers that do not support this (see MEMORY_POOL_KNOWS_CALLER) return one value for all lines.
    static constexpr call_site here(const char* file = MEMORY_POOL_CALLER_FILE(),
                                    unsigned line = MEMORY_POOL_CALLER_LINE()) noexcept
    {
        return {file, line};
    }
};

/// Returns: whether `a` and `b` are the same line. Compares the strings, not their addresses: each library that
///   includes a header has its own copy of the header's name.
inline bool operator==(const call_site& a, const call_site& b) noexcept
{
    return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

/// Returns: whether `a` and `b` are different lines.
inline bool operator!=(const call_site& a, const call_site& b) noexcept
{
    return !(a == b);
}

/// Returns: whether `a` comes before `b`, by file and then by line.
inline bool operator<(const call_site& a, const call_site& b) noexcept
{
    const int files = std::strcmp(a.file, b.file);
    return files != 0 ? files < 0 : a.line < b.line;
}
}} // namespace memory_pool::MEMORY_POOL_ABI
