// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `arena_mr::UnsynchronizedArenaMR`: the interface of the library ArenaMR.
///
///     UnsynchronizedArenaMR(n, s, upstream) -> [ n records | arena of s bytes | arena | ... ]  more if all are full
///
///     active:  | block | gap | block |        room       |   allocate moves the cursor
///              ^ begin               ^ cursor            ^ end
///     full:    | block | block |  block  |    wasted     |   until all its blocks are freed
///     free:    |                  room                   |   becomes active when the active arena is full
///
///     UsedMemory   = from begin to cursor, of the active arena and all full arenas, and oversized blocks
///     WastedMemory = from cursor to end, of all full arenas
///
/// An arena counts its blocks, and is free again when the last block is freed. The offset of a block in its chunk,
/// divided by the size of an arena, is the index of its arena. A block that does not fit into an arena is oversized: it
/// is a separate upstream allocation, and is returned to upstream when it is freed.
///
/// Differences from the original:
/// - All memory is returned to upstream: oversized blocks when they are freed, arenas by the destructor. An oversized
///   block never becomes a free arena.
/// - Every alignment is honoured. A block that may not fit into an arena because of its alignment is oversized.
/// - allocate(0) returns a block of 1 byte, and nullptr may be freed.
/// - Freeing allocates nothing. It is O(1) for any number of arenas, but logarithmic in chunks if the block is
///   oversized, or not in the same chunk as the previous block.
/// - All memory is from upstream, including a record of 32 bytes per arena. Arenas are contiguous, each at a multiple
///   of 16 bytes, as far as upstream can allocate large enough chunks. When all arenas are full, their number grows by
///   an eighth.
/// - UsedMemory, WastedMemory and FreeArenaSize have the meaning of the original, but can have other values:
///   - In the original, an oversized block has its own arena, which is free once the block is freed. Here, the block is
///     not an arena: UsedMemory counts its bytes until it is freed; WastedMemory and FreeArenaSize never do.
///   - allocate(0) takes 1 byte; in the original, it takes none.
///   - Alignment gaps depend on where an arena begins: here at a multiple of 16 bytes.
/// - If upstream throws, the resource is unchanged.
/// - Invalid arguments are rejected. Foreign pointers, pointers into oversized blocks, and blocks freed to an arena
///   without blocks in use are reported.
/// - Unused bytes of an arena are poisoned for AddressSanitizer and Valgrind.
/// - The header may be included in several source files.
/// - Include this header instead of declaring the class: a forward declaration by the program, such as
///   `class UnsynchronizedArenaMR;`, declares another class, and makes the name ambiguous.
///
/// Include path: drop_in/ and include/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: none. Only one thread at a time may use a resource.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory_resource>
#include <new>
#include <utility>

namespace arena_mr { inline namespace MEMORY_POOL_ABI {
namespace detail {
inline constexpr const char* resource_name = "UnsynchronizedArenaMR";

/// The alignment of arenas.
inline constexpr std::size_t granule = alignof(std::max_align_t);

/// The record of an arena.
struct arena
{
    std::byte* begin;
    std::size_t blocks = 0;    ///< Blocks in use.
    std::size_t bytes_cut = 0; ///< Valid while the arena is full.
    arena* next_free = nullptr;
};

/// Memory from upstream: records and their arenas, or an oversized block.
struct chunk
{
    std::byte* begin = nullptr; ///< The first arena, or the block.
    std::size_t bytes = 0;      ///< From `begin` on.
    arena* records = nullptr;   ///< nullptr for an oversized block.
    std::size_t alignment = granule;

    bool is_oversized() const noexcept { return records == nullptr; }
};

/// The arenas and oversized blocks of one resource: allocates them from upstream, finds them by address, frees them.
class arena_chunks
{
    using directory = std::pmr::map<const std::byte*, chunk, std::less<>>; ///< By `begin`.

public:
    /// Throws: std::invalid_argument or memory_pool::size_overflow for invalid arguments.
    arena_chunks(std::size_t number_of_arenas, std::size_t bytes_per_arena, std::pmr::memory_resource* upstream)
        : stride_(checked_stride(number_of_arenas, bytes_per_arena, upstream)), reciprocal_(reciprocal_of(stride_)),
          upstream_(upstream), chunks_(upstream)
    {
    }

    arena_chunks(const arena_chunks&) = delete;
    arena_chunks& operator=(const arena_chunks&) = delete;

    ~arena_chunks()
    {
        for (const auto& [begin, each] : chunks_)
            give_back(each);
    }

    /// Allocates arenas from upstream until there are `count`, in as few chunks as upstream allows.
    void reserve(std::size_t count)
    {
        for (std::size_t at_once = arenas_in_largest_chunk(); arena_count_ < count;)
            at_once = grow(std::min(at_once, count - arena_count_));
    }

    /// Takes a free arena; allocates more from upstream if there is none.
    arena& take_arena()
    {
        if (first_free_ == nullptr)
            grow(std::clamp(arena_count_ / 8, std::size_t{1}, arenas_in_largest_chunk()));
        return *std::exchange(first_free_, first_free_->next_free);
    }

    void put_arena(arena& empty) noexcept { empty.next_free = std::exchange(first_free_, &empty); }

    void* allocate_oversized(std::size_t bytes, std::size_t alignment)
    {
        if (std::max(bytes, alignment) > memory_pool::detail::core::largest_size)
            memory_pool::detail::base::throw_size_overflow(1, std::max(bytes, alignment));
        void* const block = upstream_->allocate(bytes, alignment);
        add({static_cast<std::byte*>(block), bytes, nullptr, alignment});
        oversized_bytes_ += bytes;
        return block;
    }

    void deallocate_oversized(const chunk& block) noexcept
    {
        oversized_bytes_ -= block.bytes;
        give_back(block);
        chunks_.erase(block.begin);
    }

    std::size_t oversized_bytes() const noexcept { return oversized_bytes_; }

    /// Returns the arena that contains `address` if the arena is in the chunk found last; otherwise nullptr.
    MEMORY_POOL_ALWAYS_INLINE arena* arena_in_last_chunk(const void* address) const noexcept
    {
        const std::size_t offset = offset_in(last_, address);
        if (MEMORY_POOL_UNLIKELY(offset >= last_.bytes))
            return nullptr;
        arena* const found = last_.records + index(offset);
        MEMORY_POOL_ASSUME(found != nullptr); // Saves a check in the caller.
        return found;
    }

    /// Returns the arena that contains `address`, which is in `home`.
    arena& arena_in(const chunk& home, const void* address) const noexcept
    {
        return home.records[index(offset_in(home, address))];
    }

    /// Returns the chunk that contains `address`, or nullptr. Caches a chunk of arenas as the chunk found last.
    /// Complexity: logarithmic in chunks.
    const chunk* find_chunk(const void* address) noexcept
    {
        const auto behind = chunks_.upper_bound(static_cast<const std::byte*>(address));
        if (behind == chunks_.begin())
            return nullptr;
        const chunk& found = std::prev(behind)->second;
        if (offset_in(found, address) >= found.bytes)
            return nullptr;
        if (!found.is_oversized())
            last_ = found;
        return &found;
    }

private:
    /// Offsets in a chunk with several arenas are less than 2^32 granules.
    static constexpr std::size_t largest_chunk = granule << 32;

    static std::size_t checked_stride(std::size_t number_of_arenas, std::size_t bytes_per_arena,
                                      const std::pmr::memory_resource* upstream)
    {
        namespace base = memory_pool::detail::base;
        memory_pool::detail::core::check_upstream(upstream, resource_name);
        if (bytes_per_arena == 0)
            base::throw_invalid_argument(base::message(
                "memory_pool: '%s': bytes_per_arena is 0; pass the total size of many blocks", resource_name));
        const std::size_t min_arenas = std::max<std::size_t>(number_of_arenas, 1);
        if (base::saturating_multiply(min_arenas, bytes_per_arena) > memory_pool::detail::core::largest_size)
            base::throw_size_overflow(min_arenas, bytes_per_arena);
        return base::round_up(bytes_per_arena, granule);
    }

    static std::uint64_t reciprocal_of(std::size_t stride) noexcept
    {
        return stride <= largest_chunk
                   ? memory_pool::detail::base::divide_round_up(std::size_t{1} << 32, stride / granule)
                   : 0;
    }

    std::size_t arenas_in_largest_chunk() const noexcept { return std::max<std::size_t>(largest_chunk / stride_, 1); }

    static std::size_t offset_in(const chunk& home, const void* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(home.begin);
    }

    /// Returns `offset / stride_`. The reciprocal is too large by less than 1, and an offset has fewer than 2^32
    /// granules. Therefore, the product is too large by less than 2^32, and the estimate is exact or too large by 1.
    std::size_t index(std::size_t offset) const noexcept
    {
        const std::size_t estimate = (offset / granule * reciprocal_) >> 32;
        return estimate * stride_ > offset ? estimate - 1 : estimate;
    }

    /// Allocates a chunk of up to `count` arenas, as many as upstream can provide. Returns the number of arenas.
    std::size_t grow(std::size_t count)
    {
        while (count > 1) {
            if (memory_pool::detail::base::succeeds([&] { add_arenas(count); }))
                return count;
            count /= 2;
        }
        add_arenas(1);
        return 1;
    }

    void add_arenas(std::size_t count)
    {
        const std::size_t bytes_before = count * sizeof(arena);
        void* const memory = upstream_->allocate(bytes_before + count * stride_, granule);
        std::byte* const begin = static_cast<std::byte*>(memory) + bytes_before;
        add({begin, count * stride_, static_cast<arena*>(memory), granule});
        arena_count_ += count;
        for (std::size_t i = count; i-- != 0;)
            put_arena(*::new (static_cast<void*>(static_cast<arena*>(memory) + i)) arena{begin + i * stride_});
        memory_pool::detail::base::forbid_access(begin, count * stride_);
    }

    /// Adds a chunk to the directory; frees the chunk on failure.
    void add(const chunk& added)
    {
        memory_pool::detail::base::failure_guard guard([&] { give_back(added); });
        chunks_.emplace(added.begin, added);
        guard.succeeded();
        if (!added.is_oversized())
            last_ = added;
    }

    void give_back(const chunk& leaving) noexcept
    {
        if (leaving.is_oversized()) {
            upstream_->deallocate(leaving.begin, leaving.bytes, leaving.alignment);
            return;
        }
        memory_pool::detail::base::permit_access(leaving.begin, leaving.bytes);
        upstream_->deallocate(leaving.records, leaving.bytes / stride_ * (sizeof(arena) + stride_), leaving.alignment);
    }

    const std::size_t stride_;       ///< The distance between the beginnings of arenas.
    const std::uint64_t reciprocal_; ///< 2^32 / granules in a stride, rounded up; 0 if a chunk has one arena.
    std::pmr::memory_resource* const upstream_;
    chunk last_; ///< The chunk of arenas found last.
    arena* first_free_ = nullptr;
    std::size_t arena_count_ = 0;
    std::size_t oversized_bytes_ = 0;
    directory chunks_;
};
} // namespace detail

/// A resource that allocates from arenas, and reuses an arena when all of its blocks are freed.
class UnsynchronizedArenaMR : public std::pmr::memory_resource
{
public:
    /// Effects: creates a resource, and allocates `number_of_arenas` arenas of `bytes_per_arena` bytes from `upstream`.
    ///   The first arena is active.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `bytes_per_arena` is 0 or `upstream` is nullptr; memory_pool::size_overflow,
    ///   which is a std::bad_alloc, if the total size overflows; exceptions from upstream.
    /// Complexity: linear in arenas.
    UnsynchronizedArenaMR(std::size_t number_of_arenas, std::size_t bytes_per_arena,
                          std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : number_of_arenas_(number_of_arenas), bytes_per_arena_(bytes_per_arena),
          chunks_(number_of_arenas, bytes_per_arena, upstream)
    {
        chunks_.reserve(number_of_arenas);
        if (number_of_arenas != 0)
            activate(chunks_.take_arena());
        memory_pool::detail::base::pool_made(this);
    }

    UnsynchronizedArenaMR(const UnsynchronizedArenaMR&) = delete;
    UnsynchronizedArenaMR& operator=(const UnsynchronizedArenaMR&) = delete;

    /// Effects: returns all memory to upstream, including blocks in use.
    ~UnsynchronizedArenaMR() override { memory_pool::detail::base::pool_gone(this); }

    /// Returns: the initial number of arenas.
    std::size_t NumOfArenas() const noexcept { return number_of_arenas_; }

    /// Returns: the requested size of an arena in bytes.
    std::size_t SizePerArena() const noexcept { return bytes_per_arena_; }

    /// Returns: the number of arenas without blocks in use, except the active arena. Arenas added later count from
    ///   their first use on.
    std::size_t FreeArenaSize() const noexcept { return std::max(number_of_arenas_, max_arenas_used_) - arenas_used(); }

    /// Returns: bytes allocated from arenas that are not free, including alignment gaps, plus bytes of oversized
    ///   blocks. Freeing a block lowers the result only if the block is oversized or the last one in its arena.
    std::size_t UsedMemory() const noexcept
    {
        return bytes_cut_from_full_ + cut_from_active() + chunks_.oversized_bytes();
    }

    /// Returns: unused bytes at the end of full arenas.
    std::size_t WastedMemory() const noexcept { return full_arenas_ * bytes_per_arena_ - bytes_cut_from_full_; }

private:
    // `allocate` and `deallocate`. Complexity: O(1), except for upstream calls; logarithmic in chunks for a block
    // outside of the chunk found last.

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const std::size_t extent = bytes + (bytes == 0 ? 1 : 0);
        std::byte* const block = cut(extent, alignment);
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return allocate_slowly(extent, alignment);
        memory_pool::detail::base::arena_block_allocated(this, block, bytes);
        return block;
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        detail::arena* const home = chunks_.arena_in_last_chunk(block);
        if (MEMORY_POOL_LIKELY(home != nullptr))
            take_back(*home, block, bytes, alignment);
        else
            deallocate_elsewhere(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    /// Allocates a block from the active arena. Returns nullptr if there is no active arena, or not enough room in it.
    MEMORY_POOL_ALWAYS_INLINE std::byte* cut(std::size_t extent, std::size_t alignment) noexcept
    {
        const auto room = static_cast<std::size_t>(end_ - cursor_);
        const std::size_t gap = (std::uintptr_t{0} - reinterpret_cast<std::uintptr_t>(cursor_)) & (alignment - 1);
        if (MEMORY_POOL_UNLIKELY(gap >= room || extent > room - gap))
            return nullptr;
        std::byte* const block = cursor_ + gap;
        cursor_ = block + extent;
        ++active_->blocks;
        MEMORY_POOL_ASSUME(block != nullptr); // Saves a check in the caller.
        return block;
    }

    MEMORY_POOL_NOINLINE void* allocate_slowly(std::size_t extent, std::size_t alignment)
    {
        memory_pool::detail::core::check_alignment(alignment, detail::resource_name);
        if (!fits_arena(extent, alignment))
            return chunks_.allocate_oversized(extent, alignment);
        activate(chunks_.take_arena());
        std::byte* const block = cut(extent, alignment);
        memory_pool::detail::base::arena_block_allocated(this, block, extent);
        return block;
    }

    bool fits_arena(std::size_t extent, std::size_t alignment) const noexcept
    {
        const std::size_t largest_gap = std::max(alignment, detail::granule) - detail::granule;
        return extent <= bytes_per_arena_ && largest_gap <= bytes_per_arena_ - extent;
    }

    /// Makes a free arena active. The previous active arena is full.
    void activate(detail::arena& next) noexcept
    {
        if (active_ != nullptr) {
            active_->bytes_cut = cut_from_active();
            bytes_cut_from_full_ += active_->bytes_cut;
            ++full_arenas_;
        }
        active_ = &next;
        cursor_ = next.begin;
        end_ = next.begin + bytes_per_arena_;
        max_arenas_used_ = std::max(max_arenas_used_, arenas_used());
    }

    MEMORY_POOL_ALWAYS_INLINE void take_back(detail::arena& home, void* block, std::size_t bytes,
                                             std::size_t alignment) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(home.blocks == 0 ||
                                 !memory_pool::detail::base::arena_block_given_back(this, block, bytes))) {
            report(memory_pool::error_kind::double_free, block, bytes, alignment);
            return;
        }
        if (MEMORY_POOL_UNLIKELY(--home.blocks == 0))
            became_empty(home);
    }

    MEMORY_POOL_ALWAYS_INLINE void became_empty(detail::arena& empty) noexcept
    {
        if (&empty == active_) {
            forbid_access(empty, cut_from_active());
            cursor_ = empty.begin;
            return;
        }
        forbid_access(empty, empty.bytes_cut);
        bytes_cut_from_full_ -= empty.bytes_cut;
        --full_arenas_;
        chunks_.put_arena(empty);
    }

    /// Poisons the whole arena: AddressSanitizer works in granules of 8 bytes, so freed blocks may leave unpoisoned
    /// bytes.
    static void forbid_access(const detail::arena& empty, std::size_t bytes_cut) noexcept
    {
        memory_pool::detail::base::forbid_access(empty.begin, bytes_cut);
    }

    MEMORY_POOL_NOINLINE void deallocate_elsewhere(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if (block == nullptr)
            return;
        const detail::chunk* const home = chunks_.find_chunk(block);
        if (home == nullptr)
            report(memory_pool::error_kind::foreign_pointer, block, bytes, alignment);
        else if (!home->is_oversized())
            take_back(chunks_.arena_in(*home, block), block, bytes, alignment);
        else if (home->begin != block)
            report(memory_pool::error_kind::misaligned_pointer, block, bytes, alignment);
        else
            chunks_.deallocate_oversized(*home);
    }

    MEMORY_POOL_SLOW_PATH static void report(memory_pool::error_kind kind, const void* block, std::size_t bytes,
                                             std::size_t alignment) noexcept
    {
        memory_pool::detail::base::report_misuse(kind, block, {bytes, alignment}, detail::resource_name);
    }

    std::size_t cut_from_active() const noexcept
    {
        return active_ != nullptr ? static_cast<std::size_t>(cursor_ - active_->begin) : 0;
    }

    std::size_t arenas_used() const noexcept { return full_arenas_ + (active_ != nullptr ? 1 : 0); }

    std::byte* cursor_ = nullptr; ///< In the active arena.
    std::byte* end_ = nullptr;
    detail::arena* active_ = nullptr; ///< nullptr until first use, if the initial number of arenas is 0.
    std::size_t full_arenas_ = 0;
    std::size_t bytes_cut_from_full_ = 0;
    std::size_t max_arenas_used_ = 0; ///< The maximum number of full arenas plus the active arena.
    const std::size_t number_of_arenas_;
    const std::size_t bytes_per_arena_;
    detail::arena_chunks chunks_;
};
}} // namespace arena_mr::MEMORY_POOL_ABI
