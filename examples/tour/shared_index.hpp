// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The multi-threaded job of the tour: the word index. It has the functions listed in jobs.hpp, and the same result as
/// word_index, node by node, for any number of threads.
///
///     text     |  part 0  |  part 1  | ...      build: each thread builds the table of its part ...
///                  |           |
///     tables   [a b c d]   [a b c d]            ... then each thread merges its share of the buckets, and destroys a
///               \_/ \_/     \_/ \_/                 word that an earlier part also has: often another thread's word
///                |   |
///     threads    0   1                          read, tear_down: each thread does its share of the buckets
#pragma once

#include "jobs.hpp"
#include "threads.hpp"
#include "word_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace tour {
/// Creates the nodes of one type in a job shared by threads. Forwards to one side, and counts per thread, without
/// synchronization.
template <class T, template <class> class Nodes>
class shared_node_maker
{
public:
    explicit shared_node_maker(std::size_t threads) : counts_(threads) {}

    /// `thread` is the number of the calling thread.
    template <class... Arguments>
    T* create(std::size_t thread, Arguments&&... arguments)
    {
        ++counts_[thread].created;
        return nodes_.create(std::forward<Arguments>(arguments)...);
    }

    void destroy(std::size_t thread, T* node) noexcept
    {
        ++counts_[thread].destroyed;
        nodes_.destroy(node);
    }

    /// As node_maker::tally. No other thread may use the nodes.
    template <class ForEach>
    node_tally tally(ForEach&& for_each) const
    {
        node_tally sum;
        for (const count& of_thread : counts_) {
            sum.created += of_thread.created;
            sum.destroyed += of_thread.destroyed;
        }
        sum.bytes_asked = (sum.created - sum.destroyed) * sizeof(T);
        sum.bytes_held = nodes_.bytes_held(for_each);
        return sum;
    }

private:
    /// In a separate cache line, so that threads do not slow each other down by counting.
    struct alignas(64) count
    {
        std::uint64_t created = 0;
        std::uint64_t destroyed = 0;
    };

    Nodes<T> nodes_;
    std::vector<count> counts_;
};

/// A word index that several threads build, read and tear down. `Nodes` is a side that threads may share.
template <template <class> class Nodes>
class shared_index
{
public:
    explicit shared_index(std::string_view text)
        : text_(text), threads_(thread_count()), parts_(threads_, word_table<word>(text)), sums_(threads_),
          words_(threads_), positions_(threads_)
    {
    }

    void build()
    {
        in_threads(threads_, [this](std::size_t thread) { this->build_part(thread); });
        in_threads(threads_, [this](std::size_t thread) {
            for (std::size_t index = this->first_bucket(thread); index != this->first_bucket(thread + 1); ++index)
                this->merge_bucket(index, thread);
        });
    }

    std::uint64_t read()
    {
        in_threads(threads_, [this](std::size_t thread) {
            sums_[thread] = whole().checksum(this->first_bucket(thread), this->first_bucket(thread + 1));
        });
        std::uint64_t sum = 0;
        for (const std::uint64_t of_thread : sums_)
            sum += of_thread;
        return sum;
    }

    node_tally tally() const
    {
        return words_.tally([this](auto&& visit) { this->whole().for_each_word(visit); }) +
               positions_.tally([this](auto&& visit) { this->whole().for_each_position(visit); });
    }

    void tear_down()
    {
        in_threads(threads_, [this](std::size_t thread) {
            for (std::size_t index = this->first_bucket(thread); index != this->first_bucket(thread + 1); ++index)
                this->tear_down_bucket(index, thread);
        });
    }

private:
    struct word
    {
        word* next;
        position* newest;
        position* oldest; ///< Positions from earlier parts of the text are linked after it.
        std::uint64_t hash;
        text_offset offset;
        text_offset length;
    };

    /// The table into which the other tables are merged.
    word_table<word>& whole() noexcept { return parts_.front(); }
    const word_table<word>& whole() const noexcept { return parts_.front(); }

    std::size_t first_bucket(std::size_t thread) const noexcept
    {
        return share_begin(whole().size(), thread, threads_);
    }

    /// Returns: the beginning of a thread's part, which is the beginning of its share, or the end of a word there.
    std::size_t part_begin(std::size_t thread) const noexcept
    {
        const std::size_t begin = share_begin(text_.size(), thread, threads_);
        const token first = lexer(text_.substr(begin)).next();
        const bool is_in_word = thread != 0 && first.kind == token_kind::word && first.offset == 0;
        return is_in_word ? begin + first.length : begin;
    }

    void build_part(std::size_t thread)
    {
        const std::size_t begin = part_begin(thread);
        const std::size_t end = thread + 1 != threads_ ? part_begin(thread + 1) : text_.size();
        if (begin >= end)
            return; // A word extends to the end of this share, or beyond.
        lexer tokens(text_.substr(begin, end - begin));
        for (token found = tokens.next_word(); found.kind == token_kind::word; found = tokens.next_word()) {
            found.offset += static_cast<text_offset>(begin);
            add(found, thread);
        }
    }

    void add(const token& found, std::size_t thread)
    {
        word& entry = parts_[thread].entry_of(found, [&](word* next, std::uint64_t hash) {
            return words_.create(thread, next, nullptr, nullptr, hash, found.offset, found.length);
        });
        entry.newest = positions_.create(thread, entry.newest, found.offset);
        if (entry.oldest == nullptr)
            entry.oldest = entry.newest;
    }

    void merge_bucket(std::size_t index, std::size_t thread)
    {
        for (std::size_t part = 1; part != threads_; ++part) {
            word* entry = reversed(std::exchange(parts_[part].bucket(index), nullptr));
            while (entry != nullptr)
                merge_word(*std::exchange(entry, entry->next), index, thread);
        }
    }

    /// Reverses a list of words, so that the oldest is first, as when a single thread adds them.
    /// Returns: the first word.
    static word* reversed(word* first) noexcept
    {
        word* last = nullptr;
        while (first != nullptr) {
            word* const moved = std::exchange(first, first->next);
            moved->next = std::exchange(last, moved);
        }
        return last;
    }

    void merge_word(word& later, std::size_t index, std::size_t thread)
    {
        word*& bucket = whole().bucket(index);
        word* const earlier = whole().find(bucket, later.hash, whole().letters_of(later));
        if (earlier == nullptr) {
            later.next = bucket;
            bucket = &later;
            return;
        }
        later.oldest->older = earlier->newest;
        earlier->newest = later.newest;
        words_.destroy(thread, &later);
    }

    void tear_down_bucket(std::size_t index, std::size_t thread)
    {
        word*& bucket = whole().bucket(index);
        while (bucket != nullptr) {
            word* const doomed = bucket;
            bucket = doomed->next;
            while (doomed->newest != nullptr)
                positions_.destroy(thread, std::exchange(doomed->newest, doomed->newest->older));
            words_.destroy(thread, doomed);
        }
    }

    std::string_view text_;
    std::size_t threads_;
    std::vector<word_table<word>> parts_; ///< By thread.
    std::vector<std::uint64_t> sums_;     ///< By thread.
    shared_node_maker<word, Nodes> words_;
    shared_node_maker<position, Nodes> positions_;
};
} // namespace tour
