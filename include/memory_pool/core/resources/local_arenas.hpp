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
/// Scopes free the blocks allocated since they began. The arena that is current at that time has blocks before and
/// after its mark, which are counted apart, so that those before it can be freed during the scope, too:
///
///     | header | block | gap | block | block | gap | block |        free        |
///                                    ^ mark              ^ cursor of the arena
///
///     before the mark: cursor and floor in the mark, for the time of the scope; after it: those of the arena
///
/// Its `owner` is nullptr meanwhile, so frees take the slow path, which tells the two apart. Arenas that a scope takes
/// are in the list `taken_`, the innermost scope's first. If they become empty, they stay there, but are also in the
/// list `idle_`, linked by `owner`: the scope uses them next.
///
/// Thread safety: none; the owning resource synchronizes.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/resources/arena.hpp>
#include <memory_pool/core/resources/arena_checks.hpp>
#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/core/resources/arena_store.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
class local_arenas;

/// Where a scope began.
struct arena_mark
{
    local_arenas* arenas = nullptr; ///< nullptr once the scope has ended.
    arena_mark* outer = nullptr;    ///< The mark of the enclosing scope.
    arena* at = nullptr;            ///< The arena that was current; nullptr: none, or its blocks are gone.
    std::byte* begin = nullptr;     ///< Its cursor at that time.
    std::byte* cursor = nullptr;    ///< For the blocks before.
    std::byte* floor = nullptr;     ///< For the blocks before.
    std::uint64_t last_large = 0;   ///< The number of the newest large block at that time.

    std::size_t bytes_in_use() const noexcept { return at != nullptr ? static_cast<std::size_t>(cursor - floor) : 0; }
};

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

    /// Scopes that outlive the arenas have ended.
    ~local_arenas()
    {
        for (; innermost_ != nullptr; innermost_ = innermost_->outer)
            innermost_->arenas = nullptr;
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
        make_current(take());
        return bump(extent, alignment);
    }

    /// Effects: frees a block.
    /// Returns: whether it did; false if more would be freed than was allocated there.
    /// Preconditions: it is in `its`.
    MEMORY_POOL_ALWAYS_INLINE bool take_back(arena& its, std::byte* block, std::size_t extent) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!count_free(its, block, extent)))
            return false;
        if (its.floor == its.cursor)
            became_empty(its);
        return true;
    }

    /// Returns: whether a scope began while blocks were handed out of that arena. Any arena is allowed.
    bool has_mark(const arena& from) const noexcept { return mark_in(from) != nullptr; }

    /// Effects: frees a block of an arena with a mark.
    /// Returns: as take_back.
    MEMORY_POOL_NOINLINE bool take_back_at_mark(arena& from, std::byte* block, std::size_t extent) noexcept
    {
        arena_mark* const mark = mark_in(from);
        arena_mark* before = nullptr;
        for (arena_mark* each = mark; each != nullptr && each->at == &from && block < each->begin; each = each->outer)
            before = each;
        if (!(before != nullptr ? count_free(*before, block, extent) : count_free(from, block, extent)))
            return false;
        if (before == nullptr && from.bytes_in_use() == 0 && &from == current_)
            from.reset(mark->begin);
        return true;
    }

    /// Effects: begins a scope within the others.
    void begin_scope(arena_mark& mark) noexcept
    {
        if (depth_ == std::numeric_limits<decltype(depth_)>::max())
            return; // The blocks end with the enclosing scope.
        mark.arenas = this;
        mark.outer = std::exchange(innermost_, &mark);
        mark.last_large = large_.newest();
        ++depth_;
        if (current_ == &no_arena)
            return;
        mark.at = current_;
        mark.begin = mark.cursor = current_->cursor;
        mark.floor = std::exchange(current_->floor, current_->cursor);
        current_->owner = nullptr;
    }

    /// Effects: frees the blocks allocated since the scope began, and ends the scope. Scopes within it end, too, and
    ///   checked arenas report that.
    void end_scope(arena_mark& ended) noexcept
    {
        const bool is_misuse = innermost_ != &ended && store_.checks();
        while (ended.arenas != nullptr)
            end_innermost();
        if (is_misuse)
            base::report_scope_order(store_.name());
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
            put(*current_);
            leave_current();
        }
        forget_idle();
        return store_.trim();
    }

    /// Effects: frees every block; and unless `keeps_arenas`, returns all memory to upstream.
    void forget_blocks(bool keeps_arenas) noexcept
    {
        leave_current();
        for (arena_mark* each = innermost_; each != nullptr; each = each->outer)
            if (arena* const at = std::exchange(each->at, nullptr))
                at->owner = this;
        while (taken_ != nullptr)
            (void)pop_taken();
        idle_ = &no_arena;
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
        for_each_marked([&sum](const arena&, std::size_t before) { sum += before; });
        return sum;
    }

    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved() + large_.bytes_reserved(); }

    /// Returns: arenas in which nothing is in use.
    std::size_t free_arenas() const noexcept
    {
        std::size_t count = store_.free_count() + std::size_t{has_empty_current()};
        for (const arena* each = idle_; each != &no_arena; each = static_cast<const arena*>(each->owner))
            ++count;
        for_each_marked([&count](const arena& each, std::size_t before) {
            count += std::size_t{before + each.bytes_in_use() == 0};
        });
        return count;
    }

    /// Returns: bytes in arenas that are neither in use nor can be handed out next.
    std::size_t bytes_wasted() const noexcept
    {
        std::size_t sum = 0;
        const auto add = [&](arena& each, std::size_t in_use) {
            if (in_use == 0)
                return;
            const std::byte* const usable_end = &each == current_ ? each.cursor : store_.end_of(each);
            sum += static_cast<std::size_t>(usable_end - store_.start_of(each)) - in_use;
        };
        store_.for_each_arena([&](arena& each) { add(each, each.owner != nullptr ? each.bytes_in_use() : 0); });
        for_each_marked([&](arena& each, std::size_t before) { add(each, before + each.bytes_in_use()); });
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
    /// Calls `visit(arena&, bytes in use before the innermost mark)` for each arena with marks. The marks of an arena
    /// follow each other, as the arena does not become current again in a scope that began in another arena.
    template <class Visit>
    void for_each_marked(Visit&& visit) const
    {
        for (const arena_mark* mark = innermost_; mark != nullptr;) {
            arena* const at = mark->at;
            std::size_t before = 0;
            for (; mark != nullptr && mark->at == at; mark = mark->outer)
                before += mark->bytes_in_use();
            if (at != nullptr)
                visit(*at, before);
        }
    }

    /// An arena with a mark is in use.
    bool has_empty_current() const noexcept { return current_->owner == this && current_->bytes_in_use() == 0; }

    /// Counts a block of an arena, or one before a mark, as free.
    /// Returns: false if more would be freed than was allocated there.
    template <class Part>
    MEMORY_POOL_ALWAYS_INLINE static bool count_free(Part& from, std::byte* block, std::size_t extent) noexcept
    {
        std::byte* cursor = from.cursor;
        std::byte* floor = from.floor;
        if (block + extent == cursor)
            cursor = block;
        else
            floor += extent;
        if (MEMORY_POOL_UNLIKELY(floor > cursor))
            return false;
        from.cursor = cursor;
        from.floor = floor;
        return true;
    }

    MEMORY_POOL_ALWAYS_INLINE void became_empty(arena& its) noexcept
    {
        if (MEMORY_POOL_LIKELY(&its == current_))
            its.reset(store_.start_of(its));
        else
            put(its);
    }

    MEMORY_POOL_NOINLINE void put(arena& empty) noexcept
    {
        if (empty.scope == 0) {
            store_.put(empty);
            return;
        }
        empty.reset(store_.start_of(empty));
        empty.owner = std::exchange(idle_, &empty);
    }

    /// Returns: an arena with nothing in use, for the innermost scope if there is one.
    arena& take()
    {
        if (idle_ != &no_arena && idle_->scope == depth_) {
            arena& again = *idle_;
            idle_ = next_idle(again);
            again.owner = this;
            return again;
        }
        if (!store_.has_free())
            forget_idle();
        arena& next = store_.take(this);
        if (depth_ != 0) {
            next.scope = depth_;
            next.next_free = std::exchange(taken_, &next);
        }
        return next;
    }

    void make_current(arena& next) noexcept
    {
        current_ = &next;
        end_of_current_ = store_.end_of(next);
    }

    static arena* next_idle(const arena& of) noexcept
    {
        return static_cast<arena*>(const_cast<void*>(of.owner)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }

    bool is_idle(const arena& taken) const noexcept { return taken.owner != this && taken.owner != nullptr; }

    /// Makes an arena that a scope has taken one of no scope.
    arena& pop_taken() noexcept
    {
        arena& popped = *std::exchange(taken_, taken_->next_free);
        popped.scope = 0;
        popped.owner = this;
        return popped;
    }

    /// Moves idle arenas into the list of free ones.
    void forget_idle() noexcept
    {
        if (idle_ == &no_arena)
            return;
        arena* const all = std::exchange(taken_, nullptr);
        arena** last = &taken_;
        for (arena* each = all; each != nullptr;) {
            arena* const next = each->next_free;
            if (is_idle(*each)) {
                each->scope = 0;
                each->owner = this;
                store_.put(*each);
            } else {
                *last = each;
                last = &each->next_free;
            }
            each = next;
        }
        *last = nullptr;
        idle_ = &no_arena;
    }

    /// Returns: the innermost mark in that arena, or nullptr.
    arena_mark* mark_in(const arena& marked) const noexcept
    {
        arena_mark* mark = innermost_;
        while (mark != nullptr && mark->at != &marked)
            mark = mark->outer;
        return mark;
    }

    void end_innermost() noexcept
    {
        arena_mark& mark = *std::exchange(innermost_, innermost_->outer);
        mark.arenas = nullptr;
        large_.release_after(mark.last_large);
        if (taken_ != nullptr && taken_->scope == depth_)
            end_taken();
        --depth_;
        if (mark.at == nullptr)
            return;
        store_.discard_from(mark.begin, *mark.at);
        mark.at->cursor = mark.cursor;
        mark.at->floor = mark.floor;
        const arena_mark* const outer = mark_in(*mark.at);
        if (outer == nullptr)
            mark.at->owner = this;
        if (mark.cursor == mark.floor)
            mark.at->reset(outer != nullptr ? outer->begin : store_.start_of(*mark.at));
        make_current(*mark.at);
    }

    /// Makes the arenas that the innermost scope has taken free.
    void end_taken() noexcept
    {
        arena* idle = std::exchange(idle_, &no_arena);
        while (idle != &no_arena) { // Idle arenas of other scopes stay.
            arena& each = *std::exchange(idle, next_idle(*idle));
            if (each.scope != depth_)
                each.owner = std::exchange(idle_, &each);
        }
        while (taken_ != nullptr && taken_->scope == depth_)
            store_.discard(pop_taken());
        leave_current(); // It was among them.
    }

    void leave_current() noexcept
    {
        current_ = &no_arena;
        end_of_current_ = nullptr;
    }

    arena* current_ = &no_arena; ///< The one that blocks are handed out of.
    std::byte* end_of_current_ = nullptr;
    arena_mark* innermost_ = nullptr;
    arena* taken_ = nullptr;
    arena* idle_ = &no_arena; ///< The last in the list is no_arena, so that no idle arena has a null owner.
    std::uint16_t depth_ = 0; ///< How many scopes there are.
    store_type store_;
    oversized_blocks large_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
