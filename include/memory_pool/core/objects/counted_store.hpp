// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Stores of intrusively counted objects. One store constructs and destroys an object for each use; the other recycles
/// its objects.
///
///     free -- make: construct -------------> in use -- last reference: destroy --> free          constructing_store
///     free, constructed -- allocate -------> in use -- last reference: reset ----> free          recycling_store
///
/// Thread safety: as `Blocks`.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/counted_object.hpp>
#include <memory_pool/core/objects/object_store.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/core/objects/reference_count.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/pool_options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// True if a `Base*` can be cast to `T*`, which is impossible if the base is virtual.
template <class T, class Base, class = void>
inline constexpr bool is_cast_from = false;
template <class T, class Base>
inline constexpr bool is_cast_from<T, Base, std::void_t<decltype(static_cast<T*>(std::declval<Base*>()))>> = true;

/// The common base of both stores. If `end_runs_code`, calls `Derived::end(T&)` when the last reference is dropped.
template <class Derived, class T, class Blocks>
class counted_store : public object_store<Derived, Blocks>
{
    using item = std::remove_pointer_t<decltype(object_access::item_of(static_cast<T*>(nullptr)))>;

protected:
    // Not private with a friend: GCC would warn about the non-virtual destructor.
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility)
    counted_store(const pool_options& options, std::pmr::memory_resource* upstream, bool end_runs_code)
        : object_store<Derived, Blocks>(way_back(end_runs_code), sizeof(T), with_alignment(alignof(T), options),
                                        upstream)
    {
        static_assert(base::is_nothrow_destructible<T>,
                      "destroying a pooled object must not throw, and its destructor must be public, or "
                      "memory_pool::lifetime_access a friend");
        static_assert(sizeof(T) <= std::numeric_limits<std::uint32_t>::max() / 2,
                      "pooled objects must be smaller than 2 GiB");
    }
    ~counted_store() = default;

    static item& item_in(T& object) noexcept { return object; }

    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }

    /// Records the position of a new object.
    MEMORY_POOL_ALWAYS_INLINE void settle(T* object) const noexcept
    {
        object_access::settle(item_in(*object), pool_access::store(this->blocks).layout());
    }

    static auto& count(T& object) noexcept { return object_access::count(item_in(object)); }

    void set_end_runs_code(bool runs_code) noexcept { this->give_back = way_back(runs_code); }

    /// Makes the object ignore references added and dropped while it ends.
    static void begin_end(T& object) noexcept { count(object).write(reference_zones<std::uint32_t>::idle); }

public:
    static void link(void* block, void* next) noexcept { object_access::link(item_in(*object_in(block)), next); }
    static void* linked(void* block) noexcept { return object_access::linked(item_in(*object_in(block))); }

private:
    /// Selects the function once, instead of at each call.
    static slab_listener::give_back_function way_back(bool end_runs_code) noexcept
    {
        return end_runs_code ? &end_and_take_back : &take_back;
    }

    static T* object_at([[maybe_unused]] const Derived& store, void* counted) noexcept
    {
        item* const part = static_cast<item*>(counted);
        if constexpr (is_cast_from<T, item>) {
            return static_cast<T*>(part);
        } else { // The object is at the beginning of its block.
            const std::size_t stride = pool_access::store(store.blocks).layout().stride();
            const slab& home = object_access::slab_of(*part);
            const auto offset = static_cast<std::size_t>(static_cast<char*>(counted) - home.first_block());
            return object_in(home.block(offset / stride, stride));
        }
    }

    static void take_back(slab_listener& self, void* counted)
    {
        auto& store = static_cast<Derived&>(self);
        give_back_ended(store.blocks, object_at(store, counted));
    }

    static void end_and_take_back(slab_listener& self, void* counted)
    {
        auto& store = static_cast<Derived&>(self);
        store.in_turn(&store, object_at(store, counted), [&store](T* ended) {
            object_access::settle_again(item_in(*ended),
                                        pool_access::store(store.blocks).layout()); // overwrites a link
            begin_end(*ended);
            store.end(*ended);
        });
    }
};

/// A store that constructs and destroys an object for each use.
template <class T, class Blocks>
class constructing_store final : public counted_store<constructing_store<T, Blocks>, T, Blocks>
{
public:
    static constexpr bool keeps_objects = false;
    static constexpr const char* kind = "intrusive_pool";
    static constexpr const char* shared_kind = kind;

    constructing_store(const pool_options& options, std::pmr::memory_resource* upstream)
        : constructing_store::counted_store(options, upstream, !std::is_trivially_destructible_v<T>)
    {
    }

    /// Effects: constructs an object with one reference in `block`, a block of this store.
    /// Throws: exceptions from the constructor. The block is then freed.
    template <class... Arguments>
    MEMORY_POOL_ALWAYS_INLINE T* make_in(void* block, Arguments&&... arguments)
    {
        static_assert(!takes_braces<T, Arguments...>,
                      "give the objects of the pool a constructor for these arguments: braces would have to begin "
                      "with the base, memory_pool::pooled");
        if constexpr (takes_braces<T, Arguments...>)
            return nullptr; // Avoids a second error.
        else {
            base::failure_guard guard([this, block] { give_back_ended(this->blocks, block); });
            T* const object = core::construct_at<T>(block, std::forward<Arguments>(arguments)...);
            guard.succeeded();
            this->count(*object).begin();
            this->settle(object);
            return object;
        }
    }

    void end(T& object) noexcept
    {
        destroy_object(std::addressof(object));
        give_back_ended(this->blocks, std::addressof(object));
    }
};

/// A store that constructs its objects when it grows and recycles them.
template <class T, class Blocks>
class recycling_store final : public recycling_half<counted_store<recycling_store<T, Blocks>, T, Blocks>, T>
{
public:
    static constexpr const char* kind = "recycling_pool";
    static constexpr const char* shared_kind = kind;

    recycling_store(const pool_options& options, std::pmr::memory_resource* upstream, const recycle_action<T>& reset)
        : recycling_store::recycling_half(reset, options, upstream, reset.runs_code())
    {
        static_assert(!base::checked_policy<typename Blocks::policy>::checks,
                      "checking fills free blocks, but here objects live in them: use an "
                      "intrusive_pool to find misuse");
    }

    /// Effects: calls `init(object)` for the object in `block`, a block of this store.
    /// Returns: the object, with one reference.
    /// Throws: exceptions from `init`. The object is then free again, as `init` left it.
    template <class Init>
    MEMORY_POOL_ALWAYS_INLINE T* hand_out(void* block, Init&& init)
    {
        base::block_content_is_kept(block, sizeof(T));
        T* const object = this->object_in(block);
        this->count(*object).write(1);
        base::failure_guard guard([this, object] {
            if (this->count(*object).drop() == dropped::the_last) // Otherwise init kept a pointer to the object.
                this->blocks.deallocate(object);
        });
        std::forward<Init>(init)(*object);
        guard.succeeded();
        return object;
    }

    void end(T& object) noexcept
    {
        this->reset_kept(object);
        // If the hook kept a pointer to the object, the object is in use again.
        if (this->count(object).resume() == 0)
            this->blocks.deallocate(std::addressof(object));
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
