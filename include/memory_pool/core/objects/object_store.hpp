// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The store of reference-counted objects. It outlives its pool until its last object is gone.
///
///     pool ----owns----> object_store [ blocks ] <----find---- objects in use
///
///     abandoned (the pool is gone):    survivors = objects in use     0: the store is deleted
///
/// While the pool lives, the store does not count objects. When the pool abandons the store, the store counts the
/// objects in use once; from then on each returning object decrements the count.
///
/// Thread safety: as `Blocks`.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/core/objects/release_scope.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_listener.hpp>
#include <memory_pool/pool_options.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Contains the blocks of the objects, and keeps them after the pool is gone. `Derived` defines
///   - `keeps_objects`: whether free blocks contain objects,
///   - `destroy_kept(block)`: destroys the object in such a block,
///   - `link(block, next)`: stores `next` in an object that is pending destruction,
///   - `linked(block)`: returns that link.
template <class Derived, class Blocks>
class object_store : public slab_listener
{
public:
    /// The blocks. After the pool is gone, the last block to return deletes the store.
    Blocks blocks;

    const pool_options& options() const noexcept { return options_; }

    /// Effects: returns slabs without objects in use. If an object's destructor makes the pool abandon the store, the
    ///   store defers this to the end of the call, so that objects owned by destroyed objects are not reported as
    ///   leaks.
    /// Returns: the number of bytes returned.
    std::size_t trim() noexcept { return do_trim(); }

    /// Effects: reports objects in use as leaks if the policy demands it. Deletes the store when the last object has
    ///   returned.
    /// Preconditions: no objects are requested afterwards.
    void abandon() noexcept { do_abandon(true); }

    /// Effects: as `abandon`, without a report.
    void abandon_silently() noexcept { do_abandon(false); }

    /// Deletes a store abandoned by its pool.
    struct abandoner
    {
        void operator()(object_store* store) const noexcept { store->abandon(); }
    };

protected:
    // Not private with a friend: GCC would warn about the non-virtual destructor.
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility)
    object_store(give_back_function function, std::size_t block_size, const pool_options& options,
                 std::pmr::memory_resource* upstream)
        : slab_listener(function, Derived::keeps_objects),
          blocks(pool_access::make<Blocks>(block_size, options, upstream, this)), options_(options)
    {
        pool_access::set_kind(blocks, Derived::kind, Derived::shared_kind);
    }
    ~object_store() = default;

    /// Effects: calls `end(object)`, now or, if another object of this `scope` is ending in this thread, after that.
    template <class Object, class End>
    MEMORY_POOL_ALWAYS_INLINE static void in_turn(const void* scope, Object* object, End&& end)
    {
        end_in_turn(
            scope, object, std::forward<End>(end), [](Object* waiting, void* next) { Derived::link(waiting, next); },
            [](Object* waiting) { return Derived::linked(waiting); });
    }

private:
    using way_to_abandon = void (object_store::*)() noexcept;

    // Virtual, so that calls run in the shared library that created the store. The objects end there, too, and each
    // library with hidden symbols has its own innermost_release_scope.
    virtual std::size_t do_trim() noexcept
    {
        if (is_trimming()) // Called by the destructor of an object.
            return blocks.trim();
        std::size_t bytes = 0;
        {
            const release_scope trimming(scope_of_trim());
            bytes = blocks.trim();
        }
        if (abandon_after_trim_ != nullptr)
            (this->*abandon_after_trim_)(); // This may delete the store.
        return bytes;
    }

    virtual void do_abandon(bool reports_leaks) noexcept
    {
        after_trim(reports_leaks ? &object_store::report_leaks_and_abandon : &object_store::abandon_now);
    }

    Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    /// Effects: destroys the store and frees its memory.
    void destroy() noexcept
    {
        std::pmr::memory_resource* const upstream = blocks.upstream_resource();
        Derived& store = derived();
        store.~Derived();
        upstream->deallocate(&store, sizeof(Derived), alignof(Derived));
    }

    void add_blocks(slab& home, std::size_t count, std::size_t) override { home.extend(count); }
    void leave(slab& leaving, std::size_t stride) noexcept override
    {
        if constexpr (Derived::keeps_objects)
            for (std::size_t i = leaving.block_count(); i-- != 0;)
                destroy_kept_in(leaving.block(i, stride));
    }

    void destroy_kept_in(void* block) noexcept
    {
        base::permit_access(block, blocks.block_size());
        derived().destroy_kept(block);
    }

    /// The key of the release_scope while a thread trims.
    const void* scope_of_trim() const noexcept { return &options_; }

    bool is_trimming() const noexcept { return release_scope::of(scope_of_trim()) != nullptr; }

    void after_trim(way_to_abandon way) noexcept
    {
        if (is_trimming())
            abandon_after_trim_ = way;
        else
            (this->*way)();
    }

    void report_leaks_and_abandon() noexcept
    {
        const std::size_t in_use = end_idle_objects();
        const std::size_t returned = not_counted_yet - survivors_.load();
        const release_scope* const ending = release_scope::of(this); // Its objects are in use, but not referenced.
        const std::size_t unreferenced = returned + (ending != nullptr ? ending->objects : 0);
        if (in_use > unreferenced)
            report_leak(in_use - unreferenced);
        count_survivors(in_use);
    }

    void abandon_now() noexcept { count_survivors(end_idle_objects()); }

    /// Returns: the number of objects in use before the call. Objects owned by idle objects may return during the call.
    std::size_t end_idle_objects() noexcept
    {
        const std::size_t in_use = pool_access::store(blocks).abandon();
        if constexpr (Derived::keeps_objects)
            pool_access::store(blocks).for_each_free([this](void* block) { destroy_kept_in(block); });
        return in_use;
    }

    /// Before this call, survivors_ is too large for returning objects to decrement it to 0.
    void count_survivors(std::size_t in_use) noexcept
    {
        const std::size_t excess = not_counted_yet - in_use;
        if (survivors_.fetch_sub(excess, std::memory_order_acq_rel) == excess)
            destroy();
    }

    void survivor_returned(void* block) noexcept override
    {
        if constexpr (!Derived::keeps_objects) {
            count_off();
        } else {
            base::permit_access(block, blocks.block_size());
            // This is not the store's scope: an object that returns here may still be ending in the store's scope.
            in_turn(&survivors_, block, [this](void* ended) {
                derived().destroy_kept(ended);
                count_off();
            });
        }
    }

    /// Decrements the number of survivors. The last survivor deletes the store.
    void count_off() noexcept
    {
        if (survivors_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            destroy();
    }

    void report_leak(std::size_t count) noexcept
    {
        constexpr outliving allowed = base::outliving_of<typename Blocks::policy>;
        if constexpr (allowed != outliving::allowed) {
            pool_access::store(blocks).observe_end(count, true);
            const base::message text = base::leak_message(count, blocks.block_size(), blocks.name());
            if constexpr (allowed == outliving::fatal)
                base::report({error_kind::leak, nullptr, blocks.block_size(), blocks.name(), text.c_str()});
            else
                base::print(text.c_str());
        }
    }

    static constexpr std::size_t not_counted_yet = std::numeric_limits<std::size_t>::max() / 2;

    pool_options options_;
    std::atomic<std::size_t> survivors_{not_counted_yet};
    way_to_abandon abandon_after_trim_ = nullptr;
};

/// The common base of stores that construct their objects when they grow, and recycle them. `Base` provides everything
/// else.
template <class Base, class T>
class recycling_half : public Base
{
public:
    static constexpr bool keeps_objects = true;

    const recycle_action<T>& reset() const noexcept { return reset_; }
    void set_reset(recycle_action<T> reset) noexcept
    {
        reset_ = std::move(reset);
        this->set_end_runs_code(reset_.runs_code());
    }

    void destroy_kept(void* block) noexcept
    {
        T* const object = this->object_in(block);
        this->begin_end(*object);
        destroy_object(object);
    }

protected:
    template <class... Arguments>
    explicit recycling_half(const recycle_action<T>& reset, Arguments&&... arguments)
        : Base(std::forward<Arguments>(arguments)...), reset_(reset)
    {
    }
    ~recycling_half() = default;

    void reset_kept(T& object) noexcept { reset_object(reset_, object, this->blocks.name()); }

private:
    /// If a constructor throws, keeps the blocks added so far.
    void add_blocks(slab& home, std::size_t count, std::size_t stride) override
    {
        for (; count != 0; --count) {
            this->settle(lifetime_access::construct<T>(home.block(home.block_count(), stride)));
            home.extend(1);
        }
    }

    recycle_action<T> reset_;
};

/// The pool's ownership of its store.
template <class Store>
using object_store_owner = std::unique_ptr<Store, typename Store::abandoner>;

/// Effects: creates a store with `options.initial_capacity` objects in memory from `upstream`.
/// Throws: std::invalid_argument on invalid options; exceptions from upstream or a constructor. On failure all memory
///   is freed.
template <class Store, class... Arguments>
object_store_owner<Store> make_object_store(const pool_options& options, std::pmr::memory_resource* upstream,
                                            Arguments&&... arguments)
{
    check_upstream(upstream, name_in(options));
    void* const memory = allocate_upstream(upstream, sizeof(Store), alignof(Store), name_in(options));
    base::failure_guard guard([&] { upstream->deallocate(memory, sizeof(Store), alignof(Store)); });
    object_store_owner<Store> owner(::new (memory) Store(options, upstream, std::forward<Arguments>(arguments)...));
    guard.succeeded();
    if (options.initial_capacity != 0)
        owner->blocks.reserve(options.initial_capacity);
    return owner;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
