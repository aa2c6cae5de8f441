// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The arenas of one resource for one thread. shared_arenas.hpp has those for many, with the same functions.
///
///     current:  | header | block | block | gap | block |        free        |      handing out moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all their blocks are back
///     free:     | header |                     free                         |      are used next
///
/// Thread safety: none; the owning resource synchronizes.
#pragma once

#include <memory_pool/arena_options.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/arenas/arena.hpp>
#include <memory_pool/core/arenas/arena_checks.hpp>
#include <memory_pool/core/arenas/arena_store.hpp>
#include <memory_pool/core/arenas/oversized_blocks.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Arenas for one thread.
class local_arenas
{
public:
    using arena_type = arena;
    using store_type = arena_store<arena>;

    static constexpr bool is_shared = false;

    local_arenas(const arena_options& options, bool checks, std::pmr::memory_resource* upstream)
        : store_(options, checks, upstream), large_(upstream)
    {
    }

    /// Effects: hands out a block of that extent from the current arena.
    /// Returns: it, or nullptr if there is none, or not enough room.
    MEMORY_POOL_ALWAYS_INLINE std::byte* bump(std::size_t extent, std::size_t alignment) noexcept
    {
        arena& from = *current_;
        std::byte* const cursor = from.cursor;
        // Cursors are multiples of the granule.
        const std::size_t skipped = alignment > arena_granule ? distance_to_multiple(cursor, alignment) : 0;
        if (MEMORY_POOL_UNLIKELY(skipped + extent > static_cast<std::size_t>(end_of_current_ - cursor)))
            return nullptr;
        if (alignment > arena_granule)
            from.floor += skipped;
        from.cursor = cursor + skipped + extent;
        return cursor + skipped;
    }

    /// Effects: makes an arena with room the current one, and allocates a block from it.
    /// Preconditions: it fits into an arena.
    /// Throws: as arena_store::take.
    std::byte* bump_in_next(std::size_t extent, std::size_t alignment)
    {
        const late_notes notes;
        arena& next = store_.take(this);
        current_ = &next;
        end_of_current_ = store_.end_of(next);
        return bump(extent, alignment);
    }

    /// Effects: frees a block.
    /// Returns: whether it did; false if more would be freed than was allocated there.
    /// Preconditions: it is in `its`.
    MEMORY_POOL_ALWAYS_INLINE bool take_back(arena& its, std::byte* block, std::size_t extent) noexcept
    {
        std::byte* cursor = its.cursor;
        std::byte* floor = its.floor;
        if (block + extent == cursor)
            cursor = block;
        else
            floor += extent;
        if (MEMORY_POOL_UNLIKELY(floor > cursor))
            return false;
        its.cursor = cursor;
        its.floor = floor;
        if (floor == cursor)
            became_empty(its);
        return true;
    }

    void* allocate_large(std::size_t bytes, std::size_t alignment) { return large_.allocate(bytes, alignment); }

    /// Effects: frees a large block.
    /// Returns: whether it was one.
    bool deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        return large_.deallocate(block, bytes, alignment);
    }

    void reserve(std::size_t count)
    {
        const late_notes notes;
        store_.reserve(count);
    }

    /// Effects: returns every chunk whose arenas are all free to upstream.
    std::size_t trim() noexcept
    {
        if (has_empty_current()) {
            store_.put(*current_);
            leave_current();
        }
        return store_.trim();
    }

    /// Effects: frees every block; and unless `keeps_arenas`, returns all memory to upstream.
    void forget_blocks(bool keeps_arenas) noexcept
    {
        leave_current();
        large_.release();
        if (keeps_arenas)
            store_.clear();
        else
            store_.release();
    }

    /// Effects: calls `look(const store_type&)`, and returns what it returns.
    template <class Look>
    auto with_store(Look&& look) const
    {
        return look(store_);
    }

    /// Returns: whether `address` lies in an arena or a large block.
    bool contains(const void* address) const noexcept { return store_.contains(address) || large_.contains(address); }

    /// Effects: calls `look(const arena_checks<arena>&)`, and returns what it returns.
    template <class Look>
    auto with_checks(Look&& look) const
    {
        return look(arena_checks<arena>(store_, large_));
    }

    /// The constant members of the store.
    const store_type& store() const noexcept { return store_; }

    std::size_t bytes_in_use() const noexcept
    {
        std::size_t sum = large_.bytes_in_use();
        store_.for_each_arena([&sum](const arena& each) { sum += each.bytes_in_use(); });
        return sum;
    }

    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved() + large_.bytes_reserved(); }

    /// Returns: arenas in which nothing is in use.
    std::size_t free_arenas() const noexcept { return store_.free_count() + std::size_t{has_empty_current()}; }

    /// Returns: bytes in arenas that are neither in use nor can be handed out next.
    std::size_t bytes_wasted() const noexcept
    {
        std::size_t sum = 0;
        store_.for_each_arena([&](arena& each) {
            if (each.bytes_in_use() == 0)
                return;
            const std::byte* const usable_end = &each == current_ ? each.cursor : store_.end_of(each);
            sum += static_cast<std::size_t>(usable_end - store_.start_of(each)) - each.bytes_in_use();
        });
        return sum;
    }

    /// Returns: whether the invariants above hold.
    bool verify() const noexcept
    {
        bool all_agree = store_.verify();
        store_.for_each_arena([&](arena& each) {
            all_agree = all_agree && store_.start_of(each) <= each.floor && each.floor <= each.cursor &&
                        each.cursor <= store_.end_of(each) && (!each.is_free || each.bytes_in_use() == 0);
        });
        return all_agree;
    }

private:
    bool has_empty_current() const noexcept { return current_ != &no_arena && current_->bytes_in_use() == 0; }

    MEMORY_POOL_ALWAYS_INLINE void became_empty(arena& its) noexcept
    {
        if (MEMORY_POOL_LIKELY(&its == current_))
            its.reset(store_.start_of(its));
        else
            put(its);
    }

    MEMORY_POOL_NOINLINE void put(arena& empty) noexcept { store_.put(empty); }

    void leave_current() noexcept
    {
        current_ = &no_arena;
        end_of_current_ = nullptr;
    }

    arena* current_ = &no_arena; ///< The one that blocks are handed out of.
    std::byte* end_of_current_ = nullptr;
    store_type store_;
    oversized_blocks large_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
