// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A line of a program, and how a function finds out which line called it.
///
///     void f(call_site from = call_site::here());        // f() knows the file and the line of each call
///
/// Thread safety: a value.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A line of a program; or any text and number that tell one place from another.
struct call_site
{
    /// Not copied: it must outlive whatever keeps the call site. What `here` gives does, unless the library that the
    /// line is in is unloaded.
    const char* file;
    unsigned line; ///< Counted from 1.

    /// Returns: the line that calls it; as a default argument, the line that calls the function that has it. Compilers
    ///   that cannot tell (see MEMORY_POOL_KNOWS_CALLER) give the same for all lines.
    static constexpr call_site here(const char* file = MEMORY_POOL_CALLER_FILE(),
                                    unsigned line = MEMORY_POOL_CALLER_LINE()) noexcept
    {
        return {file, line};
    }
};

/// Returns: whether they are the same line. The texts are compared, not their addresses: a header has one of each in
///   every library that includes it.
inline bool operator==(const call_site& a, const call_site& b) noexcept
{
    return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

/// Returns: whether they are not.
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
