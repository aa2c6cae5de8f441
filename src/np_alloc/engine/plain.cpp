// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The functions of the plain build, whose counterparts are in checked.cpp.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "reallocate.hpp"

#include <memory_pool/base/arithmetic.hpp>

#include "../heaps/shared_heap.hpp"
#include "../slices/size_classes.hpp"
#include "block_lookup.hpp"
#include "defrag.hpp"
#include "engine.hpp"
#include "large_alloc.hpp"
#include "memory_limits.hpp"
#include "profiling.hpp"

#include <cstddef>
#include <cstring>
#include <optional>

namespace memory_pool::np {
namespace {
/// Blocks without checks, for reallocate.hpp.
struct plain_blocks
{
    struct block
    {
        void* begin;
        slice_tag tag;
        std::size_t held;
    };

    static std::optional<block> locate(void* pointer) noexcept
    {
        const slice_tag tag = tag_of(pointer);
        if (report_if_wrong(tag, pointer))
            return std::nullopt;
        return block{pointer, tag, usable_size(pointer, tag)};
    }
    static std::optional<block> find(void* pointer) noexcept { return locate(pointer); }

    static shared_heap* home_of(const block& where) noexcept { return shared_heap_of(where.begin, where.tag); }
    static std::size_t last_bytes(const block& where) noexcept { return where.held; }
    static bool is_large(const block& where) noexcept { return where.tag == large_block; }

    /// Returns: whether the block now has room for `bytes`, but not too much.
    static bool resize_in_place(const block& where, std::size_t bytes) noexcept
    {
        if (is_large(where) && bytes > largest_in_slab)
            return take_within_limits([&] { return pages().large().resize_large(slice_of(where.begin), bytes); });
        return bytes <= where.held && bytes >= where.held / 2;
    }

    /// Returns: a larger block with the content of this block, moved by remapping its memory if possible; nullptr if a
    ///   move does not pay, or if there is no memory.
    static void* move_memory(const block& where, std::size_t bytes) noexcept
    {
        constexpr std::size_t min_bytes = std::size_t{1} << 20;
        if (!is_large(where) || where.held < min_bytes || bytes < where.held || home_of(where) != nullptr)
            return nullptr;
        const run moved = pages().large().move_large(slice_of(where.begin), base::saturating_add(bytes, bytes / 8),
                                                     [&where] { (void)the_profile.forget(where.begin); });
        if (moved.first == no_slice)
            return nullptr;
        pages().large().note_asked(moved.first, bytes);
        answer_if_crossed();
        return pages().large().begin_of_large(moved.first);
    }

    static void take_over(const block& from, void* to) noexcept { std::memcpy(to, from.begin, from.held); }

    static void leave_room(void* roomy, std::size_t bytes) noexcept
    {
        if (tag_of(roomy) == large_block)
            pages().large().note_asked(slice_of(roomy), bytes);
    }
    static void shrink_in_place(const block& where, std::size_t bytes) noexcept
    {
        if (is_large(where))
            pages().large().note_asked(slice_of(where.begin), bytes);
    }
};
} // namespace

void* reallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept
{
    return reallocate_block<plain_blocks>(block, bytes, alignment);
}

void* move_to_denser_slab(void* block) noexcept
{
    return move_to_denser_slab_of<plain_blocks>(block);
}

bool expand(void* block, std::size_t bytes) noexcept
{
    return expand_block<plain_blocks>(block, bytes);
}

bool is_block_of(const shared_heap& home, const void* block) noexcept
{
    return belongs_to<plain_blocks>(home, block);
}

shared_heap* home_of(void* block) noexcept
{
    return home_of_block<plain_blocks>(block);
}

void* allocate_in(shared_heap& home, std::size_t bytes, std::size_t alignment) noexcept
{
    const std::size_t size_class = class_for(bytes, alignment);
    if (size_class == class_count)
        return allocate_large(bytes, alignment, &home).block;
    void* const block = take_within_limits([&] { return home.allocate(size_class, bytes); });
    count_allocation(block, bytes, &home);
    return block != nullptr ? block : out_of_memory();
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept
{
    if (alignment <= alignment_of_all)
        return plain_paths::allocate(bytes);
    const std::size_t size_class = class_for(bytes, alignment);
    return size_class != class_count ? allocate_in_class(size_class, bytes) : allocate_large(bytes, alignment).block;
}

std::size_t usable_size(const void* block) noexcept
{
    if (block == nullptr)
        return 0;
    const slice_tag tag = tag_of(block);
    return report_if_wrong(tag, block) ? 0 : usable_size(block, tag);
}
} // namespace memory_pool::np
