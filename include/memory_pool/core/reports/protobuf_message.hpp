// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A small message in the wire format of Protocol Buffers.
///
///     | field << 3 | 0 | varint |       | field << 3 | 2 | length | bytes |
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A message of up to `Capacity` bytes.
template <std::size_t Capacity>
class protobuf_message
{
public:
    /// The maximum size of a number field: a tag and a varint.
    static constexpr std::size_t max_number_bytes = 5 + 10;

    std::string_view bytes() const noexcept { return {bytes_.data(), length_}; }

    /// Effects: adds a number field.
    /// Preconditions, here and below: the message has room for the addition.
    void number(std::uint32_t field, std::uint64_t value) noexcept
    {
        varint(std::uint64_t{field} << 3U);
        varint(value);
    }

    /// Effects: adds the tag and the length of a field of `length` bytes. The caller writes the bytes after it.
    void begin(std::uint32_t field, std::size_t length) noexcept
    {
        varint(std::uint64_t{field} << 3U | 2U);
        varint(length);
    }

    void text(std::uint32_t field, std::string_view bytes) noexcept
    {
        begin(field, bytes.size());
        std::memcpy(bytes_.data() + length_, bytes.data(), bytes.size());
        length_ += bytes.size();
    }

    /// Effects: adds an element of a packed field.
    void varint(std::uint64_t value) noexcept
    {
        for (; value >= 0x80; value >>= 7U)
            bytes_[length_++] = static_cast<char>(value | 0x80U);
        bytes_[length_++] = static_cast<char>(value);
    }

private:
    std::array<char, Capacity> bytes_{};
    std::size_t length_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
