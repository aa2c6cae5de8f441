// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The algorithm of ArenaMR, reimplemented as the baseline of its drop-in: a list of free arenas, an active arena, and
/// a map that finds the arena of a block by address.
///
///     active  [ block | block |   room   ]     allocating a block moves the cursor; the arena counts its blocks
///     free    [ arena ] -> [ arena ] -> ...    arenas whose count is 0 again
///     map     begin -> arena                   all arenas; O(log n)
///
/// A block larger than an arena gets a dedicated arena, which becomes a free arena like any other. No misuse is
/// detected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <forward_list>
#include <iterator>
#include <map>
#include <memory>
#include <memory_resource>

namespace stand_ins {
class list_of_arenas final : public std::pmr::memory_resource
{
public:
    list_of_arenas(std::size_t number_of_arenas, std::size_t bytes_per_arena, std::pmr::memory_resource* upstream)
        : bytes_per_arena_(bytes_per_arena), upstream_(upstream)
    {
        for (std::size_t i = 0; i != number_of_arenas; ++i)
            free_.push_front(&add_arena(bytes_per_arena));
        active_ = &take_free();
    }

    list_of_arenas(const list_of_arenas&) = delete;
    list_of_arenas& operator=(const list_of_arenas&) = delete;

    ~list_of_arenas() override
    {
        for (const auto& [begin, each] : arenas_)
            upstream_->deallocate(begin, each.size);
    }

private:
    struct arena
    {
        std::byte* begin;
        std::size_t size;
        void* cursor;
        std::size_t room;
        std::size_t blocks; ///< In use.

        void* cut(std::size_t bytes, std::size_t alignment)
        {
            if (std::align(alignment, bytes, cursor, room) == nullptr)
                return nullptr;
            void* const block = cursor;
            cursor = static_cast<std::byte*>(block) + bytes;
            room -= bytes;
            ++blocks;
            return block;
        }
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        if (void* const block = active_->cut(bytes, alignment))
            return block;
        active_ = bytes <= bytes_per_arena_ ? &take_free() : &add_arena(bytes);
        return active_->cut(bytes, alignment);
    }

    void do_deallocate(void* block, std::size_t, std::size_t) override
    {
        arena& owner = std::prev(arenas_.upper_bound(static_cast<std::byte*>(block)))->second;
        if (--owner.blocks != 0)
            return;
        owner.cursor = owner.begin;
        owner.room = owner.size;
        if (&owner != active_)
            free_.push_front(&owner);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    arena& take_free()
    {
        if (free_.empty())
            return add_arena(bytes_per_arena_);
        arena& first = *free_.front();
        free_.pop_front();
        return first;
    }

    arena& add_arena(std::size_t size)
    {
        auto* const begin = static_cast<std::byte*>(upstream_->allocate(size));
        return arenas_.emplace(begin, arena{begin, size, begin, size, 0}).first->second;
    }

    std::size_t bytes_per_arena_;
    std::pmr::memory_resource* upstream_;
    std::map<std::byte*, arena> arenas_;
    std::forward_list<arena*> free_;
    arena* active_ = nullptr;
};
} // namespace stand_ins
