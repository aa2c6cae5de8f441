// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The arenas of one resource for one thread. shared_arenas.hpp has the same interface for several threads.
///
///     current:  | header | block | block | gap | block |        free        |      allocating moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all blocks are freed
///     free:     | header |                     free                         |      used next
///
/// A scope frees the blocks allocated since it began. The arena that was current when the scope began has blocks before
/// and after its mark. These two groups are counted separately, so that blocks before the mark can be freed during the
/// scope, too:
///
///     | header | block | gap | block | block | gap | block |        free        |
///                                    ^ mark              ^ cursor of the arena
///
///     before the mark: cursor and floor of the mark, during the scope; after the mark: cursor and floor of the arena
///
/// During the scope, the `owner` of this arena is nullptr, so frees take the slow path, which distinguishes the two
/// parts. Arenas that a scope takes are in the list `taken_`, the innermost scope's arenas first. Arenas that become
/// empty stay in this list and are also in the list `idle_`, linked by `owner`. The scope uses idle arenas next.
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

/// The state when a scope began.
struct arena_mark
{
    local_arenas* arenas = nullptr; ///< nullptr once the scope has ended.
    arena_mark* outer = nullptr;    ///< The mark of the enclosing scope.
    arena* at = nullptr;            ///< The arena that was current, if any; nullptr once it is cleared.
    std::byte* begin = nullptr;     ///< The cursor of this arena at that time.
    std::byte* cursor = nullptr;    ///< The cursor for blocks before the mark.
    std::byte* floor = nullptr;     ///< The floor for blocks before the mark.
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

    /// Effects: ends scopes that would outlive the arenas.
    ~local_arenas()
    {
        for (; innermost_ != nullptr; innermost_ = innermost_->outer)
            innermost_->arenas = nullptr;
    }

    /// Effects: allocates a block of `extent` bytes from the current arena.
    /// Returns: the block; nullptr if there is no current arena, or not enough room in it.
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

    /// Effects: makes an empty arena current, and allocates a block from it.
    /// Preconditions: the block fits into an arena.
    /// Throws: as arena_store::take.
    std::byte* bump_in_next(std::size_t extent, std::size_t alignment)
    {
        const deferred_callbacks deferred;
        make_current(take());
        return bump(extent, alignment);
    }

    /// Effects: frees a block.
    /// Returns: false, without effects, if the arena has fewer than `extent` bytes in use.
    /// Preconditions: the block is in `home`.
    MEMORY_POOL_ALWAYS_INLINE bool take_back(arena& home, std::byte* block, std::size_t extent) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(!count_free(home, block, extent)))
            return false;
        if (home.floor == home.cursor)
            became_empty(home);
        return true;
    }

    /// Returns: whether a scope began while the arena was current. Any arena is allowed.
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

    /// Effects: begins a scope inside the innermost one.
    void begin_scope(arena_mark& mark) noexcept
    {
        if (depth_ == std::numeric_limits<decltype(depth_)>::max())
            return; // The enclosing scope frees the blocks.
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

    /// Effects: frees the blocks allocated since the scope began, and ends the scope. Also ends scopes inside it;
    ///   checked arenas report this as misuse.
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
    /// Returns: false, without effects, if `block` is not a large block.
    bool deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        return large_.deallocate(block, bytes, alignment);
    }

    void reserve(std::size_t count)
    {
        const deferred_callbacks deferred;
        store_.reserve(count);
    }

    /// Effects: returns chunks whose arenas are all free to upstream.
    std::size_t trim() noexcept
    {
        if (has_empty_current()) {
            put(*current_);
            leave_current();
        }
        forget_idle();
        return store_.trim();
    }

    /// Effects: frees all blocks. Returns all memory to upstream, unless `keeps_arenas`.
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

    /// Returns: the result of `look(const store_type&)`.
    template <class Look>
    auto with_store(Look&& look) const
    {
        return look(store_);
    }

    /// Returns: whether `address` lies in an arena or a large block.
    bool contains(const void* address) const noexcept { return store_.contains(address) || large_.contains(address); }

    /// Returns: the result of `look(const arena_checks<arena>&)`.
    template <class Look>
    auto with_checks(Look&& look) const
    {
        return look(arena_checks<arena>(store_, large_));
    }

    /// Returns: the store, for its constant members.
    const store_type& store() const noexcept { return store_; }

    std::size_t bytes_in_use() const noexcept
    {
        std::size_t sum = large_.bytes_in_use();
        store_.for_each_arena([&sum](const arena& each) { sum += each.bytes_in_use(); });
        for_each_marked([&sum](const arena&, std::size_t before) { sum += before; });
        return sum;
    }

    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved() + large_.bytes_reserved(); }

    /// Returns: the number of arenas without bytes in use.
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

    /// Returns: bytes in arenas that are neither in use nor available to the next allocations.
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
    /// Calls `visit(arena&, bytes in use before the innermost mark)` for each arena with marks. Marks of one arena are
    /// adjacent because an arena does not become current again in a scope that began in another arena.
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

    /// False if the current arena has a mark.
    bool has_empty_current() const noexcept { return current_->owner == this && current_->bytes_in_use() == 0; }

    /// Counts a block of an arena, or of the part before a mark, as free.
    /// Returns: false, without effects, if that part has fewer bytes in use.
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

    MEMORY_POOL_ALWAYS_INLINE void became_empty(arena& empty) noexcept
    {
        if (MEMORY_POOL_LIKELY(&empty == current_))
            empty.reset(store_.start_of(empty));
        else
            put(empty);
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

    /// Returns an empty arena, and assigns it to the innermost scope, if any.
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

    /// Removes the first arena from `taken_`, and from its scope.
    arena& pop_taken() noexcept
    {
        arena& popped = *std::exchange(taken_, taken_->next_free);
        popped.scope = 0;
        popped.owner = this;
        return popped;
    }

    /// Moves idle arenas to the list of free arenas.
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

    /// Returns the innermost mark in the arena, or nullptr.
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

    /// Frees the arenas taken by the innermost scope.
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
        leave_current(); // The scope took the current arena, too.
    }

    void leave_current() noexcept
    {
        current_ = &no_arena;
        end_of_current_ = nullptr;
    }

    arena* current_ = &no_arena; ///< The arena from which blocks are allocated.
    std::byte* end_of_current_ = nullptr;
    arena_mark* innermost_ = nullptr;
    arena* taken_ = nullptr;
    arena* idle_ = &no_arena; ///< The list ends with no_arena, so that no idle arena has a null owner.
    std::uint16_t depth_ = 0; ///< The number of scopes.
    store_type store_;
    oversized_blocks large_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
