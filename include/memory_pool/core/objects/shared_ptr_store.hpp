// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Stores of objects owned by std::shared_ptr. An object and its control block lie in one block:
///
///     +------+---------------------------+
///     | node | control block [ object T ]|      constructed at each use, by std::allocate_shared
///     +------+---------------------------+
///     +----------+------+---------------+
///     | object T | node | control block |       recycled: the object outlives its control blocks
///     +----------+------+---------------+
///
///     last shared_ptr gone: object destroyed, or reset        last weak_ptr gone too: block freed
///
/// To measure the standard library's control block, the store allocates one sample for each type.
///
/// Thread safety: as `Blocks`.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
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
/// The store's own data in a block.
struct shared_node
{
    static constexpr std::uintptr_t object_waits = 1; ///< The last shared_ptr is gone; destruction is pending.
    static constexpr std::uintptr_t control_is_gone = 2;

    void* store;                       ///< The owner of the block.
    std::atomic<std::uintptr_t> state; ///< The two flags; while the object waits, also a link: see release_scope.

    explicit shared_node(void* owner) noexcept : store(owner), state(0) {}

    /// Effects: marks the object as pending. Its control block still exists.
    void wait(void* next) noexcept
    {
        state.store(reinterpret_cast<std::uintptr_t>(next) | object_waits, std::memory_order_relaxed);
        // The object may lie in the control block and outlive it. Without this fence, the compiler could drop writes to
        // the object once the control block ends.
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    void* linked() const noexcept
    {
        return reinterpret_cast<void*>(state.load(std::memory_order_relaxed) & ~(object_waits | control_is_gone));
    }

    /// Effects: marks a pending object as destroyed.
    /// Returns: whether the control block was already gone.
    bool end_waiting() noexcept
    {
        return (state.fetch_and(~object_waits, std::memory_order_acq_rel) & control_is_gone) != 0;
    }

    bool is_waiting() const noexcept { return (state.load(std::memory_order_acquire) & object_waits) != 0; }

    /// Effects: marks the control block as gone.
    /// Returns: whether the object is no longer pending.
    bool lose_control() noexcept
    {
        return (state.fetch_or(control_is_gone, std::memory_order_acq_rel) & object_waits) == 0;
    }
};

/// The measurements of a sample control block.
struct sample_of_control
{
    std::size_t bytes = 0;
    const std::byte* begin = nullptr;
};

/// The allocator of sample control blocks. Has the size of `shared_ptr_store::allocator`, because control blocks
/// contain their allocator.
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

/// The common base of both stores. `Derived` defines the layout of a block with `node_offset`, `control_offset` and
/// `block_of(object)`. `Derived::end(object)` ends an object whose last shared_ptr is gone.
template <class Derived, class T, class Blocks>
class shared_ptr_store : public object_store<Derived, Blocks>
{
    using base_type = object_store<Derived, Blocks>;

protected:
    // Not private with a friend: GCC would warn about the non-virtual destructor.
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility)
    shared_ptr_store(std::size_t block_bytes, const pool_options& options, std::pmr::memory_resource* upstream)
        : base_type(nullptr, block_bytes, with_alignment(alignment, options), upstream)
    {
        static_assert(base::is_nothrow_destructible<T>,
                      "destroying a pooled object must not throw, and its destructor must be public, or "
                      "memory_pool::lifetime_access a friend");
    }
    ~shared_ptr_store() = default;

    // For recycling_half, whose objects are at the beginning of their blocks.
    static T* object_in(void* block) noexcept { return std::launder(static_cast<T*>(block)); }
    static void settle(T*) noexcept {}
    static void begin_end(T&) noexcept {}
    static void set_end_runs_code(bool) noexcept {}

    /// The alignment of control blocks.
    static constexpr std::size_t alignment = std::max(alignof(T), alignof(std::max_align_t));

    /// The allocator of the control block in `block`. Deallocating the control block releases `block`.
    template <class U>
    struct allocator
    {
        using value_type = U;

        explicit allocator(void* given_block) noexcept : block(given_block) {}
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

    /// Effects: constructs the node of an allocated block.
    void begin_use(void* block) noexcept
    {
        ::new (static_cast<void*>(static_cast<char*>(block) + Derived::node_offset))
            shared_node(static_cast<Derived*>(this));
    }

    /// Effects: ends an object now, or later if another object of this store is ending in this thread.
    void object_released(T* object) noexcept
    {
        if constexpr (std::is_trivially_destructible_v<T> && !Derived::keeps_objects)
            return;
        // An object that ends at once still has its control block, which is deallocated afterwards.
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
                block, this->blocks.block_size()); // The object may lie in the memory of the control block.
            if (!node.lose_control())
                return;
        }
        give_back_ended(this->blocks, block);
    }
};

/// A store that constructs and destroys an object for each use.
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

    /// Returns: a pointer to an object constructed in `block`, a block of this store.
    /// Throws: exceptions from the constructor. The block is then freed.
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

    /// Stands in for an object. Has the alignment of `T`. Its size differs from `sizeof(T)` by a multiple of the block
    /// alignment.
    struct alignas(T) full_stand_in
    {
        static constexpr std::size_t limit = 2 * base_type::alignment;
        std::byte bytes[sizeof(T) < limit ? sizeof(T) : base_type::alignment + sizeof(T) % base_type::alignment];
    };
    /// Stands in for an empty object, to which a standard library may give no storage.
    struct alignas(T) empty_stand_in
    {
    };
    using stand_in = std::conditional_t<std::is_empty_v<T> && !std::is_final_v<T>, empty_stand_in, full_stand_in>;

    static const block_layout& layout()
    {
        static const block_layout measured = [] {
            sample_of_control sample;
            const auto object = std::allocate_shared<stand_in>(sampling_allocator<stand_in>(sample));
            const auto in_control =
                static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object.get()) - sample.begin);
            return block_layout{control_offset + sample.bytes - sizeof(stand_in) + sizeof(T),
                                control_offset + in_control};
        }();
        return measured;
    }

    static void* block_of(void* object) noexcept { return static_cast<char*>(object) - layout().object_offset; }

    static void end(T* object) noexcept { destroy_object(object); }
};

/// Detects std::enable_shared_from_this as a base of `T`.
template <class T, class = void>
struct knows_itself : std::false_type
{
};
template <class T>
struct knows_itself<T, std::void_t<decltype(std::declval<T&>().weak_from_this())>> : std::true_type
{
};

/// A store that constructs its objects when it grows and recycles them.
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

    /// Effects: calls `init(object)` for the object in `block`, a block of this store.
    /// Returns: a pointer to the object.
    /// Throws: exceptions from `init`. The object is then free again, as `init` left it.
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

    /// The deleter of the shared_ptr. Returns the object to its store.
    struct deleter
    {
        void operator()(T* object) const noexcept
        {
            if (object != nullptr) // The sample has no object.
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
