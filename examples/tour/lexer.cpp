// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "lexer.hpp"

#include <array>
#include <limits>

namespace tour {
namespace {
constexpr token_kind kind_of(unsigned char byte) noexcept
{
    if (byte <= ' ' || byte == 0x7F)
        return token_kind::space;
    if (byte == '(' || byte == '[' || byte == '{')
        return token_kind::opening;
    if (byte == ')' || byte == ']' || byte == '}')
        return token_kind::closing;
    const bool is_letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_' || byte >= 0x80;
    return is_letter || (byte >= '0' && byte <= '9') ? token_kind::word : token_kind::sign;
}

using kind_table = std::array<token_kind, std::size_t{std::numeric_limits<unsigned char>::max()} + 1>;

constexpr kind_table kinds_of_all_bytes() noexcept
{
    kind_table kinds{};
    for (std::size_t byte = 0; byte != kinds.size(); ++byte)
        kinds[byte] = kind_of(static_cast<unsigned char>(byte));
    return kinds;
}

constexpr kind_table kinds = kinds_of_all_bytes();

token_kind kind_at(std::string_view text, std::size_t position) noexcept
{
    return kinds[static_cast<unsigned char>(text[position])];
}
} // namespace

std::uint64_t hash_of(std::string_view word) noexcept
{
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const char letter : word)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
    return mixed(0, hash);
}

token lexer::next() noexcept
{
    skip(token_kind::space);
    if (position_ == text_.size())
        return {};
    const std::size_t begin = position_;
    const token_kind kind = kind_at(text_, begin);
    if (kind == token_kind::opening || kind == token_kind::closing)
        ++position_;
    else
        skip(kind);
    return {kind, static_cast<text_offset>(begin), static_cast<text_offset>(position_ - begin)};
}

token lexer::next_word() noexcept
{
    token found = next();
    while (found.kind != token_kind::word && found.kind != token_kind::space)
        found = next();
    return found;
}

void lexer::skip(token_kind kind) noexcept
{
    std::size_t position = position_;
    while (position != text_.size() && kind_at(text_, position) == kind)
        ++position;
    position_ = position;
}
} // namespace tour
