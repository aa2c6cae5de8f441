// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The job of the tour with standard containers: a word index of each chapter of the text. Each index is destroyed
/// before the next one is built, like the data of a request in a server. The job has the functions listed in jobs.hpp.
/// Its nodes are the blocks that the containers allocate.
///
///     text     |  chapter  |  chapter  |  chapter  |
///                  |            |           |
///     index     built,       built,      built,
///               read, gone   read, gone  read ... gone in tear_down
#pragma once

#include "jobs.hpp"
#include "lexer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tour {
/// Forwards to another resource, and counts.
class counting_memory final : public std::pmr::memory_resource
{
public:
    explicit counting_memory(std::pmr::memory_resource* behind) noexcept : behind_(behind) {}

    node_tally tally(std::optional<std::size_t> bytes_held) const noexcept
    {
        return {created_, destroyed_, bytes_, bytes_held};
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        ++created_;
        bytes_ += bytes;
        return behind_->allocate(bytes, alignment);
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        ++destroyed_;
        bytes_ -= bytes;
        behind_->deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::memory_resource* behind_;
    std::uint64_t created_ = 0;
    std::uint64_t destroyed_ = 0;
    std::uint64_t bytes_ = 0;
};

/// `Memory` is a side from pmr_sides.hpp.
template <class Memory>
class chapters
{
public:
    explicit chapters(std::string_view text) : text_(text) {}

    void build()
    {
        for (std::size_t begin = 0; begin != text_.size();) {
            const std::size_t end = chapter_end(begin);
            word_map& index = index_.emplace(&counted_); // Destroys the previous index.
            add_words(index, begin, end);
            sum_ = mixed(sum_, checksum(index));
            begin = end;
        }
    }

    std::uint64_t read() const noexcept { return sum_; }
    node_tally tally() const noexcept { return counted_.tally(memory_.bytes_held()); }
    void tear_down() { index_.reset(); }

private:
    struct word_hash
    {
        std::size_t operator()(std::string_view word) const noexcept { return hash_of(word); }
    };

    /// The positions of each word. The vectors use the memory resource of the map.
    using word_map = std::pmr::unordered_map<std::string_view, std::pmr::vector<text_offset>, word_hash>;

    /// Returns: the end of the chapter that begins at `begin`: the end of a line.
    std::size_t chapter_end(std::size_t begin) const noexcept
    {
        constexpr std::size_t usual_length = std::size_t{16} * 1024;
        const std::size_t line_end = text_.find('\n', std::min(begin + usual_length, text_.size()));
        return line_end != std::string_view::npos ? line_end + 1 : text_.size();
    }

    void add_words(word_map& index, std::size_t begin, std::size_t end) const
    {
        lexer tokens(text_.substr(begin, end - begin));
        for (token found = tokens.next_word(); found.kind == token_kind::word; found = tokens.next_word()) {
            const std::size_t offset = begin + found.offset;
            index[text_.substr(offset, found.length)].push_back(static_cast<text_offset>(offset));
        }
    }

    /// Returns: a checksum that does not depend on the order of words in the map.
    static std::uint64_t checksum(const word_map& index)
    {
        std::uint64_t sum = 0;
        for (const auto& [word, places] : index) {
            std::uint64_t sum_of_word = hash_of(word);
            for (const text_offset place : places)
                sum_of_word = mixed(sum_of_word, place);
            sum += sum_of_word;
        }
        return sum;
    }

    std::string_view text_;
    Memory memory_;
    counting_memory counted_{memory_.resource()};
    std::optional<word_map> index_;
    std::uint64_t sum_ = 0;
};
} // namespace tour
