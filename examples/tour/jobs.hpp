// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The single-threaded jobs of the tour; shared_index.hpp has the multi-threaded job. Each job is a class template over
/// a side (see sides.hpp) with these functions, in the order of the calls:
///
///     build()      builds the structure from the text, a node at a time
///     read()       visits every node, and returns a checksum of the nodes and the links between them
///     tally()      returns the number and the memory of the nodes
///     tear_down()  destroys the structure, a node at a time
#pragma once

#include "lexer.hpp"
#include "word_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tour {
/// The number and the memory of the nodes of a job.
struct node_tally
{
    std::uint64_t created = 0;
    std::uint64_t destroyed = 0;
    std::uint64_t bytes_asked = 0;                ///< The sizes of the existing nodes.
    std::optional<std::uint64_t> bytes_held = 0U; ///< The memory that the side holds for these nodes, if known.
};

/// Returns: the sums of `a` and `b`.
inline node_tally operator+(const node_tally& a, const node_tally& b) noexcept
{
    node_tally sum{a.created + b.created, a.destroyed + b.destroyed, a.bytes_asked + b.bytes_asked, std::nullopt};
    if (a.bytes_held && b.bytes_held)
        sum.bytes_held = *a.bytes_held + *b.bytes_held;
    return sum;
}

/// Creates the nodes of one type in a job. Forwards to a side, and counts.
template <class T, template <class> class Nodes>
class node_maker
{
public:
    template <class... Arguments>
    T* create(Arguments&&... arguments)
    {
        ++created_;
        return nodes_.create(std::forward<Arguments>(arguments)...);
    }

    void destroy(T* node) noexcept
    {
        ++destroyed_;
        nodes_.destroy(node);
    }

    /// `for_each(visit)` calls visit(T&) for every node.
    template <class ForEach>
    node_tally tally(ForEach&& for_each) const
    {
        return {created_, destroyed_, (created_ - destroyed_) * sizeof(T), nodes_.bytes_held(for_each)};
    }

private:
    Nodes<T> nodes_;
    std::uint64_t created_ = 0;
    std::uint64_t destroyed_ = 0;
};

/// A hash table of words. Each word has a chain of its positions in the text.
template <template <class> class Nodes>
class word_index
{
public:
    explicit word_index(std::string_view text) : text_(text), table_(text) {}

    void build()
    {
        lexer tokens(text_);
        for (token found = tokens.next_word(); found.kind == token_kind::word; found = tokens.next_word())
            add(found);
    }

    std::uint64_t read() const { return table_.checksum(0, table_.size()); }

    node_tally tally() const
    {
        return words_.tally([this](auto&& visit) { table_.for_each_word(visit); }) +
               positions_.tally([this](auto&& visit) { table_.for_each_position(visit); });
    }

    void tear_down()
    {
        for (std::size_t index = 0; index != table_.size(); ++index) {
            word*& bucket = table_.bucket(index);
            while (bucket != nullptr) {
                word* const doomed = bucket;
                bucket = doomed->next;
                tear_down_positions(*doomed);
                words_.destroy(doomed);
            }
        }
    }

private:
    struct word
    {
        word* next;
        position* newest;
        std::uint64_t hash;
        text_offset offset;
        text_offset length;
    };

    void add(const token& found)
    {
        word& entry = table_.entry_of(found, [&](word* next, std::uint64_t hash) {
            return words_.create(next, nullptr, hash, found.offset, found.length);
        });
        entry.newest = positions_.create(entry.newest, found.offset);
    }

    void tear_down_positions(word& entry)
    {
        while (entry.newest != nullptr)
            positions_.destroy(std::exchange(entry.newest, entry.newest->older));
    }

    std::string_view text_;
    word_table<word> table_;
    node_maker<word, Nodes> words_;
    node_maker<position, Nodes> positions_;
};

/// A tree with a node for each token. The nodes of tokens in brackets are below the opening bracket. A closing bracket
/// has no node, unless it matches no open bracket.
template <template <class> class Nodes>
class parse_tree
{
public:
    explicit parse_tree(std::string_view text) : text_(text) {}

    void build()
    {
        open(token{token_kind::opening, 0, static_cast<text_offset>(text_.size())});
        lexer tokens(text_);
        for (token found = tokens.next(); found.kind != token_kind::space; found = tokens.next()) {
            if (found.kind == token_kind::opening)
                open_bracket(found);
            else if (found.kind == token_kind::closing && is_open(found))
                close_bracket(found);
            else
                (void)append(found);
        }
    }

    std::uint64_t read() const
    {
        std::uint64_t sum = 0;
        for_each_node([&sum](const node& visited) {
            sum = mixed(sum, (std::uint64_t{visited.offset} << 32) + visited.length);
            if (visited.parent != nullptr)
                sum = mixed(sum, visited.parent->offset);
        });
        return sum;
    }

    node_tally tally() const
    {
        return nodes_.tally([this](auto&& visit) { this->for_each_node(visit); });
    }

    void tear_down()
    {
        // Children first. Not by recursion, because a text may be nested as deep as it is long.
        node* doomed = first_leaf(std::exchange(root_, nullptr));
        while (doomed != nullptr) {
            node* const next = doomed->next != nullptr ? first_leaf(doomed->next) : doomed->parent;
            nodes_.destroy(doomed);
            doomed = next;
        }
    }

private:
    struct node
    {
        node* parent;
        node* first_child;
        node* next;
        text_offset offset;
        text_offset length;
    };

    /// Appends a node to the innermost open bracket.
    node* append(const token& found)
    {
        node* const added = nodes_.create(open_, nullptr, nullptr, found.offset, found.length);
        if (last_ != nullptr)
            last_->next = added;
        else if (open_ != nullptr)
            open_->first_child = added;
        last_ = added;
        return added;
    }

    void open(const token& found)
    {
        open_ = append(found);
        last_ = nullptr;
        if (root_ == nullptr)
            root_ = open_;
    }

    void close()
    {
        last_ = open_;
        open_ = open_->parent;
    }

    void open_bracket(const token& found)
    {
        ++open_count(found.offset);
        open(found);
    }

    bool is_open(const token& closing) { return open_count(closing.offset) != 0; }

    /// Also closes unclosed brackets inside. The root stays open, even if a faulty side has corrupted the kinds of
    /// brackets.
    void close_bracket(const token& closing)
    {
        std::size_t& wanted = open_count(closing.offset);
        const std::size_t before = wanted;
        while (wanted == before && open_ != root_) {
            --open_count(open_->offset);
            open_->length = closing.offset + closing.length - open_->offset;
            close();
        }
    }

    /// Returns: the number of open brackets of the same kind as the bracket at `offset`.
    std::size_t& open_count(text_offset offset)
    {
        const char bracket = text_[offset];
        if (bracket == '(' || bracket == ')')
            return open_counts_[0];
        return open_counts_[bracket == '[' || bracket == ']' ? 1 : 2];
    }

    static node* first_leaf(node* start) noexcept
    {
        while (start != nullptr && start->first_child != nullptr)
            start = start->first_child;
        return start;
    }

    static const node* next_in_text(const node* current) noexcept
    {
        if (current->first_child != nullptr)
            return current->first_child;
        while (current != nullptr && current->next == nullptr)
            current = current->parent;
        return current != nullptr ? current->next : nullptr;
    }

    template <class Visit>
    void for_each_node(Visit&& visit) const
    {
        for (const node* current = root_; current != nullptr; current = next_in_text(current))
            visit(*current);
    }

    std::string_view text_;
    node* root_ = nullptr; ///< Represents the whole text.
    node* open_ = nullptr; ///< The innermost open bracket.
    node* last_ = nullptr; ///< The last child of `open_`, if any.
    std::array<std::size_t, 3> open_counts_{};
    node_maker<node, Nodes> nodes_;
};

/// A table of slots. Each word of the text selects a slot by its hash, and creates a record there or destroys the
/// existing one. Thus, the order of creation and destruction is irregular.
template <template <class> class Nodes>
class replay
{
public:
    explicit replay(std::string_view text) : text_(text), slots_(slot_count) {}

    void build()
    {
        lexer tokens(text_);
        for (token found = tokens.next_word(); found.kind == token_kind::word; found = tokens.next_word())
            create_or_destroy(found);
    }

    std::uint64_t read()
    {
        for_each_record([this](const record& visited) { take_into_account(visited); });
        return sum_;
    }

    node_tally tally() const
    {
        return records_.tally([this](auto&& visit) { this->for_each_record(visit); });
    }

    void tear_down()
    {
        for (record*& slot : slots_)
            if (slot != nullptr)
                records_.destroy(std::exchange(slot, nullptr));
    }

private:
    static constexpr std::size_t slot_count = std::size_t{1} << 17;

    struct record
    {
        std::uint64_t hash;
        text_offset offset;
        text_offset length;
        std::array<char, 32> beginning;
    };

    void create_or_destroy(const token& found)
    {
        const std::string_view letters = text_.substr(found.offset, found.length);
        const std::uint64_t hash = hash_of(letters);
        record*& slot = slots_[hash % slot_count];
        if (slot == nullptr) {
            slot = records_.create(hash, found.offset, found.length, beginning_of(letters));
        } else {
            take_into_account(*slot);
            records_.destroy(std::exchange(slot, nullptr));
        }
    }

    static std::array<char, 32> beginning_of(std::string_view letters) noexcept
    {
        std::array<char, 32> beginning{};
        letters.copy(beginning.data(), beginning.size());
        return beginning;
    }

    void take_into_account(const record& visited) noexcept
    {
        sum_ = mixed(sum_, visited.hash + visited.offset);
        sum_ = mixed(sum_, visited.length + static_cast<std::uint64_t>(visited.beginning.front()));
    }

    template <class Visit>
    void for_each_record(Visit&& visit) const
    {
        for (const record* slot : slots_)
            if (slot != nullptr)
                visit(*slot);
    }

    std::string_view text_;
    std::vector<record*> slots_;
    std::uint64_t sum_ = 0;
    node_maker<record, Nodes> records_;
};
} // namespace tour
