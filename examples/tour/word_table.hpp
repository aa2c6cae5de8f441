// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The table of a word index. Does not create or destroy nodes.
///
///     buckets -> word -> word -> ...         words whose hashes select this bucket, the newest first
///                 |
///                 +-> position -> ...        positions of the word in the text, the last position first
#pragma once

#include "lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tour {
/// A position of a word.
struct position
{
    position* older; ///< The previous position of the word, or nullptr.
    text_offset offset;
};

/// A hash table of words. `Word` has the members `next`, `newest`, `hash`, `offset` and `length`.
template <class Word>
class word_table
{
public:
    explicit word_table(std::string_view text) : text_(text), buckets_(bucket_count(text)) {}

    std::size_t size() const noexcept { return buckets_.size(); }
    Word*& bucket(std::size_t index) noexcept { return buckets_[index]; }

    /// Returns: the entry of the word in `found`. If there is none, calls `make(next, hash)` to create it.
    template <class Make>
    Word& entry_of(const token& found, Make&& make)
    {
        const std::string_view letters = text_.substr(found.offset, found.length);
        const std::uint64_t hash = hash_of(letters);
        Word*& bucket = buckets_[hash % buckets_.size()];
        Word* entry = find(bucket, hash, letters);
        if (entry == nullptr)
            entry = bucket = make(bucket, hash);
        return *entry;
    }

    /// Returns: the entry with these letters in the list that begins with `first`, or nullptr.
    Word* find(Word* first, std::uint64_t hash, std::string_view letters) const noexcept
    {
        Word* entry = first;
        while (entry != nullptr && (entry->hash != hash || letters_of(*entry) != letters))
            entry = entry->next;
        return entry;
    }

    std::string_view letters_of(const Word& entry) const noexcept { return text_.substr(entry.offset, entry.length); }

    /// Returns: a checksum of the buckets in [begin, end). The checksums of disjoint ranges add up to the checksum of
    ///   the whole table.
    std::uint64_t checksum(std::size_t begin, std::size_t end) const noexcept
    {
        std::uint64_t sum = 0;
        for (std::size_t index = begin; index != end; ++index)
            if (buckets_[index] != nullptr)
                sum += checksum_of(buckets_[index], index);
        return sum;
    }

    template <class Visit>
    void for_each_word(Visit&& visit) const
    {
        for (const Word* bucket : buckets_)
            for (const Word* entry = bucket; entry != nullptr; entry = entry->next)
                visit(*entry);
    }

    template <class Visit>
    void for_each_position(Visit&& visit) const
    {
        for_each_word([&visit](const Word& entry) {
            for (const position* place = entry.newest; place != nullptr; place = place->older)
                visit(*place);
        });
    }

private:
    /// Returns: a power of two, large enough for short chains in most texts, in which most words are repeated.
    static std::size_t bucket_count(std::string_view text) noexcept
    {
        constexpr std::size_t bytes_per_bucket = 128;
        std::size_t count = 16;
        while (count < text.size() / bytes_per_bucket)
            count *= 2;
        return count;
    }

    static std::uint64_t checksum_of(const Word* first, std::uint64_t index) noexcept
    {
        std::uint64_t sum = index;
        for (const Word* entry = first; entry != nullptr; entry = entry->next) {
            sum = mixed(sum, entry->hash);
            for (const position* place = entry->newest; place != nullptr; place = place->older)
                sum = mixed(sum, place->offset);
        }
        return sum;
    }

    std::string_view text_;
    std::vector<Word*> buckets_;
};
} // namespace tour
