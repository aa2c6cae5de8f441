// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Stores of objects owned by std::shared_ptr. Object and control block lie in one block:
///
///     +------+---------------------------+
///     | node | control block [ object T ]|      constructed at each use, by std::allocate_shared
///     +------+---------------------------+
///     +----------+------+---------------+
///     | object T | node | control block |       kept: the object is there before its control block, and after it
///     +----------+------+---------------+
///
///     last shared_ptr gone: object destroyed, or reset        last weak_ptr gone too: block back
///
/// The size of the standard library's control block is measured by making one, once for each type.
///
/// Thread safety: that of `Blocks`.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/core/objects/object_store.hpp>
#include <memory_pool/core/objects/recycle_action.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The node in a block, beside the object and its control block.
struct shared_node
{
    static constexpr std::uintptr_t object_waits = 1; ///< Pending destruction, after the last shared_ptr is gone.
    static constexpr std::uintptr_t control_is_gone = 2;

    void* store;                       ///< Whose the block is.
    std::atomic<std::uintptr_t> state; ///< Those; and while the object waits, a link: see release_scope.

    explicit shared_node(void* its_store) noexcept : store(its_store), state(0) {}

    /// Effects: marks the object as pending. Its control block still exists.
    void wait(void* next) noexcept
    {
        state.store(reinterpret_cast<std::uintptr_t>(next) | object_waits, std::memory_order_relaxed);
        // The object may lie in the control block, and lives on in memory of which the compiler may see that it is no
        // control block any more: whatever was written to the object has to be there.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    void* linked() const noexcept
    {
        return reinterpret_cast<void*>(state.load(std::memory_order_relaxed) & ~(object_waits | control_is_gone));
    }

    /// Effects: marks a pending object as destroyed.
    /// Returns: whether its control block was gone before.
    bool end_waiting() noexcept
    {
        return (state.fetch_and(~object_waits, std::memory_order_acq_rel) & control_is_gone) != 0;
    }

    bool is_waiting() const noexcept { return (state.load(std::memory_order_acquire) & object_waits) != 0; }

    /// Effects: marks the control block as gone.
    /// Returns: whether the object is not pending any more.
    bool lose_control() noexcept
    {
        return (state.fetch_or(control_is_gone, std::memory_order_acq_rel) & object_waits) == 0;
    }
};

/// A control block made to measure its size.
struct sample_of_control
{
    std::size_t bytes = 0;
    const std::byte* begin = nullptr;
};

/// The allocator of such control blocks. As large as any other allocator here.
template <class U>
struct sampling_allocator
{
    using value_type = U;

    explicit sampling_allocator(sample_of_control& made) noexcept : sample(&made) {}
    template <class V>
    sampling_allocator(const sampling_allocator<V>& other) noexcept : sample(other.sample)
    {
    }

    U* allocate(std::size_t) noexcept
    {
        alignas(U) static std::byte memory[sizeof(U)];
        *sample = {sizeof(U), memory};
        return static_cast<U*>(static_cast<void*>(memory));
    }

    void deallocate(U*, std::size_t) noexcept {}

    friend bool operator==(const sampling_allocator&, const sampling_allocator&) noexcept { return true; }
    friend bool operator!=(const sampling_allocator&, const sampling_allocator&) noexcept { return false; }

    sample_of_control* sample;
};

/// The common part of both stores. `Derived` says where in a block things are: `node_offset`, `control_offset`,
/// `block_of(object)`; and what is done to an object when its last shared_ptr is gone: `end(object)`.
template <class Derived, class T, class Blocks>
class shared_ptr_store : public object_store<Derived, Blocks>
{
    using base_type = object_store<Derived, Blocks>;

protected:
    // Not private with a friend: GCC then warns about the non-virtual destructor.
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility)
    shared_ptr_store(std::size_t block_bytes, const pool_options& options, std::pmr::memory_resource* upstream)
        : base_type(nullptr, block_bytes, with_alignment(alignment, options), upstream)
    {
        static_assert(base::is_nothrow_destructible<T>,
                      "destroying a pooled object must not throw, and its destructor must be public, or "
                      "memory_pool::lifetime_access a friend");
    }
    ~shared_ptr_store() = default;

    // For those that are kept, which begin where their blocks do.
    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }
    static void settle(T*) noexcept {}
    static void begin_end(T&) noexcept {}
    static void set_end_runs_code(bool) noexcept {}

    /// Where control blocks lie.
    static constexpr std::size_t alignment = std::max(alignof(T), alignof(std::max_align_t));

    /// The allocator of a control block in a block, which it frees.
    template <class U>
    struct allocator
    {
        using value_type = U;

        explicit allocator(void* its_block) noexcept : block(its_block) {}
        template <class V>
        allocator(const allocator<V>& other) noexcept : block(other.block)
        {
        }

        U* allocate(std::size_t) noexcept
        {
            static_assert(alignof(U) <= alignment);
            return static_cast<U*>(base::address_past(block, Derived::control_offset));
        }

        void deallocate(U*, std::size_t) noexcept { store_of(block).control_released(block); }

        template <class... Arguments>
        void construct(T* place, Arguments&&... arguments)
        {
            core::construct_at<T>(place, std::forward<Arguments>(arguments)...);
        }

        void destroy(T* object) noexcept { store_of(block).object_released(object); }

        friend bool operator==(const allocator& a, const allocator& b) noexcept { return a.block == b.block; }
        friend bool operator!=(const allocator& a, const allocator& b) noexcept { return a.block != b.block; }

        void* block;
    };

    static shared_node& node_of(void* block) noexcept
    {
        return *std::launder(static_cast<shared_node*>(base::address_past(block, Derived::node_offset)));
    }

    static Derived& store_of(void* block) noexcept { return *static_cast<Derived*>(node_of(block).store); }

    /// Effects: makes the node of a block that is handed out.
    void begin_use(void* block) noexcept
    {
        ::new (static_cast<void*>(static_cast<char*>(block) + Derived::node_offset))
            shared_node(static_cast<Derived*>(this));
    }

    /// Effects: ends an object, now or when it is no longer pending.
    void object_released(T* object) noexcept
    {
        if constexpr (std::is_trivially_destructible_v<T> && !Derived::keeps_objects)
            return;
        // Unless it has to wait, its control block is still there when it ends, and goes after it.
        bool has_waited = false;
        this->in_turn(this, object, [this, &has_waited](T* ended) {
            void* const block = Derived::block_of(ended);
            static_cast<Derived*>(this)->end(ended);
            if (has_waited && node_of(block).end_waiting())
                give_back_ended(this->blocks, block);
            has_waited = true;
        });
    }

public:
    static void link(void* object, void* next) noexcept { node_of(Derived::block_of(object)).wait(next); }
    static void* linked(void* object) noexcept { return node_of(Derived::block_of(object)).linked(); }

private:
    void control_released(void* block) noexcept
    {
        if (shared_node& node = node_of(block); node.is_waiting()) {
            base::content_outlives_object(
                block, this->blocks.block_size()); // The object may lie in what was its control block.
            if (!node.lose_control())
                return;
        }
        give_back_ended(this->blocks, block);
    }
};

/// Objects that are constructed and destroyed at each use.
template <class T, class Blocks>
class constructing_shared_store final : public shared_ptr_store<constructing_shared_store<T, Blocks>, T, Blocks>
{
    using base_type = shared_ptr_store<constructing_shared_store, T, Blocks>;
    friend base_type;

public:
    static constexpr bool keeps_objects = false;
    static constexpr const char* kind = "unsynchronized_shared_pool";
    static constexpr const char* shared_kind = "shared_pool";

    constructing_shared_store(const pool_options& options, std::pmr::memory_resource* upstream)
        : base_type(layout().bytes, options, upstream)
    {
    }

    /// Returns: a pointer to an object made in a block of this store.
    /// Throws: what the constructor throws; the block is back then.
    template <class... Arguments>
    std::shared_ptr<T> make_in(void* block, Arguments&&... arguments)
    {
        static_assert(!std::is_abstract_v<T>,
                      "objects of an abstract class cannot be made: pool each class derived from it");
        this->begin_use(block);
        if constexpr (std::is_abstract_v<T>) // Avoids additional errors of the standard library.
            return nullptr;
        else
            return std::allocate_shared<T>(allocator<T>(block), std::forward<Arguments>(arguments)...);
    }

private:
    template <class U>
    using allocator = typename base_type::template allocator<U>;

    static constexpr std::size_t node_offset = 0;
    static constexpr std::size_t control_offset = base::round_up(sizeof(shared_node), base_type::alignment);

    struct block_layout
    {
        std::size_t bytes;
        std::size_t object_offset;
    };

    /// In place of an object: aligned as one, and as large but for a multiple of what blocks are aligned to.
    struct alignas(T) full_stand_in
    {
        static constexpr std::size_t most = 2 * base_type::alignment;
        std::byte bytes[sizeof(T) < most ? sizeof(T) : base_type::alignment + sizeof(T) % base_type::alignment];
    };
    /// In place of one that a standard library may leave no room for.
    struct alignas(T) empty_stand_in
    {
    };
    using stand_in = std::conditional_t<std::is_empty_v<T> && !std::is_final_v<T>, empty_stand_in, full_stand_in>;

    static const block_layout& layout()
    {
        static const block_layout its = [] {
            sample_of_control sample;
            const auto object = std::allocate_shared<stand_in>(sampling_allocator<stand_in>(sample));
            const auto in_control =
                static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object.get()) - sample.begin);
            return block_layout{control_offset + sample.bytes - sizeof(stand_in) + sizeof(T),
                                control_offset + in_control};
        }();
        return its;
    }

    static void* block_of(void* object) noexcept { return static_cast<char*>(object) - layout().object_offset; }

    static void end(T* object) noexcept { destroy_object(object); }
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

/// Objects that are constructed once.
template <class T, class Blocks>
class recycling_shared_store final
    : public recycling_half<shared_ptr_store<recycling_shared_store<T, Blocks>, T, Blocks>, T>
{
    using base_type = shared_ptr_store<recycling_shared_store, T, Blocks>;
    friend base_type;

public:
    static constexpr const char* kind = "unsynchronized_recycling_shared_pool";
    static constexpr const char* shared_kind = "recycling_shared_pool";

    recycling_shared_store(const pool_options& options, std::pmr::memory_resource* upstream,
                           const recycle_action<T>& reset)
        : recycling_shared_store::recycling_half(reset, block_bytes(), options, upstream)
    {
        static_assert(
            !knows_itself<T>::value,
            "an object that derives from std::enable_shared_from_this holds a weak_ptr to itself, so it would never "
            "be free again: use a shared_pool");
        static_assert(!base::checked_policy<typename Blocks::policy>::checks,
                      "checking fills free blocks, but here objects live in them: use a shared_pool to find misuse");
    }

    /// Returns: a pointer to the object in a block of this store, after `init(object)`.
    /// Throws: what `init` throws; the object is back then, as init has left it.
    template <class Init>
    std::shared_ptr<T> hand_out(void* block, Init&& init)
    {
        base::block_content_is_kept(block, sizeof(T));
        base::failure_guard guard([this, block] { this->blocks.deallocate(block); });
        T* const object = this->object_in(block);
        std::forward<Init>(init)(*object);
        guard.succeeded();
        this->begin_use(block);
        return std::shared_ptr<T>(object, deleter(), allocator<T>(block));
    }

private:
    template <class U>
    using allocator = typename base_type::template allocator<U>;

    /// What the control block calls when the last shared_ptr is gone.
    struct deleter
    {
        void operator()(T* object) const noexcept
        {
            if (object != nullptr) // A sample has none.
                base_type::store_of(object).released(object);
        }
    };

    static constexpr std::size_t node_offset = base::round_up(sizeof(T), alignof(shared_node));
    static constexpr std::size_t control_offset =
        base::round_up(node_offset + sizeof(shared_node), alignof(std::max_align_t));

    static std::size_t block_bytes()
    {
        static const std::size_t bytes = [] {
            sample_of_control sample;
            (void)std::shared_ptr<T>(static_cast<T*>(nullptr), deleter(), sampling_allocator<T>(sample));
            return control_offset + sample.bytes;
        }();
        return bytes;
    }

    static void* block_of(void* object) noexcept { return object; }

    void released(T* object) noexcept
    {
        if (this->reset().runs_code())
            this->object_released(object);
    }

    void end(T* object) noexcept { this->reset_kept(*object); }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
