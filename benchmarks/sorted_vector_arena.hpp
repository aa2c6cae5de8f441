// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A small re-implementation of earlier reusable arenas, as a baseline. Deallocation searches all arenas for the arena
/// of the block.
///
///     arenas   [ a | b | c | ... ]   sorted by address: the arena of a block is found by binary search
///     free     [ b | ... ]           arenas without blocks in use
///     current  c                     the arena that blocks are allocated from
///
/// It is as fast as that design allows: the search is over contiguous addresses, and no misuse is detected. Allocating
/// a block larger than an arena throws bad_alloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <vector>

namespace competitors {
class sorted_vector_arena final : public std::pmr::memory_resource
{
public:
    /// Effects: allocates `arena_count` arenas of `arena_size` bytes from `upstream`. Later allocations add more.
    sorted_vector_arena(std::size_t arena_count, std::size_t arena_size, std::pmr::memory_resource* upstream)
        : arena_size_(arena_size), upstream_(upstream)
    {
        arenas_.reserve(arena_count);
        free_.reserve(arena_count);
        for (std::size_t i = 0; i != arena_count; ++i)
            free_.push_back(add_arena());
    }

    sorted_vector_arena(const sorted_vector_arena&) = delete;
    sorted_vector_arena& operator=(const sorted_vector_arena&) = delete;

    ~sorted_vector_arena() override
    {
        for (arena* const each : arenas_)
            upstream_->deallocate(each, arena_size_, arena_alignment);
    }

    std::size_t arena_count() const noexcept { return arenas_.size(); }

private:
    /// The header of an arena. The blocks follow it.
    struct alignas(std::max_align_t) arena
    {
        void* cursor;
        std::size_t room;
        std::size_t blocks; ///< In use.
    };

    static constexpr std::size_t arena_alignment = alignof(arena);

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        if (current_ == nullptr || std::align(alignment, bytes, current_->cursor, current_->room) == nullptr) {
            current_ = next_arena();
            if (std::align(alignment, bytes, current_->cursor, current_->room) == nullptr)
                throw std::bad_alloc();
        }
        void* const block = current_->cursor;
        current_->cursor = static_cast<std::byte*>(block) + bytes;
        current_->room -= bytes;
        ++current_->blocks;
        return block;
    }

    void do_deallocate(void* block, std::size_t, std::size_t) override
    {
        arena* const owner = *std::prev(position_behind(block));
        if (--owner->blocks != 0)
            return;
        reset(*owner);
        if (owner != current_)
            free_.push_back(owner);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    arena* next_arena()
    {
        if (free_.empty())
            return add_arena();
        arena* const next = free_.back();
        free_.pop_back();
        return next;
    }

    arena* add_arena()
    {
        auto* const added = ::new (upstream_->allocate(arena_size_, arena_alignment)) arena;
        reset(*added);
        arenas_.insert(position_behind(added), added);
        return added;
    }

    void reset(arena& empty) const noexcept
    {
        empty.cursor = &empty + 1;
        empty.room = arena_size_ - sizeof(arena);
        empty.blocks = 0;
    }

    /// Returns: the first arena that begins after `address`.
    std::vector<arena*>::iterator position_behind(void* address)
    {
        return std::upper_bound(arenas_.begin(), arenas_.end(), address, std::less<const void*>());
    }

    std::size_t arena_size_;
    std::pmr::memory_resource* upstream_;
    std::vector<arena*> arenas_;
    std::vector<arena*> free_;
    arena* current_ = nullptr;
};
} // namespace competitors
