// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads JSON, and accepts nothing else: what is written has to follow RFC 8259, in UTF-8, and no member may occur
/// twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuzz {
/// Returns: how many bytes the character at the beginning of `text` has; 0 if it is no UTF-8.
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

struct json_value
{
    enum class type
    {
        null,
        boolean,
        number,
        string,
        array,
        object,
    };

    /// Returns: the member of that name; nullptr if there is none.
    const json_value* member(std::string_view name) const
    {
        const auto found =
            std::find_if(members.begin(), members.end(), [name](const auto& each) { return each.first == name; });
        return found != members.end() ? &found->second : nullptr;
    }

    type is = type::null;
    std::string text; ///< Of a string, without its escapes; of a number, as it is written.
    std::vector<json_value> items;
    std::vector<std::pair<std::string, json_value>> members;
};

class json_reader
{
public:
    /// Returns: the value that `text` is; nothing if it is no JSON.
    static std::optional<json_value> read(std::string_view text)
    {
        json_reader reader(text);
        std::optional<json_value> value = reader.value(0);
        reader.skip_spaces();
        return reader.rest_.empty() ? value : std::nullopt;
    }

private:
    static constexpr std::size_t deepest = 50;

    explicit json_reader(std::string_view text) : rest_(text) {}

    void skip_spaces()
    {
        const std::size_t first = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(std::min(first, rest_.size()));
    }

    bool skip(std::string_view expected)
    {
        if (rest_.substr(0, expected.size()) != expected)
            return false;
        rest_.remove_prefix(expected.size());
        return true;
    }

    std::optional<json_value> value(std::size_t depth)
    {
        skip_spaces();
        json_value read;
        if (rest_.empty() || depth == deepest)
            return std::nullopt;
        if (skip("null"))
            return read;
        read.is = json_value::type::boolean;
        if (skip("true") || skip("false"))
            return read;
        switch (rest_[0]) {
        case '"': read.is = json_value::type::string; return string(read.text) ? std::optional(read) : std::nullopt;
        case '[': return array(depth);
        case '{': return object(depth);
        default: read.is = json_value::type::number; return number(read.text) ? std::optional(read) : std::nullopt;
        }
    }

    bool digits()
    {
        const std::size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
        rest_.remove_prefix(count);
        return count != 0;
    }

    bool number(std::string& text)
    {
        const std::string_view all = rest_;
        (void)skip("-");
        if (!skip("0") && !digits())
            return false;
        if (skip(".") && !digits())
            return false;
        if (skip("e") || skip("E")) {
            if (!skip("+"))
                (void)skip("-");
            if (!digits())
                return false;
        }
        text = all.substr(0, all.size() - rest_.size());
        return true;
    }

    bool string(std::string& text)
    {
        if (!skip("\""))
            return false;
        while (!skip("\"")) {
            const std::size_t length = length_of_character(rest_);
            if (length == 0 || static_cast<unsigned char>(rest_[0]) < 0x20)
                return false;
            if (rest_[0] == '\\') {
                if (!escape(text))
                    return false;
                continue;
            }
            text += rest_.substr(0, length);
            rest_.remove_prefix(length);
        }
        return true;
    }

    /// Of those that stand for a character, such with a number must be below 128, as no others are needed.
    bool escape(std::string& text)
    {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        rest_.remove_prefix(1);
        if (!rest_.empty() && letters.find(rest_[0]) != std::string_view::npos) {
            text += meanings[letters.find(rest_[0])];
            rest_.remove_prefix(1);
            return true;
        }
        if (!skip("u00") || rest_.size() < 2 || rest_[0] < '0' || rest_[0] > '7')
            return false;
        constexpr std::string_view hexadecimal = "0123456789abcdef";
        const std::size_t low = hexadecimal.find(rest_[1]);
        if (low == std::string_view::npos)
            return false;
        text += static_cast<char>((rest_[0] - '0') * 16 + static_cast<int>(low));
        rest_.remove_prefix(2);
        return true;
    }

    std::optional<json_value> array(std::size_t depth)
    {
        json_value read;
        read.is = json_value::type::array;
        (void)skip("[");
        skip_spaces();
        if (skip("]"))
            return read;
        do {
            std::optional<json_value> item = value(depth + 1);
            if (!item)
                return std::nullopt;
            read.items.push_back(std::move(*item));
            skip_spaces();
        } while (skip(","));
        return skip("]") ? std::optional(read) : std::nullopt;
    }

    std::optional<json_value> object(std::size_t depth)
    {
        json_value read;
        read.is = json_value::type::object;
        (void)skip("{");
        skip_spaces();
        if (skip("}"))
            return read;
        do {
            skip_spaces();
            std::string name;
            if (!string(name) || read.member(name) != nullptr)
                return std::nullopt;
            skip_spaces();
            if (!skip(":"))
                return std::nullopt;
            std::optional<json_value> member = value(depth + 1);
            if (!member)
                return std::nullopt;
            read.members.emplace_back(std::move(name), std::move(*member));
            skip_spaces();
        } while (skip(","));
        return skip("}") ? std::optional(read) : std::nullopt;
    }

    std::string_view rest_;
};
} // namespace fuzz
