// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Bytes in the gzip format (RFC 1952), not compressed: each part is a stored block (RFC 1951, 3.2.4).
///
///     | header | 0, length, ~length, bytes | 0, length, ~length, bytes | ... | 1, 0, ~0 | CRC-32 | length |
///
/// Nothing is allocated.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/report_format.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The CRC-32 of gzip, zip and PNG: polynomial 0xEDB88320, reflected.
class crc32
{
public:
    void add(std::string_view bytes) noexcept
    {
        for (const char each : bytes)
            inverted_ = remainders()[(inverted_ ^ static_cast<unsigned char>(each)) & 0xFFU] ^ inverted_ >> 8U;
    }

    std::uint32_t value() const noexcept { return ~inverted_; }

private:
    static constexpr std::array<std::uint32_t, 256> compute_remainders() noexcept
    {
        std::array<std::uint32_t, 256> all{};
        for (std::uint32_t byte = 0; byte != all.size(); ++byte) {
            std::uint32_t remainder = byte;
            for (int bit = 0; bit != 8; ++bit)
                remainder = remainder >> 1U ^ ((remainder & 1U) != 0 ? 0xEDB8'8320U : 0U);
            all[byte] = remainder;
        }
        return all;
    }

    static const std::array<std::uint32_t, 256>& remainders() noexcept
    {
        static constexpr std::array<std::uint32_t, 256> all = compute_remainders();
        return all;
    }

    std::uint32_t inverted_ = ~std::uint32_t{0};
};

/// A gzip member being written.
class gzip_output : base::immovable<gzip_output>
{
public:
    explicit gzip_output(report_output to) : to_(to)
    {
        constexpr std::array<char, 10> header{'\x1F', '\x8B', 8, 0, 0, 0, 0, 0, 0, '\xFF'}; // deflate, unknown system
        to_ << std::string_view(header.data(), header.size());
    }

    void write(std::string_view bytes)
    {
        sum_.add(bytes);
        length_ += static_cast<std::uint32_t>(bytes.size());
        while (!bytes.empty()) {
            const std::size_t part = std::min(bytes.size(), block_.size() - used_);
            std::memcpy(block_.data() + used_, bytes.data(), part);
            used_ += part;
            bytes.remove_prefix(part);
            if (used_ == block_.size())
                write_block(false);
        }
    }

    /// Effects: writes the end.
    void finish()
    {
        write_block(true);
        number(sum_.value(), 4);
        number(length_, 4);
    }

private:
    void number(std::uint32_t value, std::size_t bytes)
    {
        std::array<char, 4> little_endian{};
        for (std::size_t i = 0; i != bytes; ++i)
            little_endian[i] = static_cast<char>(value >> 8U * i & 0xFFU);
        to_ << std::string_view(little_endian.data(), bytes);
    }

    void write_block(bool is_last)
    {
        const auto length = static_cast<std::uint32_t>(used_);
        number(is_last ? 1 : 0, 1);
        number(length, 2);
        number(~length & 0xFFFFU, 2);
        to_ << std::string_view(block_.data(), used_);
        used_ = 0;
    }

    report_output to_;
    crc32 sum_;
    std::uint32_t length_ = 0; ///< Modulo 2^32, as the format has it.
    std::size_t used_ = 0;
    std::array<char, 2048> block_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
