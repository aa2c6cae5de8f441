// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All arenas of one resource: allocates them from upstream, keeps free arenas, and returns them.
///
///     chunks:  [ arena | arena | arena | never used ] -> [ never used | never used ]     each from one upstream call
///     free:    arena -> arena                                                            used before, and empty again
///
///     arenas in all chunks = with blocks in use, or being filled + in the list of free arenas + never used
///
/// Every arena begins at a multiple of its size, so masking the address of a block finds its arena.
///
/// Thread safety: none; the resource that owns the store synchronizes.
#pragma once

#include <memory_pool/base/address_tree.hpp>
#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/resources/arena.hpp>
#include <memory_pool/core/resources/arena_marks.hpp>
#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The size in bytes of the smallest arena, header included.
inline constexpr std::size_t smallest_arena = 1024;

/// Returns: the size in bytes of an arena, header included, for the option `arena_size`.
constexpr std::size_t actual_arena_size(std::size_t arena_size) noexcept
{
    return base::power_of_two_at_least(std::max(arena_size, smallest_arena));
}

/// Returns: the size in bytes of an arena, header included.
/// Throws: std::invalid_argument or size_overflow, for invalid options.
inline std::size_t checked_arena_size(const arena_options& options, const std::pmr::memory_resource* upstream)
{
    const char* const name = options.name != nullptr ? options.name : arena_options{}.name;
    check_upstream(upstream, name);
    if (options.arena_size == 0)
        base::throw_invalid_argument(base::message(
            "memory_pool: arenas '%.100s': arena_size is 0; ask for as many bytes as many blocks need together", name));
    if (options.max_arenas == 0)
        base::throw_invalid_argument(
            base::message("memory_pool: arenas '%.100s': max_arenas is 0; allow at least 1 arena, "
                          "or leave it at arena_options::unbounded",
                          name));
    if (options.max_arenas < options.arena_count)
        base::throw_invalid_argument(base::message(
            "memory_pool: arenas '%.100s': max_arenas is %zu, below arena_count, which is %zu; raise one or "
            "lower the other",
            name, options.max_arenas, options.arena_count));
    if (base::saturating_multiply(std::max<std::size_t>(options.arena_count, 1), options.arena_size) > largest_size)
        base::throw_size_overflow(std::max<std::size_t>(options.arena_count, 1), options.arena_size);
    return actual_arena_size(options.arena_size);
}

/// The arenas of one resource. `Arena` derives from arena_links.
template <class Arena>
class arena_store : base::immovable<arena_store<Arena>>
{
public:
    /// Effects: constructs a store without arenas. If `checks`, each arena has marks after its header, and the store
    ///   fills free bytes with a pattern.
    /// Throws: as checked_arena_size.
    arena_store(const arena_options& options, bool checks, std::pmr::memory_resource* upstream)
        : arena_size_(checked_arena_size(options, upstream)), checks_(checks),
          start_(base::round_up(sizeof(Arena) + (checks ? arena_marks::bytes_for(arena_size_) : 0), cache_line_size)),
          max_arenas_(options.max_arenas), prefault_(options.prefault),
          name_(options.name != nullptr ? options.name : arena_options{}.name), upstream_(upstream)
    {
    }

    ~arena_store() { release(); }

    /// Effects: allocates an empty arena.
    /// Throws: pool_exhausted at the limit of arenas; exceptions from upstream.
    /// Complexity: O(1); occasionally a call upstream.
    Arena& take(const void* owner)
    {
        if (Arena* const free = first_free_) {
            first_free_ = free->next_free;
            free->is_free = false;
            --free_count_;
            return *free;
        }
        if (carving_ == nullptr)
            grow(std::clamp(arena_count_, std::size_t{1}, arenas_in_largest_chunk()));
        return carve(owner);
    }

    /// Effects: frees an arena, even if it has blocks in use.
    void discard(Arena& left) noexcept
    {
        put(left);
        make_untouched(left);
    }

    /// Effects: resets the bytes from `begin` to the cursor of an arena to the state of unused bytes.
    void discard_from(std::byte* begin, Arena& left) const noexcept
    {
        const auto bytes = static_cast<std::size_t>(left.cursor - begin);
        if (checks_) {
            marks_of(left).clear(begin, left.cursor);
            fill_pattern(bytes, bytes).mark_free(begin);
        }
        base::forbid_access(begin, bytes);
    }

    /// Effects: frees an arena without blocks in use.
    void put(Arena& empty) noexcept
    {
        empty.reset(start_of(empty));
        empty.is_free = true;
        empty.next_free = std::exchange(first_free_, &empty);
        ++free_count_;
    }

    /// Effects: allocates arenas from upstream until there are at least `count`.
    /// Throws: size_overflow if the arenas exceed the address space; otherwise as `take`.
    void reserve(std::size_t count)
    {
        check_count(count);
        while (arena_count_ < count)
            grow(std::min(count - arena_count_, arenas_in_largest_chunk()));
    }

    /// Throws: as `reserve`, without calling upstream.
    /// Thread safety: any thread, because it reads only constant members.
    void check_count(std::size_t count) const
    {
        if (base::saturating_multiply(count, arena_size_) > largest_size)
            base::throw_size_overflow(count, arena_size_);
        if (count > max_arenas_)
            throw_exhausted();
    }

    bool has_free() const noexcept { return first_free_ != nullptr || carving_ != nullptr; }
    bool may_take() const noexcept { return has_free() || arena_count_ < max_arenas_; }

    [[noreturn]] void throw_exhausted() const
    {
        base::throw_exhausted(
            base::message("memory_pool: arenas '%.100s' are exhausted: max_arenas allows %zu of %zu bytes", name_,
                          max_arenas_, arena_size_),
            name_, max_arenas_, arena_size_);
    }

    /// Effects: returns chunks whose arenas are all free to upstream.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in arenas.
    std::size_t trim() noexcept
    {
        Arena* leaving = nullptr;
        for (Arena** link = &first_chunk_; *link != nullptr;) {
            Arena* const chunk = *link;
            if (!is_wholly_free(*chunk)) {
                link = &chunk->next_chunk;
                continue;
            }
            *link = chunk->next_chunk;
            chunks_.remove(chunk);
            chunk->next_chunk = std::exchange(leaving, chunk);
            for_each_carved(*chunk, [](Arena& free) { free.is_free = false; });
        }
        drop_from_free_list();
        find_chunks();
        return give_back(leaving);
    }

    /// Effects: frees all arenas, even if they have blocks in use.
    void clear() noexcept
    {
        first_free_ = nullptr;
        free_count_ = 0;
        for_each_arena([this](Arena& each) { discard(each); });
    }

    /// Effects: returns all memory to upstream, even if blocks are in use.
    void release() noexcept
    {
        Arena* const leaving = std::exchange(first_chunk_, nullptr);
        chunks_.clear();
        first_free_ = nullptr;
        free_count_ = 0;
        find_chunks();
        (void)give_back(leaving);
    }

    /// Effects: calls `visit(Arena&)` for each arena that has ever been used.
    template <class Visit>
    void for_each_arena(Visit&& visit) const
    {
        for (Arena* chunk = first_chunk_; chunk != nullptr; chunk = chunk->next_chunk)
            for_each_carved(*chunk, visit);
    }

    // Addresses.

    /// Returns: the arena of a block.
    MEMORY_POOL_ALWAYS_INLINE Arena* arena_of(const void* block) const noexcept
    {
        return reinterpret_cast<Arena*>(reinterpret_cast<std::uintptr_t>(block) & ~(arena_size_ - 1));
    }

    arena_marks marks_of(Arena& of) const noexcept
    {
        auto* const begin = reinterpret_cast<std::byte*>(&of);
        return {begin, begin + sizeof(Arena), arena_size_};
    }

    std::byte* start_of(Arena& of) const noexcept { return reinterpret_cast<std::byte*>(&of) + start_; }
    std::byte* end_of(Arena& of) const noexcept { return reinterpret_cast<std::byte*>(&of) + arena_size_; }

    /// Returns: whether `address` lies in an arena that has ever been used. Any pointer is allowed.
    /// Complexity: logarithmic in chunks, on average.
    bool contains(const void* address) const noexcept
    {
        const Arena* const chunk = chunks_.around(address).at_or_before;
        return chunk != nullptr && reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(chunk) <
                                       chunk->carved_arenas * arena_size_;
    }

    /// Returns: the largest extent that fits into an arena, for alignments up to a cache line.
    std::size_t largest_extent() const noexcept { return arena_size_ - start_; }

    /// Returns: whether a block of `extent` bytes with this `alignment` fits into an empty arena.
    bool fits(std::size_t extent, std::size_t alignment) const noexcept
    {
        return alignment < arena_size_ && extent <= arena_size_ - base::round_up(start_, alignment);
    }

    // Statistics.

    std::size_t arena_size() const noexcept { return arena_size_; }
    std::size_t arena_count() const noexcept { return arena_count_; }
    std::size_t max_arenas() const noexcept { return max_arenas_; }
    std::size_t bytes_reserved() const noexcept { return arena_count_ * arena_size_; }
    const char* name() const noexcept { return name_; }
    bool checks() const noexcept { return checks_; }
    std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

    /// Returns: the number of free arenas: empty again, or never used.
    std::size_t free_count() const noexcept { return free_count_ + arena_count_ - carved_count_; }

    /// Returns: whether the invariants above hold.
    bool verify() const noexcept
    {
        std::size_t arenas = 0;
        std::size_t carved = 0;
        std::size_t marked_free = 0;
        std::size_t listed = 0;
        for (const Arena* chunk = first_chunk_; chunk != nullptr; chunk = chunk->next_chunk) {
            arenas += chunk->chunk_arenas;
            carved += chunk->carved_arenas;
        }
        for_each_arena([&](const Arena& each) { marked_free += each.is_free ? 1 : 0; });
        for (const Arena* free = first_free_; free != nullptr; free = free->next_free)
            ++listed;
        return arenas == arena_count_ && carved == carved_count_ && listed == free_count_ && marked_free == listed;
    }

private:
    /// Larger arenas have a chunk each.
    static constexpr std::size_t bytes_in_largest_chunk = std::size_t{1} << 20;
    static_assert(bytes_in_largest_chunk / smallest_arena <= std::numeric_limits<std::uint16_t>::max());

    std::size_t arenas_in_largest_chunk() const noexcept
    {
        return std::max<std::size_t>(bytes_in_largest_chunk / arena_size_, 1);
    }

    /// Allocates a chunk with up to `wanted` arenas from upstream.
    void grow(std::size_t wanted)
    {
        const std::size_t arenas = std::min(wanted, max_arenas_ - arena_count_);
        if (arenas == 0)
            throw_exhausted();
        if (arenas > 1 && base::succeeds([&] { add_chunk(arenas); }))
            return;
        add_chunk(1); // Upstream may have memory for one arena.
    }

    void add_chunk(std::size_t arenas)
    {
        void* const memory = allocate_upstream(upstream_, arenas * arena_size_, arena_size_, name_);
        if (prefault_)
            os::touch_pages(memory, arenas * arena_size_);
        auto* const chunk = ::new (memory) Arena;
        chunk->chunk_arenas = static_cast<std::uint16_t>(arenas);
        chunks_.insert(chunk);
        (last_chunk_ != nullptr ? last_chunk_->next_chunk : first_chunk_) = chunk;
        last_chunk_ = chunk;
        if (carving_ == nullptr)
            carving_ = chunk;
        arena_count_ += arenas;
    }

    /// Carves an arena out of unused memory.
    /// Preconditions: carving_ is not nullptr.
    Arena& carve(const void* owner) noexcept
    {
        Arena& chunk = *carving_;
        Arena* const fresh = arena_in(chunk, chunk.carved_arenas);
        if (chunk.carved_arenas != 0) // The first arena's header is also the chunk's.
            ::new (static_cast<void*>(fresh)) Arena;
        if (++chunk.carved_arenas == chunk.chunk_arenas)
            carving_ = chunk.next_chunk;
        ++carved_count_;
        fresh->owner = owner;
        fresh->reset(start_of(*fresh));
        make_untouched(*fresh);
        return *fresh;
    }

    /// Poisons and, with checks, fills all bytes of an arena, to detect accesses.
    void make_untouched(Arena& empty) const noexcept
    {
        if (checks_) {
            marks_of(empty).clear();
            fill_pattern(largest_extent(), largest_extent()).mark_free(start_of(empty));
        }
        base::forbid_access(start_of(empty), largest_extent());
    }

    Arena* arena_in(Arena& chunk, std::size_t index) const noexcept
    {
        return static_cast<Arena*>(base::address_past(&chunk, index * arena_size_));
    }

    template <class Visit>
    void for_each_carved(Arena& chunk, Visit&& visit) const
    {
        for (std::size_t i = 0; i != chunk.carved_arenas; ++i)
            visit(*arena_in(chunk, i));
    }

    bool is_wholly_free(Arena& chunk) const noexcept
    {
        bool all_are = true;
        for_each_carved(chunk, [&](const Arena& each) { all_are = all_are && each.is_free; });
        return all_are;
    }

    /// Removes arenas that are no longer free.
    void drop_from_free_list() noexcept
    {
        for (Arena** link = &first_free_; *link != nullptr;) {
            if ((*link)->is_free) {
                link = &(*link)->next_free;
                continue;
            }
            *link = (*link)->next_free;
            --free_count_;
        }
    }

    /// Updates the counts, the last chunk and the first chunk with room, after chunks were removed.
    void find_chunks() noexcept
    {
        last_chunk_ = carving_ = nullptr;
        arena_count_ = carved_count_ = 0;
        for (Arena* chunk = first_chunk_; chunk != nullptr; chunk = chunk->next_chunk) {
            last_chunk_ = chunk;
            if (carving_ == nullptr && chunk->carved_arenas != chunk->chunk_arenas)
                carving_ = chunk;
            arena_count_ += chunk->chunk_arenas;
            carved_count_ += chunk->carved_arenas;
        }
    }

    /// Returns the chunks of a list to upstream.
    std::size_t give_back(Arena* leaving) noexcept
    {
        std::size_t bytes = 0;
        while (leaving != nullptr) {
            Arena* const chunk = std::exchange(leaving, leaving->next_chunk);
            const std::size_t size = chunk->chunk_arenas * arena_size_;
            base::permit_access(chunk, size);
            upstream_->deallocate(chunk, size, arena_size_);
            bytes += size;
        }
        return bytes;
    }

    const std::size_t arena_size_;
    const bool checks_;
    const std::size_t start_; ///< The offset of the first block in an arena.
    const std::size_t max_arenas_;
    const bool prefault_;
    const char* const name_;
    std::pmr::memory_resource* const upstream_;
    base::address_tree<Arena> chunks_;
    Arena* first_chunk_ = nullptr;
    Arena* last_chunk_ = nullptr;
    /// The first chunk with unused arenas; later chunks are entirely unused.
    Arena* carving_ = nullptr;
    Arena* first_free_ = nullptr;
    std::size_t free_count_ = 0;
    std::size_t arena_count_ = 0;
    std::size_t carved_count_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
