// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Stores of objects that std::shared_ptr holds. Object and control block lie in one block:
///
///     +----------+------+---------------+
///     | object T | node | control block |     the control block is what the standard library makes of it
///     +----------+------+---------------+
///
///     last shared_ptr gone: object destroyed, or reset        last weak_ptr gone too: block back
///
/// How large the standard library's control block is, is found out by having one made, once for each type.
///
/// Thread safety: that of `Blocks`.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/pool_options.hpp>
#include <memory_pool/core/construct.hpp>
#include <memory_pool/core/item_store.hpp>
#include <memory_pool/core/recycle_action.hpp>
#include <memory_pool/core/slab.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool::core
{
/// Between the two.
struct shared_node
{
    // What the block has not to wait for any more.
    static constexpr std::uintptr_t object_is_gone = 1;
    static constexpr std::uintptr_t control_is_gone = 2;

    void* store;                       ///< Whose the object is.
    std::atomic<std::uintptr_t> state; ///< Those; and while the object waits for its end, a link: see release_scope.

    explicit shared_node(void* its_store) noexcept : store(its_store), state(0) {}

    /// Effects: notes that the object, or the control block, is gone.
    /// Returns: whether the other one was gone before.
    bool note(std::uintptr_t what) noexcept
    {
        const std::uintptr_t other = (object_is_gone | control_is_gone) ^ what;
        return (state.fetch_or(what, std::memory_order_acq_rel) & other) != 0;
    }

    void link(void* next) noexcept { state.store(reinterpret_cast<std::uintptr_t>(next), std::memory_order_relaxed); }

    void* linked() const noexcept
    {
        const std::uintptr_t bits = state.load(std::memory_order_relaxed);
        return reinterpret_cast<void*>(bits & ~(object_is_gone | control_is_gone));
    }
};

/// Whether a `T` gets a weak_ptr to itself.
template <class T, class = void>
struct knows_itself : std::false_type
{
};
template <class T>
struct knows_itself<T, std::void_t<decltype(std::declval<T&>().weak_from_this())>> : std::true_type
{
};

/// Objects that are constructed and destroyed at each use, or, if `Keeps`, constructed once.
template <class T, class Blocks, bool Keeps>
class shared_items final : public item_store<shared_items<T, Blocks, Keeps>, Blocks>
{
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                  "a pool is for objects of one type, which may be held by std::shared_ptr<const T>");
    static_assert(
        !Keeps || !knows_itself<T>::value,
        "an object that derives from std::enable_shared_from_this holds a weak_ptr to itself, so it would never "
        "be free again: use a shared_pool");
    static_assert(std::is_nothrow_destructible_v<T>, "destroying a pooled object must not throw");
    static_assert(!Keeps || std::is_default_constructible_v<T>,
                  "objects that are kept are made before anybody asks for one: give them a default constructor");
    static_assert(!Keeps || !Blocks::policy::checks,
                  "checking fills free blocks, but here objects live in them: use a shared_pool to find misuse");

    using base_type = item_store<shared_items, Blocks>;
    friend base_type;

public:
    static constexpr bool keeps_objects = Keeps;

    shared_items(const pool_options& options, std::pmr::memory_resource* upstream,
                 recycle_action<T> reset = recycle_action<T>(recycle::nothing))
        : base_type(nullptr, block_bytes(), aligned(options), upstream), reset_(std::move(reset))
    {
    }

    const recycle_action<T>& reset() const noexcept { return reset_; }
    void set_reset(recycle_action<T> reset) noexcept { reset_ = std::move(reset); }

    /// Returns: a pointer to an object made in a block of this store.
    /// Throws: what the constructor throws; the block is back then.
    template <class... Arguments>
    std::shared_ptr<T> make_in(void* block, Arguments&&... arguments)
    {
        base::failure_guard guard([this, block] { this->blocks.deallocate(block); });
        T* const object = core::construct_at<T>(block, std::forward<Arguments>(arguments)...);
        guard.succeeded();
        return share(object);
    }

    /// Returns: a pointer to the object in a block of this store, after `init(object)`.
    /// Throws: what `init` throws; the object is back then, as init has left it.
    template <class Init>
    std::shared_ptr<T> hand_out(void* block, Init&& init)
    {
        base::block_content_is_kept(block, sizeof(T));
        base::failure_guard guard([this, block] { this->blocks.deallocate(block); });
        T* const object = object_in(block);
        std::forward<Init>(init)(*object);
        guard.succeeded();
        return share(object);
    }

private:
    /// What the control block calls when the last shared_ptr is gone.
    struct deleter
    {
        void operator()(T* object) const noexcept
        {
            if (object != nullptr) // There is none when the size is found out.
                store_of(object).object_released(object);
        }
    };

    /// Where the control block lies.
    template <class U>
    struct allocator
    {
        using value_type = U;

        explicit allocator(void* its_block) noexcept : block(its_block) {}
        template <class V>
        allocator(const allocator<V>& other) noexcept : block(other.block)
        {
        }

        U* allocate(std::size_t)
        {
            static_assert(alignof(U) <= alignof(std::max_align_t));
            if (block != nullptr)
                return reinterpret_cast<U*>(static_cast<char*>(block) + control_offset);
            alignas(U) static std::byte memory[sizeof(U)];
            control_bytes = sizeof(U);
            return reinterpret_cast<U*>(memory);
        }

        void deallocate(U*, std::size_t) noexcept
        {
            if (block != nullptr)
                store_of(block).control_released(block);
        }

        friend bool operator==(const allocator& a, const allocator& b) noexcept { return a.block == b.block; }
        friend bool operator!=(const allocator& a, const allocator& b) noexcept { return a.block != b.block; }

        void* block; ///< nullptr: only the size is asked for, and goes to `control_bytes`.
    };

    static inline std::size_t control_bytes = 0; ///< Written to once.

    static constexpr std::size_t node_offset = base::round_up(sizeof(T), alignof(shared_node));
    static constexpr std::size_t control_offset =
        base::round_up(node_offset + sizeof(shared_node), alignof(std::max_align_t));

    static std::size_t block_bytes()
    {
        static const std::size_t bytes = [] {
            (void)std::shared_ptr<T>(static_cast<T*>(nullptr), deleter{}, allocator<T>(nullptr));
            return control_offset + control_bytes;
        }();
        return bytes;
    }

    static pool_options aligned(pool_options options) noexcept
    {
        if (base::is_power_of_two(options.alignment)) // else the blocks say so
            options.alignment = std::max({options.alignment, alignof(T), alignof(std::max_align_t)});
        return options;
    }

    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }

    static shared_node& node_of(void* block) noexcept
    {
        return *std::launder(reinterpret_cast<shared_node*>(static_cast<char*>(block) + node_offset));
    }

    static void link(void* block, void* next) noexcept { node_of(block).link(next); }
    static void* linked(void* block) noexcept { return node_of(block).linked(); }

    static shared_items& store_of(void* block) noexcept { return *static_cast<shared_items*>(node_of(block).store); }

    std::shared_ptr<T> share(T* object)
    {
        ::new (static_cast<void*>(reinterpret_cast<char*>(object) + node_offset)) shared_node(this);
        return std::shared_ptr<T>(object, deleter{}, allocator<T>(object));
    }

    /// Whether nothing is ever to be done when an object ends: then it is gone when its control block is, and nobody notes it.
    static constexpr bool ends_unnoticed = !Keeps && std::is_trivially_destructible_v<T>;

    void object_released(T* object) noexcept
    {
        if constexpr (ends_unnoticed)
            return;
        if (Keeps && !reset_.runs_code()) {
            node_of(object).state.store(shared_node::object_is_gone, std::memory_order_relaxed);
            return;
        }
        // Unless it has to wait, its control block is still there when it ends, and goes after it.
        bool has_waited = false;
        this->in_turn(this, object, [this, &has_waited](T* ended) {
            end(ended, has_waited);
            has_waited = true;
        });
    }

    void end(T* object, bool has_waited) noexcept
    {
        if constexpr (Keeps)
            reset_object(reset_, *object, this->blocks.name());
        else
            object->~T();
        shared_node& node = node_of(object);
        if (!has_waited)
            node.state.store(shared_node::object_is_gone, std::memory_order_relaxed);
        else if (node.note(shared_node::object_is_gone))
            this->blocks.deallocate(object);
    }

    void control_released(void* block) noexcept
    {
        shared_node& node = node_of(block);
        if (ends_unnoticed || (node.state.load(std::memory_order_acquire) & shared_node::object_is_gone) != 0 ||
            node.note(shared_node::control_is_gone))
            this->blocks.deallocate(block);
    }

    void prepare(slab& home, std::size_t first, std::size_t end, std::size_t stride) override
    {
        if constexpr (Keeps)
            construct_in_blocks<T>(home, first, end, stride, [](T*) {});
    }

    void destroy_kept(void* block) noexcept { object_in(block)->~T(); }

    recycle_action<T> reset_;
};
} // namespace memory_pool::core
