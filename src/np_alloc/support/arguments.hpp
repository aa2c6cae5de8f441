// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Arguments that several functions of the interface share.
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
/// Returns: whether `alignment` is valid; if not, errno is EINVAL.
inline bool is_alignment(std::size_t alignment) noexcept
{
    if (base::is_power_of_two(alignment))
        return true;
    errno = EINVAL;
    return false;
}

/// Returns: the number of characters of `text`, up to `max_length`.
inline std::size_t length_of(const char* text, std::size_t max_length) noexcept
{
    const void* const end = std::memchr(text, '\0', max_length);
    return end != nullptr ? static_cast<std::size_t>(static_cast<const char*>(end) - text) : max_length;
}

/// Returns: a copy of the first `length` characters, in a block from `allocate(bytes)`; nullptr if that fails.
template <class Allocate>
char* copy_text(const char* text, std::size_t length, Allocate&& allocate) noexcept
{
    auto* const copy = static_cast<char*>(allocate(length + 1));
    if (copy != nullptr)
        *std::copy_n(text, length, copy) = '\0';
    return copy;
}

/// Effects: copies `from` to the program's struct of `bytes` bytes. Copies the members that both versions have; zeroes
///   members that only a later version of this library knows.
template <class Struct>
void write_sized(void* to, std::size_t bytes, const Struct& from) noexcept
{
    const std::size_t known = std::min(bytes, sizeof from);
    std::memcpy(to, &from, known);
    std::memset(static_cast<std::byte*>(to) + known, 0, bytes - known);
}
} // namespace memory_pool::np
