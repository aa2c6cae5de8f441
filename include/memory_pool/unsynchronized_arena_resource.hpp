// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr, for one thread: a block is handed out by moving a cursor, and an arena whose last block comes
/// back is used again.
///
///     current:  | header | block | block | gap | block |        free        |      allocate moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      wait until all their blocks are back
///     free:     | header |                     free                         |      are used next
///
///     bytes_reserved = arena_count * arena_size + large blocks
///
/// For containers and their like that come and go as a whole, or nearly: parsing, a request, a frame. Where blocks of all ages
/// are mixed for long, one block can keep an arena from being used again (`bytes_wasted` tells), and a pool resource
/// is the better choice.
///
/// Thread safety: none. Use one from one thread at a time, or a synchronized_arena_resource.
#pragma once

#include <memory_pool/base/arena_options.hpp>
#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policies.hpp>
#include <memory_pool/core/arena.hpp>
#include <memory_pool/core/arena_checks.hpp>
#include <memory_pool/core/arena_store.hpp>
#include <memory_pool/core/large_blocks.hpp>

#include <cstddef>
#include <memory_resource>
#include <optional>

namespace memory_pool
{
/// Arenas for one thread. See `unsynchronized_arena_resource` for the plain one, and base/policies.hpp for `Policy`: one that
/// checks reports every misuse at once; to count, put a tracking_resource before or behind it.
template <class Policy = default_policy>
class basic_unsynchronized_arena_resource final : public std::pmr::memory_resource
{
    using variant = base::checked_policy<Policy>;
    using store_type = core::arena_store<core::arena>;

public:
    /// The variant that this resource is.
    using policy = Policy;

    /// Effects: makes a resource with 64 KiB arenas from the default resource.
    basic_unsynchronized_arena_resource() : basic_unsynchronized_arena_resource(arena_options{}) {}

    /// Effects: makes a resource with 64 KiB arenas from `upstream`.
    explicit basic_unsynchronized_arena_resource(std::pmr::memory_resource* upstream)
        : basic_unsynchronized_arena_resource(arena_options{}, upstream)
    {
    }

    /// Effects: makes a resource, and takes `options.arena_count` arenas from `upstream` at once.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if an option makes no sense or `upstream` is nullptr; size_overflow if the sizes do not fit;
    ///   what upstream throws.
    /// Complexity: linear in pieces of a MiB that are taken; in pages, with `options.prefault`.
    explicit basic_unsynchronized_arena_resource(const arena_options& options,
                                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : store_(options, variant::checks, upstream), large_(upstream), largest_block_(largest_block_in(store_))
    {
        store_.reserve(options.arena_count);
        base::pool_made(this);
    }

    basic_unsynchronized_arena_resource(const basic_unsynchronized_arena_resource&) = delete;
    basic_unsynchronized_arena_resource& operator=(const basic_unsynchronized_arena_resource&) = delete;

    /// Effects: gives everything back upstream. Blocks still in use are gone.
    ~basic_unsynchronized_arena_resource() override { base::pool_gone(this); }

    /// Effects: hands out a block. Through the concrete type this is no virtual call; see resource_allocator.
    /// Returns: it: `bytes` bytes, aligned to `alignment`. Also for 0 bytes it is not nullptr.
    /// Preconditions: `alignment` is a power of two.
    /// Throws: pool_exhausted if `max_arenas()` arenas are full; size_overflow if `bytes` is more than a program can address; what
    ///   upstream throws. Nothing has changed then.
    /// Complexity: O(1), and now and then a call upstream.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes,
                                                           std::size_t alignment = alignof(std::max_align_t))
    {
        if (MEMORY_POOL_UNLIKELY(bytes > largest_block_))
            return allocate_large(bytes, alignment);
        if (void* const block = bump(bytes, alignment))
            return block;
        return allocate_in_next(bytes, alignment);
    }

    /// Effects: takes a block back. If it was the last that was handed out of its arena, it is as if it had never been; if it was
    ///   the last in use there, the arena is used again. nullptr is ignored.
    /// Preconditions: `block` is from this resource and in use, and was asked for with these `bytes` and this `alignment`. A
    ///   policy that checks reports it if not, and ignores the call; any other one reports what it sees in the
    ///   header of the arena.
    /// Complexity: O(1), however many arenas there are. Allocates nothing.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block, std::size_t bytes,
                                              std::size_t alignment = alignof(std::max_align_t)) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return;
        if (MEMORY_POOL_UNLIKELY(bytes > largest_block_ || alignment > cache_line_size) && !fits(bytes, alignment)) {
            deallocate_large(block, bytes, alignment);
            return;
        }
        if constexpr (variant::checks)
            deallocate_checked(block, bytes);
        else
            deallocate_in_arena(block, bytes);
    }

    /// Effects: gives every piece of memory whose arenas are all free back upstream.
    /// Returns: how many bytes went back.
    /// Complexity: linear in arenas.
    std::size_t trim() noexcept
    {
        if (current_ != &core::no_arena && current_->bytes_in_use() == 0) {
            store_.put(*current_);
            leave_current();
        }
        return store_.trim();
    }

    /// Effects: takes every block back, and keeps the arenas for later. Large blocks go back upstream.
    /// Complexity: linear in arenas and large blocks.
    void clear() noexcept
    {
        leave_current();
        store_.clear();
        large_.release();
        base::pool_gone(this);
        base::pool_made(this);
    }

    /// Effects: takes every block back, and gives everything back upstream. The resource works on.
    /// Complexity: linear in pieces and large blocks.
    void release() noexcept
    {
        leave_current();
        store_.release();
        large_.release();
        base::pool_gone(this);
        base::pool_made(this);
    }

    /// Effects: takes arenas from upstream until `arena_count()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_arenas()`; size_overflow if so many arenas do not fit into memory; what
    ///   upstream throws, after which the arenas that were got are kept.
    void reserve(std::size_t count) { store_.reserve(count); }

    /// Returns: whether a block of this resource could begin at `address`: it lies in an arena. Any pointer may be asked after.
    ///   Not told of large blocks.
    /// Complexity: linear in pieces.
    bool owns(const void* address) const noexcept { return store_.contains(address); }

    /// Returns: arenas held, in use or not.
    std::size_t arena_count() const noexcept { return store_.arena_count(); }

    /// Returns: the most arenas there may be; arena_options::unbounded if there is no limit.
    std::size_t max_arenas() const noexcept { return store_.max_arenas(); }

    /// Returns: bytes of an arena, header included.
    std::size_t arena_size() const noexcept { return store_.arena_size(); }

    /// Returns: the largest block that comes from an arena, in bytes, if it is aligned to 64 bytes at most.
    std::size_t largest_block() const noexcept { return largest_block_; }

    /// Returns: arenas in which nothing is in use.
    std::size_t free_arenas() const noexcept
    {
        return store_.free_count() + (current_ != &core::no_arena && current_->bytes_in_use() == 0 ? 1 : 0);
    }

    /// Returns: bytes in use: those of blocks in arenas, each rounded up to a multiple of 8, and those of large blocks. (With a
    ///   policy that checks, what it has behind each block is in use, too.)
    /// Complexity: linear in arenas.
    std::size_t bytes_in_use() const noexcept
    {
        std::size_t sum = large_.bytes_in_use();
        store_.for_each_arena([&sum](const core::arena& each) { sum += each.bytes_in_use(); });
        return sum;
    }

    /// Returns: bytes in arenas that can be handed out only after the last block in use in the same arena has come back: gaps, and
    ///   what is left at the end of an arena that the next block did not fit into.
    /// Complexity: linear in arenas.
    std::size_t bytes_wasted() const noexcept
    {
        std::size_t sum = 0;
        store_.for_each_arena([&](core::arena& each) {
            if (each.bytes_in_use() == 0)
                return;
            const std::byte* const usable_end = &each == current_ ? each.cursor : store_.end_of(each);
            sum += static_cast<std::size_t>(usable_end - store_.start_of(each)) - each.bytes_in_use();
        });
        return sum;
    }

    /// Returns: bytes taken from upstream and not given back, bookkeeping included.
    std::size_t bytes_reserved() const noexcept { return store_.bytes_reserved() + large_.bytes_reserved(); }

    /// Returns: how the resource calls itself in reports.
    const char* name() const noexcept { return store_.name(); }

    /// Returns: where the arenas come from.
    std::pmr::memory_resource* upstream_resource() const noexcept { return store_.upstream(); }

    /// Returns: whether the bookkeeping is in order. For tests.
    /// Complexity: linear in arenas.
    bool is_valid() const noexcept
    {
        bool is_valid = store_.is_valid();
        store_.for_each_arena([&](core::arena& each) {
            is_valid = is_valid && store_.start_of(each) <= each.floor && each.floor <= each.cursor &&
                       each.cursor <= store_.end_of(each) && (!each.is_free || each.bytes_in_use() == 0);
        });
        return is_valid;
    }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    static constexpr std::size_t canary_bytes = variant::checks ? core::arena_checks<core::arena>::canary_bytes : 0;

    static std::size_t extent(std::size_t bytes) noexcept { return core::arena_extent(bytes) + canary_bytes; }

    static std::size_t largest_block_in(const store_type& store) noexcept
    {
        return store.largest_extent() > canary_bytes ? store.largest_extent() - canary_bytes : 0;
    }

    /// Whether a block comes from an arena; by its size and alignment alone, so that it is known when it comes back.
    bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    {
        return bytes <= largest_block_ && store_.fits(extent(bytes), alignment);
    }

    /// Returns: nullptr if the current arena has not enough room.
    MEMORY_POOL_ALWAYS_INLINE void* bump(std::size_t bytes, std::size_t alignment)
    {
        core::arena& from = *current_;
        std::byte* const cursor = from.cursor;
        // Cursors are multiples of the granule.
        const std::size_t skipped = alignment > core::arena_granule ? core::distance_to_multiple(cursor, alignment) : 0;
        const std::size_t size = extent(bytes);
        const auto room = static_cast<std::size_t>(end_of_current_ - cursor);
        if (MEMORY_POOL_UNLIKELY(skipped + size > room))
            return nullptr;
        if (alignment > core::arena_granule)
            from.floor += skipped;
        std::byte* const block = cursor + skipped;
        from.cursor = block + size;
        if constexpr (variant::checks)
            if (const auto misuse = checks().hand_out(block, bytes))
                base::report_misuse(*misuse, block, bytes, name());
        base::block_handed_out(this, block, bytes);
        return block;
    }

    MEMORY_POOL_NOINLINE void* allocate_in_next(std::size_t bytes, std::size_t alignment)
    {
        core::check_alignment(alignment, name());
        if (!store_.fits(extent(bytes), alignment))
            return large_.allocate(bytes, alignment);
        core::arena& next = store_.take(this);
        current_ = &next;
        end_of_current_ = store_.end_of(next);
        return bump(bytes, alignment);
    }

    MEMORY_POOL_SLOW_PATH void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        core::check_alignment(alignment, name());
        return large_.allocate(bytes, alignment);
    }

    MEMORY_POOL_ALWAYS_INLINE void deallocate_in_arena(void* block, std::size_t bytes) noexcept
    {
        core::arena& its = *store_.arena_of(block);
        if (MEMORY_POOL_UNLIKELY(its.owner != this)) {
            report(error::foreign_pointer, block, bytes);
            return;
        }
        take_back(its, static_cast<std::byte*>(block), bytes);
    }

    MEMORY_POOL_NOINLINE void deallocate_checked(void* block, std::size_t bytes) noexcept
    {
        if (const auto misuse = checks().misuse(block, bytes)) {
            report(*misuse, block, bytes);
            return;
        }
        checks().take_back(block, bytes);
        take_back(*store_.arena_of(block), static_cast<std::byte*>(block), bytes);
    }

    MEMORY_POOL_ALWAYS_INLINE void take_back(core::arena& its, std::byte* block, std::size_t bytes) noexcept
    {
        const std::size_t size = extent(bytes);
        const bool is_last = block + size == its.cursor;
        if (is_last)
            its.cursor = block;
        else
            its.floor += size;
        base::block_given_back(this, block, bytes);
        if (its.floor < its.cursor)
            return;
        if (MEMORY_POOL_LIKELY(its.floor == its.cursor && &its == current_))
            its.reset(store_.start_of(its));
        else
            became_empty(its, is_last, block, bytes);
    }

    MEMORY_POOL_NOINLINE void became_empty(core::arena& its, bool was_last, const void* block,
                                           std::size_t bytes) noexcept
    {
        if (MEMORY_POOL_LIKELY(its.floor == its.cursor)) {
            store_.put(its);
            return;
        }
        // More came back than was handed out: the arena is to be as it was before.
        if (was_last)
            its.cursor += extent(bytes);
        else
            its.floor -= extent(bytes);
        report(error::double_free, block, bytes);
    }

    MEMORY_POOL_SLOW_PATH void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if constexpr (variant::checks)
            if (const auto misuse = checks().misuse_of_large(block, bytes, alignment)) {
                report(*misuse, block, bytes);
                return;
            }
        if (!large_.deallocate(block, bytes, alignment))
            report(error::foreign_pointer, block, bytes);
    }

    MEMORY_POOL_SLOW_PATH void report(error kind, const void* block, std::size_t bytes) const noexcept
    {
        base::report_misuse(kind, block, bytes, name());
    }

    void leave_current() noexcept
    {
        current_ = &core::no_arena;
        end_of_current_ = nullptr;
    }

    core::arena_checks<core::arena> checks() const noexcept { return {store_, large_}; }

    core::arena* current_ = &core::no_arena; ///< The one that blocks are handed out of.
    std::byte* end_of_current_ = nullptr;
    store_type store_;
    core::large_blocks large_;
    const std::size_t largest_block_;
};

/// Arenas for one thread, without checks beyond those that cost nothing.
using unsynchronized_arena_resource = basic_unsynchronized_arena_resource<>;
} // namespace memory_pool
