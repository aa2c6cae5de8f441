// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Replaces invalid UTF-8, as reports do in names.
///
/// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fuzz {
/// Returns: the length in bytes of the first character of `text`; 0 if it is not UTF-8.
inline std::size_t length_of_character(std::string_view text)
{
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80; };
    std::uint32_t number = byte(0);
    if (number < 0x80)
        return text.empty() ? 0 : 1;
    const std::size_t length = number >= 0xF0 ? 4 : number >= 0xE0 ? 3 : 2;
    if (number < 0xC0 || number >= 0xF8)
        return 0;
    number &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i != length; ++i) {
        if (!follows(i))
            return 0;
        number = number << 6 | (byte(i) & 0x3FU);
    }
    const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
    const bool is_surrogate = number >= 0xD800 && number < 0xE000;
    return number < least || number > 0x10FFFF || is_surrogate ? 0 : length;
}

/// Returns: `text`, with U+FFFD in place of each byte that is not part of a UTF-8 character.
inline std::string as_utf8(std::string_view text)
{
    std::string made;
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        made += length != 0 ? text.substr(0, length) : std::string_view("\xEF\xBF\xBD");
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return made;
}
} // namespace fuzz
