// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The store of a pool with handles. Each object lies in a block and has a place in a table. Handles refer to places.
///
///     handle { index, generation }  ->  place: | generation | object |  ->  block: | T | index |
///
///     one:   block and place taken -> constructed -> alive
///     many:  all blocks and places taken -> all constructed -> all alive      on failure, back to the start
///
/// Until all objects of a bulk creation are alive, their handles are { index, 0 }, and their places hold the blocks.
///
/// Thread safety: as the blocks, unless stated otherwise.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/pool_handle.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A base of basic_handle_pool. `Blocks` is a pool of blocks, `Places` is local_places or shared_places.
template <class T, class Blocks, class Places>
class handle_store
{
protected:
    using handle = pool_handle<T>;
    using place = typename Places::place;

    handle_store(const pool_options& options, std::pmr::memory_resource* upstream)
        : blocks_(pool_access::make<Blocks>(block_size(), with_alignment(alignof(complete_object<T>), options),
                                            upstream, nullptr)),
          places_(upstream, first_generation())
    {
        pool_access::set_kind(blocks_, "handle_pool", "concurrent_handle_pool");
        reserve_all(options.initial_capacity);
    }

    /// Returns: the object in the block.
    static T* object_in(void* block) noexcept { return laundered<T>(block); }

    static std::uint32_t& index_in(void* block) noexcept
    {
        return *std::launder(static_cast<std::uint32_t*>(base::address_past(block, index_offset())));
    }

    static constexpr std::size_t bytes_for_objects(std::size_t count) noexcept
    {
        return Places::bytes_for(count) + Blocks::bytes_for(count, block_size(), alignof(complete_object<T>));
    }

    // One object.

    /// Constructs an object in `block`; frees the block on failure.
    template <class... Arguments>
    MEMORY_POOL_ALWAYS_INLINE handle construct(void* block, Arguments&&... arguments)
    {
        base::failure_guard guard([this, block] { give_back_ended(blocks_, block); });
        std::uint32_t index = 0;
        place* const taken = take_place(index, block);
        if (MEMORY_POOL_UNLIKELY(taken == nullptr))
            throw_no_place();
        guard.succeeded();
        return construct_in(*taken, index, block, std::forward<Arguments>(arguments)...);
    }

    /// As `construct`, but returns a null handle if there is no block or no place.
    template <class... Arguments>
    handle construct_if(void* block, Arguments&&... arguments) noexcept(is_nothrow_makeable<T, Arguments...>())
    {
        if (block == nullptr)
            return {};
        std::uint32_t index = 0;
        place* const taken = try_take_place(index, block);
        if (taken == nullptr) {
            give_back_ended(blocks_, block);
            return {};
        }
        return construct_in(*taken, index, block, std::forward<Arguments>(arguments)...);
    }

    /// Reports a non-null handle that cannot be from this pool, and returns false for it.
    MEMORY_POOL_ALWAYS_INLINE bool is_of_this(handle given) const noexcept
    {
        if constexpr (checks)
            if (!given.is_null() && !places_.may_have_had(given.index, given.generation)) {
                base::report_foreign_handle(given.index, given.generation, sizeof(T), blocks_.name());
                return false;
            }
        return true;
    }

    /// Returns the object, or nullptr if it was destroyed.
    MEMORY_POOL_ALWAYS_INLINE void* find(handle sought) const noexcept
    {
        return is_of_this(sought) ? places_.find(sought.index, sought.generation) : nullptr;
    }

    /// Makes an object's handles stale. Destroys the object, unless a visitor or `destroy_all_alive` does so later.
    MEMORY_POOL_ALWAYS_INLINE bool destroy_one(handle destroyed) noexcept
    {
        if constexpr (checks)
            if (!pool_access::store(blocks_).note_use(nullptr))
                return false;
        if (!is_of_this(destroyed))
            return false;
        if (MEMORY_POOL_UNLIKELY(is_clearing_))
            return places_.end_object_later(destroyed.index, destroyed.generation);
        void* object = nullptr;
        place* const ended = places_.end_object(destroyed.index, destroyed.generation, object);
        if (ended == nullptr)
            return false;
        if (Places::caller_always_destroys || object != nullptr)
            destroy_now(*ended, destroyed.index, object);
        return true;
    }

    /// Destroys an object whose handles are stale, and frees its place and block.
    MEMORY_POOL_ALWAYS_INLINE void destroy_now(place& ended, std::uint32_t index, void* block) noexcept
    {
        if constexpr (checks)
            report_overflow(index, block);
        destroy_object(object_in(block));
        places_.put_back(ended, index, block);
        give_back_ended(blocks_, block);
    }

    // Many objects.

    /// Allocates blocks and places for `count` objects, all or none.
    /// Throws: as `Blocks::allocate`; pool_exhausted.
    void prepare_many(handle* handles, std::size_t count)
    {
        base::failure_guard refusal([this] { pool_access::count_failure(blocks_); });
        pool_access::check_count(blocks_, count);
        refusal.succeeded();
        std::size_t done = 0;
        base::failure_guard guard([&] { give_back_many(handles, done); });
        while (done != count) {
            block_batch blocks;
            const std::size_t size = std::min(blocks.size(), count - done);
            (void)pool_access::allocate_bulk(blocks_, blocks.data(), size);
            const auto take = [this](std::uint32_t& index, void* block) { return this->take_place(index, block); };
            if (!place_many(blocks, size, handles, done, take))
                throw_no_place();
        }
        guard.succeeded();
    }

    /// Allocates blocks and places for `count` objects, or for as many as possible.
    /// Returns: the number of objects.
    std::size_t try_prepare_many(handle* handles, std::size_t count) noexcept
    {
        std::size_t done = 0;
        while (done != count && is_addressable(count)) {
            block_batch blocks;
            const std::size_t size = std::min(blocks.size(), count - done);
            const std::size_t taken = pool_access::try_allocate_bulk(blocks_, blocks.data(), size);
            const auto take = [this](std::uint32_t& index, void* block) { return this->try_take_place(index, block); };
            if (!place_many(blocks, taken, handles, done, take) || taken != size)
                break;
        }
        return done;
    }

    /// Constructs all prepared objects before making any alive. If a constructor throws, frees all blocks and places.
    template <class... Arguments>
    void construct_many(handle* handles, std::size_t count, const Arguments&... arguments)
    {
        std::size_t made = 0;
        base::failure_guard guard([&] {
            std::for_each(handles, handles + made, [this](handle& each) {
                place& ended = places_.at(each.index);
                destroy_now(ended, std::exchange(each, {}).index, places_.take_object(ended));
            });
            give_back_many(handles + made, count - made);
        });
        for (; made != count; ++made) {
            void* const block = places_.held(places_.at(handles[made].index));
            (void)construct_at<T>(block, arguments...);
            ::new (base::address_past(block, index_offset())) std::uint32_t(handles[made].index);
        }
        guard.succeeded();
        std::for_each(handles, handles + count, [this](handle& each) {
            place& taken = places_.at(each.index);
            each.generation = places_.begin(taken, places_.held(taken));
        });
    }

    /// As `destroy_one` for each handle, but frees the blocks in batches if possible.
    /// Returns: the number of objects that were alive.
    std::size_t destroy_many(const handle* handles, std::size_t count) noexcept
    {
        const auto destroy = [this](handle each) { return this->destroy_one(each); };
        if (checks || is_clearing_)
            return static_cast<std::size_t>(std::count_if(handles, handles + count, destroy));
        std::size_t destroyed = 0;
        while (count != 0) {
            const std::size_t size = std::min(block_batch().size(), count);
            destroyed += destroy_batch(handles, size);
            handles += size;
            count -= size;
        }
        return destroyed;
    }

    // All objects.

    /// Destroys all objects, including those that destructors create during the call. A no-op if such a destructor
    /// calls it.
    void destroy_all_alive() noexcept
    {
        if (std::is_trivially_destructible_v<complete_object<T>> || pool_access::store(blocks_).has_lost_threads()) {
            blocks_.clear();
            places_.reset();
            is_clearing_ = false; // A thread lost in a fork may have set it.
            return;
        }
        if (std::exchange(is_clearing_, true))
            return;
        while (destroy_round())
            continue;
        places_.reset();
        is_clearing_ = false;
    }

    bool is_clearing() const noexcept { return is_clearing_; }

    /// If checks are on, reports a visit by the wrong thread.
    void note_visit() const noexcept
    {
        if constexpr (checks)
            (void)pool_access::store(blocks_).note_use(nullptr);
    }

    /// Reserves places and blocks for `count` objects. Places come first because their size is a multiple of the
    /// alignment of blocks.
    /// Throws: as `Blocks::reserve`; pool_exhausted.
    void reserve_all(std::size_t count)
    {
        pool_access::check_count(blocks_, count);
        if (count > Places::max_capacity() || !grow_places([&] { return places_.capacity() < count; }))
            throw_no_place();
        blocks_.reserve(count);
    }

    std::size_t bytes_of_places() const noexcept
    {
        return pool_access::store(blocks_).with_slabs([this](const slab_store&) { return places_.bytes(); });
    }

    [[noreturn]] MEMORY_POOL_SLOW_PATH void throw_no_place() const
    {
        base::throw_exhausted(blocks_.name(), Places::max_capacity(), block_size());
    }

    Blocks blocks_;
    Places places_;

private:
    static constexpr bool checks = base::checked_policy<typename Blocks::policy>::checks;

    /// Makes handles of different pools distinguishable. The values are multiples of an odd number modulo 2^31: the nth
    /// value is at least 2^31 / 5n away from earlier values.
    static std::uint32_t first_generation() noexcept
    {
        if constexpr (checks) {
            static std::atomic<std::uint32_t> pools{0};
            return (pools.fetch_add(1, std::memory_order_relaxed) * 0x9e37'79b1) & 0x7fff'fffe;
        }
        return 0;
    }

    /// Blocks that are allocated or freed together.
    using block_batch = std::array<void*, 64>;

    /// The index of the place follows the object in the block.
    static constexpr std::size_t index_offset() noexcept
    {
        return base::round_up(sizeof(complete_object<T>), alignof(std::uint32_t));
    }
    static constexpr std::size_t block_size() noexcept { return index_offset() + sizeof(std::uint32_t); }

    /// Grows the table of places while `is_needed()`. If upstream has no memory, trims the blocks and retries.
    /// Returns: false if the table is at its maximum size and still too small.
    template <class IsNeeded>
    bool grow_places(IsNeeded&& is_needed)
    {
        bool is_large_enough = true;
        base::try_again_after(base::by_trimming(blocks_),
                              [&] { is_large_enough = this->try_to_grow_places(is_needed); });
        return is_large_enough;
    }

    /// Grows the table with the lock held because upstream may not be thread-safe.
    template <class IsNeeded>
    bool try_to_grow_places(IsNeeded& is_needed)
    {
        return pool_access::store(blocks_).with_slabs([&](const slab_store&) {
            while (is_needed()) {
                if (!places_.grow())
                    return false;
                pool_access::store(blocks_).entry().set_more_bytes(places_.bytes());
            }
            return true;
        });
    }

    /// Returns: a place; nullptr if the table is at its maximum size.
    MEMORY_POOL_ALWAYS_INLINE place* take_place(std::uint32_t& index, void* block)
    {
        return places_.take(index, block, [this](auto&& is_needed) {
            base::failure_guard guard([this] { pool_access::count_failure(blocks_); });
            if (!this->grow_places(is_needed))
                return false;
            guard.succeeded();
            return true;
        });
    }

    /// Returns: a place; nullptr if none is available.
    place* try_take_place(std::uint32_t& index, void* block) noexcept
    {
        place* taken = nullptr;
        return base::succeeds([&] { taken = take_place(index, block); }) ? taken : nullptr;
    }

    template <class... Arguments>
    MEMORY_POOL_ALWAYS_INLINE handle construct_in(place& taken, std::uint32_t index, void* block,
                                                  Arguments&&... arguments)
    {
        base::failure_guard guard([&] {
            places_.put_back(taken, index, block);
            give_back_ended(blocks_, block);
        });
        (void)construct_at<T>(block, std::forward<Arguments>(arguments)...);
        guard.succeeded();
        ::new (base::address_past(block, index_offset())) std::uint32_t(index);
        return {index, places_.begin(taken, block)};
    }

    /// Takes a place for each of the first `count` blocks and stores its handle in `handles[done++]`. If `take` finds
    /// no place, frees the remaining blocks.
    /// Returns: whether each block has a place.
    template <class Take>
    bool place_many(const block_batch& blocks, std::size_t count, handle* handles, std::size_t& done, Take&& take)
    {
        auto block = blocks.begin();
        const auto end = block + static_cast<std::ptrdiff_t>(count);
        const base::failure_guard guard([&] { // on every exit
            std::for_each(block, end, [this](void* left) { give_back_ended(blocks_, left); });
        });
        for (; block != end; ++block) {
            std::uint32_t index = 0;
            place* const taken = take(index, *block);
            if (taken == nullptr)
                return false;
            places_.hold(*taken, *block);
            handles[done++] = {index, 0};
        }
        return true;
    }

    /// Frees prepared blocks and places.
    void give_back_many(handle* handles, std::size_t count) noexcept
    {
        std::for_each(handles, handles + count, [this](handle& each) {
            place& taken = places_.at(each.index);
            void* const block = places_.take_object(taken);
            places_.put_back(taken, std::exchange(each, {}).index, block);
            give_back_ended(blocks_, block);
        });
    }

    /// Preconditions: `count` is at most the size of a batch.
    std::size_t destroy_batch(const handle* handles, std::size_t count) noexcept
    {
        block_batch freed;
        std::size_t free = 0;
        std::size_t destroyed = 0;
        std::for_each(handles, handles + count, [&](handle each) {
            void* object = nullptr;
            place* const ended = places_.end_object(each.index, each.generation, object);
            destroyed += ended != nullptr ? 1u : 0u;
            if (object == nullptr)
                return;
            destroy_object(object_in(object));
            places_.put_back(*ended, each.index, object);
            freed[free++] = object;
        });
        pool_access::deallocate_bulk(blocks_, freed.data(), free);
        return destroyed;
    }

    MEMORY_POOL_NOINLINE void report_overflow(std::uint32_t index, void* block) noexcept
    {
        if (index_in(block) != index)
            base::report_misuse(error_kind::buffer_overflow, block, sizeof(T), blocks_.name());
        (void)blocks_.check(block);
    }

    /// Destroys all live objects in one pass through the table.
    /// Returns: whether there were any.
    bool destroy_round() noexcept
    {
        bool has_destroyed = false;
        for (typename Places::walk all; all.next(places_);) {
            if (void* const object = places_.take_object(all.place())) {
                destroy_now(all.place(), all.index(), object);
                has_destroyed = true;
            }
        }
        return has_destroyed;
    }

    bool is_clearing_ = false;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
