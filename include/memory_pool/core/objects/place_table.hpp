// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The table of places for the handles of a pool. It only grows, and places never move, so a handle can be looked up
/// without a lock while another thread grows the table.
///
///     chunk 0: 64 places    chunk 1: 128 places    chunk 2: 256 places    ...    fewer if upstream is short
///
///     index of a place: | place in the chunk, 27 bits | chunk, 5 bits |
///
/// Finding a place needs neither a search nor an instruction that finds the highest bit. Iteration visits one chunk
/// after another (see `after`), so the indices do not increase monotonically.
///
/// The table keeps its chunks until it is destroyed, so that generations outlive the memory of the objects.
///
/// Thread safety: any thread may look up places. Only one thread at a time may grow the table.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Distinguishes the successive objects of a place. Odd while an object is alive, even before and after.
using generation_type = std::uint32_t;

/// Returns: whether the generation belongs to a live object.
constexpr bool is_of_object(generation_type generation) noexcept
{
    return generation % 2 != 0;
}

/// The last generation of a place. After 2^31 - 1 objects, the place is not used again, so handles stay unique.
inline constexpr generation_type retired_generation = 0xffff'fffe;

/// A table of up to `ChunkLimit` chunks of places. A `Place` begins with its generation.
template <class Place, unsigned ChunkLimit = 22>
class place_table : base::immovable<place_table<Place, ChunkLimit>>
{
public:
    /// An index that no place has.
    static constexpr std::uint32_t none = 0xffff'ffff;

    /// Effects: constructs an empty table. Chunks will be allocated from `upstream`, with `first` as the generation of
    ///   new places.
    explicit place_table(std::pmr::memory_resource* upstream, generation_type first = 0) noexcept
        : first_generation_(first), upstream_(upstream)
    {
    }

    /// Effects: returns all memory to upstream.
    ~place_table()
    {
        static_assert(std::is_trivially_destructible_v<Place>);
        for (unsigned number = 0; number != chunk_count_; ++number)
            upstream_->deallocate(chunk(number), places_of_chunk(number) * sizeof(Place), alignment);
    }

    /// Returns: the place, or nullptr if the table has no such index.
    MEMORY_POOL_ALWAYS_INLINE Place* find(std::uint32_t index) const noexcept
    {
        const unsigned number = chunk_of(index);
        const std::uint32_t place = index / max_chunks;
        return MEMORY_POOL_LIKELY(place < places_of_chunk(number)) ? chunk(number) + place : nullptr;
    }

    /// Returns: the place.
    /// Preconditions: the table has this index.
    MEMORY_POOL_ALWAYS_INLINE Place& at(std::uint32_t index) const noexcept
    {
        Place* const place = find(index);
        MEMORY_POOL_ASSUME(place != nullptr);
        return *place;
    }

    /// Effects: adds a chunk, which doubles the table. If upstream is short of memory, tries smaller chunks, down to an
    ///   eighth of that size.
    /// Returns: whether a chunk was added; false if the table has `ChunkLimit` chunks.
    /// Throws: exceptions from upstream. On failure nothing changes.
    /// Thread safety: one thread at a time.
    bool grow()
    {
        if (chunk_count_ == ChunkLimit)
            return false;
        const deferred_callbacks deferred;
        const std::size_t usual = std::size_t{1} << (bits_of_first_chunk + chunk_count_);
        for (std::size_t count = usual; places_of_chunk(chunk_count_) == 0; count /= 2)
            base::try_to([&] { add_chunk(count); }, [=] { return count > usual / 8; });
        ++chunk_count_;
        return true;
    }

    /// Returns: the index of the place that follows `index`. That place may not exist yet. The first index is 0.
    /// Preconditions: as `at`.
    std::uint32_t after(std::uint32_t index) const noexcept
    {
        const bool is_last = index / max_chunks + 1 == places_of_chunk(chunk_of(index));
        return is_last ? chunk_of(index) + 1 : index + max_chunks;
    }

    /// Iterates over places in the order of `after`. Cheaper than looking up each place.
    class walk
    {
    public:
        /// Effects: advances to the first or the next place.
        /// Returns: whether its index is not `end`.
        /// Preconditions: the last `next` returned true, and the places before `end` are in the table.
        MEMORY_POOL_ALWAYS_INLINE bool next(const place_table& table, std::uint32_t end) noexcept
        {
            if (MEMORY_POOL_UNLIKELY(place_ == last_)) {
                go_to_next_chunk(table);
            } else {
                ++place_;
                index_ += max_chunks;
            }
            return index_ != end;
        }

        /// Preconditions: the last `next` returned true.
        Place& place() const noexcept { return *place_; }

        /// Returns: the index of the place; before the first `next`, `none`.
        std::uint32_t index() const noexcept { return index_; }

    private:
        void go_to_next_chunk(const place_table& table) noexcept
        {
            static_assert(chunk_of(none) == max_chunks - 1); // so that the first chunk comes next
            const unsigned number = (chunk_of(index_) + 1) % max_chunks;
            index_ = number;
            place_ = table.find(index_);
            last_ = place_ != nullptr ? place_ + (table.places_of_chunk(number) - 1) : nullptr;
        }

        Place* place_ = nullptr;
        Place* last_ = nullptr; ///< The last place of the chunk.
        std::uint32_t index_ = none;
    };

    /// Returns: whether the place may have reached this generation. Allows a few generations more than the place has
    ///   now because this thread may see an old value. `of(place)` returns the generation of a place.
    template <class GenerationOf>
    bool may_have_had(std::uint32_t index, generation_type generation, GenerationOf&& of) const noexcept
    {
        constexpr std::uint64_t soon = 256;
        const Place* const place = find(index);
        const generation_type latest = place != nullptr ? of(*place) : first_generation_;
        return generation - first_generation_ <= std::uint64_t{latest - first_generation_} + soon;
    }

    /// Returns: the number of places.
    /// Thread safety: as `grow`.
    std::size_t capacity() const noexcept { return capacity_; }

    /// Returns: bytes allocated from upstream.
    /// Thread safety: as `grow`.
    std::size_t bytes() const noexcept { return capacity() * sizeof(Place); }

    /// Returns: the maximum number of places.
    static constexpr std::size_t max_capacity() noexcept { return usual_places(ChunkLimit); }

    /// Returns: the size in bytes of a table for `count` places.
    static constexpr std::size_t bytes_for(std::size_t count) noexcept
    {
        unsigned chunks = 0;
        while (usual_places(chunks) < count && chunks != ChunkLimit)
            ++chunks;
        return usual_places(chunks) * sizeof(Place);
    }

private:
    static constexpr unsigned max_chunks = 32;
    static constexpr unsigned bits_of_first_chunk = 6;
    static constexpr std::size_t alignment = cache_line_size;
    static_assert(ChunkLimit + bits_of_first_chunk <= 28 && alignof(Place) <= alignment);

    static constexpr unsigned chunk_of(std::uint32_t index) noexcept { return index % max_chunks; }

    /// Returns: the number of places in `chunks` chunks, unless upstream was short of memory.
    static constexpr std::size_t usual_places(unsigned chunks) noexcept
    {
        return ((std::size_t{1} << chunks) - 1) << bits_of_first_chunk;
    }

    void add_chunk(std::size_t count)
    {
        auto* const places = static_cast<Place*>(allocate_upstream(upstream_, count * sizeof(Place), alignment));
        for (std::size_t place = 0; place != count; ++place)
            ::new (places + place) Place{first_generation_};
        chunks_[chunk_count_].store(places, std::memory_order_relaxed);
        sizes_[chunk_count_].store(static_cast<std::uint32_t>(count), std::memory_order_release);
        capacity_ += count;
    }

    /// Returns: the number of places in the chunk; 0 if the chunk does not exist.
    MEMORY_POOL_ALWAYS_INLINE std::uint32_t places_of_chunk(unsigned number) const noexcept
    {
        return sizes_[number].load(std::memory_order_acquire);
    }

    MEMORY_POOL_ALWAYS_INLINE Place* chunk(unsigned number) const noexcept
    {
        return chunks_[number].load(std::memory_order_relaxed);
    }

    std::array<std::atomic<std::uint32_t>, max_chunks> sizes_{};
    std::array<std::atomic<Place*>, max_chunks> chunks_{};
    std::size_t capacity_ = 0;
    unsigned chunk_count_ = 0; ///< Accessed by the thread that grows the table.
    const generation_type first_generation_;
    std::pmr::memory_resource* upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
