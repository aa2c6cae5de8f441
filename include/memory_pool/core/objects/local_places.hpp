// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The places for handles of a single-threaded pool. shared_places.hpp has the same interface for several threads.
///
///     free:  | generation, even | next free place | nullptr |
///     alive: | generation, odd  |                 | object  |     a handle of this generation finds the object
///
/// Free places are used in LIFO order: the place freed last is likely in the processor's cache, and the table stays
/// short and dense, which makes iteration cheap. FIFO order would take longer to exhaust the generations of a place,
/// but an exhausted place is only lost, not unsafe. The loss is 16 bytes per 2^31 objects.
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/objects/place_table.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The place of an object in a single-threaded pool.
struct local_place
{
    generation_type generation;
    std::uint32_t next_free = 0;
    void* object = nullptr; ///< nullptr while the place is free.
};

/// Places for one thread.
class local_places : place_table<local_place>
{
public:
    using place = local_place;
    using place_table::at, place_table::bytes, place_table::bytes_for, place_table::capacity, place_table::grow,
        place_table::max_capacity, place_table::none, place_table::place_table;

    /// True if the caller of `end_object` always destroys the object.
    static constexpr bool caller_always_destroys = true;

    // One place.

    /// Effects: takes a free place, and stores the index of the place in `index`. `grow(is_needed)` calls the table's
    ///   `grow` if `is_needed()`.
    /// Returns: the place, or nullptr if `grow` returned false.
    /// Throws: exceptions from `grow`.
    template <class Grow>
    MEMORY_POOL_ALWAYS_INLINE place* take(std::uint32_t& index, const void*, Grow&& grow)
    {
        if (MEMORY_POOL_UNLIKELY(free_ == none))
            return take_new(index, grow);
        index = free_;
        place& taken = at(index);
        free_ = taken.next_free;
        return &taken;
    }

    /// Effects: frees a place whose object was destroyed, or never constructed.
    MEMORY_POOL_ALWAYS_INLINE void put_back(place& freed, std::uint32_t index, const void*) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(freed.generation == retired_generation))
            return;
        freed.next_free = std::exchange(free_, index);
    }

    /// Effects: makes the object in the place alive.
    /// Returns: the generation of the object.
    MEMORY_POOL_ALWAYS_INLINE static generation_type begin(place& taken, void* object) noexcept
    {
        taken.object = object;
        return ++taken.generation;
    }

    /// Effects: stores the block of an object for which `begin` is called later.
    static void hold(place& taken, void* block) noexcept { taken.object = block; }

    /// Returns: the block that the place holds.
    static void* held(const place& holding) noexcept { return holding.object; }

    /// Returns: the object, or nullptr if it is not alive.
    MEMORY_POOL_ALWAYS_INLINE void* find(std::uint32_t index, generation_type generation) const noexcept
    {
        const place* const found = find_alive(index, generation);
        return found != nullptr ? found->object : nullptr;
    }

    /// Effects: makes the handles of the object stale, if it is alive. Sets `object` to the object, which the caller
    ///   destroys before freeing the place.
    /// Returns: the place, or nullptr if the object was not alive.
    MEMORY_POOL_ALWAYS_INLINE place* end_object(std::uint32_t index, generation_type generation, void*& object) noexcept
    {
        place* const found = find_alive(index, generation);
        if (found == nullptr)
            return nullptr;
        ++found->generation;
        object = std::exchange(found->object, nullptr);
        return found;
    }

    /// Effects: makes the handles of the object stale, if it is alive. The object stays until `take_object`.
    /// Returns: whether the object was alive.
    bool end_object_later(std::uint32_t index, generation_type generation) noexcept
    {
        place* const found = find_alive(index, generation);
        if (found == nullptr)
            return false;
        ++found->generation;
        return true;
    }

    /// Returns: as place_table::may_have_had.
    bool may_have_had(std::uint32_t index, generation_type generation) const noexcept
    {
        return place_table::may_have_had(index, generation, [](const place& of) { return of.generation; });
    }

    /// Returns: the generation of the place.
    /// Preconditions: as `at`.
    generation_type generation(std::uint32_t index) const noexcept { return at(index).generation; }

    /// Effects: calls `use(object)` for the object in the place, if it is alive.
    template <class Use, class Destroy>
    MEMORY_POOL_ALWAYS_INLINE static void visit(place& visited, Use&& use, Destroy&&)
    {
        if (is_of_object(visited.generation))
            use(visited.object);
    }

    // All places.

    /// Iterates over the places that were in use since `reset`.
    class walk : public place_table::walk
    {
    public:
        /// Effects: advances to the next place.
        /// Returns: whether there is one.
        MEMORY_POOL_ALWAYS_INLINE bool next(const local_places& places) noexcept
        {
            return place_table::walk::next(places, places.end_);
        }

        /// Effects: advances to the next place whose object is alive.
        /// Returns: whether there is one.
        MEMORY_POOL_ALWAYS_INLINE bool next_alive(const local_places& places) noexcept
        {
            while (next(places))
                if (is_of_object(this->place().generation))
                    return true;
            return false;
        }
    };

    /// Effects: makes the handles of the object stale. The object may have been left by `end_object_later` or stored by
    ///   `hold`.
    /// Returns: the object, which the caller destroys before freeing the place; nullptr if there is none.
    static void* take_object(place& taken) noexcept
    {
        if (is_of_object(taken.generation))
            ++taken.generation;
        return std::exchange(taken.object, nullptr);
    }

    /// Effects: makes all handles stale and all places free. Places are used in index order again.
    void reset() noexcept
    {
        for (walk each; each.next(*this);)
            (void)take_object(each.place());
        end_ = 0;
        free_ = none;
    }

    /// Returns: whether exactly `alive` places have an object, and all others are free or retired.
    bool verify(std::size_t alive) const noexcept
    {
        std::size_t free = 0;
        for (walk all; all.next(*this);) {
            const place& each = all.place();
            const bool has_object = each.object != nullptr;
            if (is_of_object(each.generation) != has_object)
                return false;
            alive -= has_object ? 1u : 0u;
            if (!has_object && each.generation != retired_generation)
                ++free;
        }
        for (std::uint32_t index = free_; index != none; index = at(index).next_free)
            if (free-- == 0 || at(index).object != nullptr)
                return false;
        return alive == 0 && free == 0;
    }

private:
    MEMORY_POOL_ALWAYS_INLINE place* find_alive(std::uint32_t index, generation_type generation) const noexcept
    {
        place* const found = place_table::find(index);
        return found != nullptr && found->generation == generation && is_of_object(generation) ? found : nullptr;
    }

    template <class Grow>
    MEMORY_POOL_NOINLINE place* take_new(std::uint32_t& index, Grow&& grow)
    {
        do {
            const auto is_full = [this] { return place_table::find(end_) == nullptr; };
            if (is_full() && !grow(is_full))
                return nullptr;
            index = std::exchange(end_, after(end_));
        } while (generation(index) == retired_generation);
        return &at(index);
    }

    std::uint32_t free_ = none; ///< The free place on top of the stack.
    std::uint32_t end_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
