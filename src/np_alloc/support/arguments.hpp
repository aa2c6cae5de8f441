// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Arguments that several functions of the interface have in common.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>

#include "internals.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace memory_pool::np {
/// Returns: whether it is an alignment; if not, errno is EINVAL.
inline bool is_alignment(std::size_t alignment) noexcept
{
    if (base::is_power_of_two(alignment))
        return true;
    errno = EINVAL;
    return false;
}

/// Returns: the number of characters of `text`, up to `most`.
inline std::size_t length_of(const char* text, std::size_t most) noexcept
{
    const void* const end = std::memchr(text, '\0', most);
    return end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - text) : most;
}

/// Returns: a copy of the first `length` characters, in a block from `allocate(bytes)`.
template <class Allocate>
char* copy_text(const char* text, std::size_t length, Allocate&& allocate) noexcept
{
    auto* const copy = static_cast<char*>(allocate(length + 1));
    if (copy != nullptr)
        *std::copy_n(text, length, copy) = '\0';
    return copy;
}

/// Effects: writes `from` to a struct of the program, of size `bytes`: the members that both have, and 0 to those that
///   only a later version of this library knows.
template <class Struct>
void write_sized(void* to, std::size_t bytes, const Struct& from) noexcept
{
    const std::size_t known = std::min(bytes, sizeof from);
    std::memcpy(to, &from, known);
    std::memset(static_cast<std::byte*>(to) + known, 0, bytes - known);
}
} // namespace memory_pool::np
