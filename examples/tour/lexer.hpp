// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Splits any bytes into words, brackets and signs, for texts in any language. Compiled once and not inline, so that
/// all sides run identical code here and differ only in their nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tour {
/// A position in the text. 32 bits suffice for the text that the tour reads, and keep nodes small.
using text_offset = std::uint32_t;

/// The kinds of tokens, and of their first bytes.
enum class token_kind : unsigned char
{
    space,   ///< Bytes between tokens; also the end of the text.
    word,    ///< Letters, digits, underscores and non-ASCII bytes, so that words in UTF-8 stay whole.
    opening, ///< One of ( [ {
    closing, ///< One of ) ] }
    sign     ///< A run of any other bytes.
};

/// A token: its kind and its position in the text.
struct token
{
    token_kind kind = token_kind::space;
    text_offset offset = 0;
    text_offset length = 0;
};

/// Returns: a checksum of `sum` and `value`. Depends on the order of values.
constexpr std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) noexcept
{
    const std::uint64_t product = (sum ^ value) * 0x9E3779B97F4A7C15U;
    return product ^ (product >> 32);
}

/// Returns: a hash of `word` (FNV-1a, mixed so that all bits are usable).
std::uint64_t hash_of(std::string_view word) noexcept;

/// Reads tokens from a text, first to last.
class lexer
{
public:
    explicit lexer(std::string_view text) noexcept : text_(text) {}

    /// Returns: the next token; at the end, a token of the kind `space`.
    token next() noexcept;

    /// Returns: the next word; at the end, a token of the kind `space`.
    token next_word() noexcept;

private:
    void skip(token_kind kind) noexcept;

    std::string_view text_;
    std::size_t position_ = 0;
};
} // namespace tour
