// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The places for handles of a pool that threads share. local_places.hpp has the same interface for one thread.
///
///     word: | visitors, 32 bits | generation, 32 bits |
///
///     visit:    if the handle has this generation: visitors + 1, by compare-exchange. The object cannot be destroyed
///     destroy:  if the handle has this generation: generation + 1. All handles of the object are stale
///
///     If destroy finds no visitors, its caller destroys the object and frees the place; otherwise the last visitor to
///     leave does so.
///
/// Threads that visit an object share only the word. Free places are on several stacks, selected by the address of the
/// object's block: threads usually allocate blocks from different pages, so they rarely use the same stack.
///
/// Thread safety: any thread, unless stated otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/core/objects/place_table.hpp>
#include <memory_pool/core/threads/tagged_stack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The place of an object that threads share.
struct shared_place
{
    std::atomic<std::uint64_t> word;
    std::atomic<void*> object{nullptr}; ///< nullptr while the place is free.
    stack_node free{};
};

/// Places for several threads.
class shared_places : place_table<shared_place>
{
public:
    using place = shared_place;
    using place_table::at, place_table::bytes, place_table::bytes_for, place_table::capacity, place_table::grow,
        place_table::max_capacity, place_table::place_table;

    /// True if the caller of `end_object` always destroys the object.
    static constexpr bool caller_always_destroys = false;

    // One place.

    /// Effects: takes a free place for the object in `block`, and stores the index of the place in `index`.
    ///   `grow(is_needed)` calls the table's `grow` if `is_needed()`, in one thread at a time.
    /// Returns: the place, or nullptr if `grow` returned false.
    /// Throws: exceptions from `grow`.
    template <class Grow>
    place* take(std::uint32_t& index, const void* block, Grow&& grow)
    {
        if (MEMORY_POOL_LIKELY(stack_for(block).pop(index, node_at{*this})) || take_from_any_stack(index))
            return &at(index);
        return take_new(index, grow);
    }

    /// Effects: frees a place whose object was destroyed, or never constructed.
    void put_back(place& freed, std::uint32_t index, const void* block) noexcept
    {
        if (MEMORY_POOL_LIKELY(generation_of(freed) != retired_generation))
            stack_for(block).push(index, node_at{*this});
    }

    /// Effects: makes the object in the place alive.
    /// Returns: the generation of the object.
    static generation_type begin(place& taken, void* object) noexcept
    {
        const generation_type generation = generation_of(taken) + 1;
        taken.object.store(object, std::memory_order_relaxed);
        MEMORY_POOL_DELAY_POINT();
        taken.word.store(generation, std::memory_order_release); // publishes the object
        return generation;
    }

    /// Effects: stores the block of an object for which `begin` is called later.
    static void hold(place& taken, void* block) noexcept { taken.object.store(block, std::memory_order_relaxed); }

    /// Returns: the block that the place holds.
    static void* held(const place& holding) noexcept { return holding.object.load(std::memory_order_relaxed); }

    /// Returns: the object, or nullptr if it is not alive.
    MEMORY_POOL_ALWAYS_INLINE void* find(std::uint32_t index, generation_type generation) const noexcept
    {
        const place* const found = place_table::find(index);
        return found != nullptr && is_alive(found->word.load(std::memory_order_acquire), generation)
                   ? found->object.load(std::memory_order_relaxed)
                   : nullptr;
    }

    /// Effects: makes the handles of the object stale, if it is alive. Sets `object` to the object if the caller must
    ///   destroy it and then free the place, or to nullptr if the last visitor will.
    /// Returns: the place, or nullptr if the object was not alive.
    place* end_object(std::uint32_t index, generation_type generation, void*& object) noexcept
    {
        place* const found = place_table::find(index);
        if (found == nullptr)
            return nullptr;
        std::uint64_t word = found->word.load(std::memory_order_relaxed);
        do {
            if (!is_alive(word, generation))
                return nullptr;
            MEMORY_POOL_DELAY_POINT();
        } while (
            !found->word.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel, std::memory_order_relaxed));
        object = visitors_in(word) == 0 ? object_of_ended(*found) : nullptr;
        return found;
    }

    /// Effects: makes the handles of the object stale, if it is alive. The object stays until `take_object`.
    /// Returns: whether the object was alive.
    /// Thread safety: no other thread uses the places.
    // NOLINTNEXTLINE(readability-make-member-function-const): it changes a place
    bool end_object_later(std::uint32_t index, generation_type generation) noexcept
    {
        if (find(index, generation) == nullptr)
            return false;
        (void)at(index).word.fetch_add(1, std::memory_order_relaxed);
        return true;
    }

    /// Returns: as place_table::may_have_had.
    bool may_have_had(std::uint32_t index, generation_type generation) const noexcept
    {
        return place_table::may_have_had(index, generation, generation_of);
    }

    /// Returns: the generation of the place.
    /// Preconditions: as `at`.
    generation_type generation(std::uint32_t index) const noexcept { return generation_of(at(index)); }

    /// Effects: calls `use(object)` if the object is alive, and keeps the object alive until `use` returns. If the
    ///   handles become stale during the visit and this is the last visitor, calls `destroy(place, object)`, which
    ///   destroys the object and frees the place.
    /// Returns: whether the object was alive.
    template <class Use, class Destroy>
    bool visit(std::uint32_t index, generation_type generation, Use&& use, Destroy&& destroy)
    {
        place* const found = place_table::find(index);
        return found != nullptr && visit_object(*found, generation, use, destroy);
    }

    /// Effects: as the other overload, for the object in the place, if any.
    template <class Use, class Destroy>
    static void visit(place& visited, Use&& use, Destroy&& destroy)
    {
        (void)visit_object(visited, generation_of(visited), use, destroy);
    }

    // All places.

    /// Iterates over the places that were in use since `reset`.
    class walk : public place_table::walk
    {
    public:
        /// Effects: advances to the next place.
        /// Returns: whether there is one.
        bool next(const shared_places& places) noexcept
        {
            return place_table::walk::next(places, places.end_.load(std::memory_order_acquire));
        }
    };

    /// Effects: makes the handles of the object stale. The object may have been left by `end_object_later` or stored by
    ///   `hold`.
    /// Returns: the object, which the caller destroys before freeing the place; nullptr if there is none.
    /// Thread safety: no other thread uses the places, or the place holds a block.
    static void* take_object(place& taken) noexcept
    {
        const generation_type seen = generation_of(taken);
        taken.word.store(is_of_object(seen) ? seen + 1 : seen, std::memory_order_relaxed);
        return object_of_ended(taken);
    }

    /// Effects: makes all handles stale and all places free. Places are used in index order again.
    /// Thread safety: no other thread uses the places.
    void reset() noexcept
    {
        for (walk each; each.next(*this);)
            (void)take_object(each.place());
        end_.store(0, std::memory_order_relaxed);
        for (stripe& each : free_)
            each.stack.clear();
    }

    /// Returns: whether exactly `alive` places have an object, and all others are free or retired.
    /// Thread safety: no other thread uses the places.
    bool verify(std::size_t alive) const noexcept
    {
        std::size_t free = 0;
        for (walk all; all.next(*this);) {
            const place& each = all.place();
            const bool has_object = each.object.load(std::memory_order_relaxed) != nullptr;
            if (is_of_object(generation_of(each)) != has_object ||
                visitors_in(each.word.load(std::memory_order_relaxed)) != 0)
                return false;
            alive -= has_object ? 1u : 0u;
            if (!has_object && generation_of(each) != retired_generation)
                ++free;
        }
        for (const stripe& each : free_)
            free -= each.stack.size(node_at{*this});
        return alive == 0 && free == 0;
    }

private:
    static constexpr std::uint64_t one_visitor = std::uint64_t{1} << 32;

    static constexpr generation_type generation_in(std::uint64_t word) noexcept
    {
        return static_cast<generation_type>(word);
    }
    static constexpr std::uint64_t visitors_in(std::uint64_t word) noexcept { return word / one_visitor; }
    static constexpr bool is_alive(std::uint64_t word, generation_type generation) noexcept
    {
        return generation_in(word) == generation && is_of_object(generation);
    }
    static generation_type generation_of(const place& of) noexcept
    {
        return generation_in(of.word.load(std::memory_order_relaxed));
    }

    template <class Use, class Destroy>
    static bool visit_object(place& visited, generation_type generation, Use&& use, Destroy&& destroy)
    {
        if (!enter(visited, generation))
            return false;
        const base::failure_guard leaving([&]() noexcept { // on every exit
            if (void* const ended = leave(visited))
                destroy(visited, ended);
        });
        use(visited.object.load(std::memory_order_relaxed));
        return true;
    }

    /// Counts this visitor, if the object is alive.
    /// Returns: whether the object is alive.
    static bool enter(place& visited, generation_type generation) noexcept
    {
        std::uint64_t word = visited.word.load(std::memory_order_relaxed);
        do {
            if (!is_alive(word, generation))
                return false;
            MEMORY_POOL_DELAY_POINT();
        } while (!visited.word.compare_exchange_weak(word, word + one_visitor, std::memory_order_acquire,
                                                     std::memory_order_relaxed));
        return true;
    }

    /// Returns: the object, if its handles became stale and this was the last visitor; otherwise nullptr.
    static void* leave(place& visited) noexcept
    {
        const std::uint64_t word = visited.word.fetch_sub(one_visitor, std::memory_order_acq_rel) - one_visitor;
        const bool is_last_of_ended = visitors_in(word) == 0 && !is_of_object(generation_in(word));
        return MEMORY_POOL_UNLIKELY(is_last_of_ended) ? object_of_ended(visited) : nullptr;
    }

    static void* object_of_ended(place& ended) noexcept
    {
        MEMORY_POOL_DELAY_POINT();
        void* const object = ended.object.load(std::memory_order_relaxed);
        ended.object.store(nullptr, std::memory_order_relaxed);
        return object;
    }

    struct node_at
    {
        const place_table& table;
        stack_node& operator()(std::uint32_t index) const noexcept { return table.at(index).free; }
    };

    using free_stack = tagged_stack<publishing_orders, 32>;
    static_assert(none <= free_stack::max_nodes);

    struct alignas(cache_line_size) stripe
    {
        free_stack stack;
    };

    /// Always maps a block to the same stack, which therefore usually has the place that the block freed last.
    free_stack& stack_for(const void* block) noexcept
    {
        constexpr std::uintptr_t page = 4096;
        return free_[reinterpret_cast<std::uintptr_t>(block) / page % free_.size()].stack;
    }

    /// Limits the number of places used to the peak number of live objects.
    MEMORY_POOL_NOINLINE bool take_from_any_stack(std::uint32_t& index) noexcept
    {
        return std::any_of(free_.begin(), free_.end(),
                           [&](stripe& each) { return each.stack.pop(index, node_at{*this}); });
    }

    template <class Grow>
    MEMORY_POOL_NOINLINE place* take_new(std::uint32_t& index, Grow&& grow)
    {
        do {
            index = end_.load(std::memory_order_relaxed);
            do {
                if (place_table::find(index) == nullptr && !grow([&] { return place_table::find(index) == nullptr; }))
                    return nullptr;
                MEMORY_POOL_DELAY_POINT();
            } while (
                !end_.compare_exchange_weak(index, after(index), std::memory_order_acq_rel, std::memory_order_relaxed));
        } while (generation(index) == retired_generation);
        return &at(index);
    }

    alignas(cache_line_size) std::array<stripe, 16> free_;
    std::atomic<std::uint32_t> end_{0};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
