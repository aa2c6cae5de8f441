// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads a small text file of the kernel in one call, and finds numbers in it.
///
/// (Linux: pread. Other systems: not available.)
///
/// Thread safety: none; use one object per thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/descriptor.hpp>

#if defined(__linux__)
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The text of a file.
class small_file
{
public:
    /// Effects: reads a file, and closes it if `closes`.
    /// Returns: whether the file had any text.
    bool read(descriptor file, bool closes = false) noexcept
    {
        const std::size_t length =
            file != no_descriptor ? bytes_of([&] { return ::pread(file, text_.data(), text_.size() - 1, 0); }) : 0;
        text_[length] = '\0';
        if (closes && file != no_descriptor)
            (void)::close(file);
        return length != 0;
    }

    /// Returns: the number behind `key`, which is at the beginning of a line or behind a space.
    std::optional<std::uint64_t> number_behind(const char* key) const noexcept
    {
        const char* const text = text_.data();
        for (const char* at = std::strstr(text, key); at != nullptr; at = std::strstr(at + 1, key))
            if (at == text || at[-1] == '\n' || at[-1] == ' ')
                return std::strtoull(at + std::strlen(key), nullptr, 10);
        return std::nullopt;
    }

private:
    std::array<char, 1024> text_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
#endif
