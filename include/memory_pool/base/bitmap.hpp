// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Access to the bits of an array of words by index.
///
///     words:  | 63 ... 1 0 | 127 ... 65 64 | ...
///
/// Thread safety: none; the owner of the words guards them.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Returns: the number of words that hold `bits` bits.
constexpr std::size_t words_for(std::size_t bits) noexcept
{
    return divide_round_up(bits, bits_per_word);
}

/// Returns: a word in which only the bit for `index` is set.
constexpr std::uint64_t bit_in_word(std::size_t index) noexcept
{
    return std::uint64_t{1} << (index % bits_per_word);
}

constexpr void set_bit(std::uint64_t* words, std::size_t index) noexcept
{
    words[index / bits_per_word] |= bit_in_word(index);
}

constexpr void clear_bit(std::uint64_t* words, std::size_t index) noexcept
{
    words[index / bits_per_word] &= ~bit_in_word(index);
}

/// Returns: the index of the first set bit (or clear bit, unless `IsSet`) in [from, end); `end` if there is none.
template <bool IsSet, class Word>
constexpr std::size_t find_bit(const Word* words, std::size_t from, std::size_t end) noexcept
{
    constexpr std::size_t bits_of_word = std::numeric_limits<Word>::digits;
    while (from < end) {
        const Word word = words[from / bits_of_word];
        const Word rest = static_cast<Word>(IsSet ? word : ~word) >> (from % bits_of_word);
        if (rest != 0) {
            const std::size_t found = from + lowest_bit(rest);
            return found < end ? found : end;
        }
        from += bits_of_word - from % bits_of_word;
    }
    return end;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
