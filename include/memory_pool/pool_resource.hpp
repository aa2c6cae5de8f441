// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from pools by size. They take the place of the classes of the same names in
/// std::pmr.
///
///     8 bytes:   pool of blocks          a block of 50 bytes comes from the pool of 56, and goes back to it
///     16 bytes:  pool of blocks
///     ...
///     large:     one by one from upstream
///
///     bytes_in_use = sum over pools of (blocks in use * block size) + large blocks
///
/// For containers that live long and change: every block can be used again as soon as it is freed. Where all is given
/// back together, an arena resource is faster still.
///
/// The pools of a synchronized_pool_resource have magazines for each thread, so most calls take no lock: see
/// concurrent_block_pool.hpp, also for what a fork does.
///
/// Thread safety: unsynchronized_pool_resource: one thread at a time. synchronized_pool_resource: any thread, but for
/// `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/reports/report_figures.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/resources/block_classes.hpp>
#include <memory_pool/core/resources/class_pools.hpp>
#include <memory_pool/core/resources/locked_upstream.hpp>
#include <memory_pool/core/resources/oversized_blocks.hpp>
#include <memory_pool/core/resources/plain_upstream.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <optional>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Pools by size, of `Pool`: a basic_block_pool over core::plain_upstream, or a basic_concurrent_block_pool over
/// core::locked_upstream.
template <class Pool, class Upstream>
class basic_pool_resource final
    : public std::pmr::memory_resource,
      public detail::core::resource_by_address,
      public detail::core::pool_use<detail::base::checked_policy<typename Pool::policy>::checks>
{
    using variant = detail::base::checked_policy<typename Pool::policy>;
    using use = detail::core::pool_use<variant::checks>;

public:
    /// The resource's policy.
    using policy = typename Pool::policy;

    /// Effects: makes a resource over the default resource.
    basic_pool_resource() : basic_pool_resource(std::pmr::pool_options{}) {}

    /// Effects: makes a resource over `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_pool_resource(Resource* upstream) : basic_pool_resource(std::pmr::pool_options{}, upstream)
    {
    }

    /// Effects: makes a resource. Takes nothing from `upstream` yet. `options` mean what they do for std::pmr: the most
    ///   blocks that a pool takes at once, and the largest block that comes from a pool; 0 stands for the default: up
    ///   to a MiB, and 4096 bytes. There are no pools for blocks larger than a MiB. `name` is the resource's name in
    ///   reports; it is not copied.
    /// Preconditions: `upstream` and `name` outlive the resource. Shared pools call upstream under a lock, so never
    ///   concurrently.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    /// Complexity: O(1).
    explicit basic_pool_resource(const std::pmr::pool_options& options,
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource(),
                                 const char* name = default_name)
        : use({name != nullptr ? name : default_name, 0}), upstream_(upstream),
          pools_(options, upstream, upstream_.for_pools(), name != nullptr ? name : default_name),
          entry_of_rest_(kind, pools_.name(), {&read_figures, this, Upstream::is_shared})
    {
        if constexpr (Upstream::is_shared) {
            this->allow_any_thread();
            upstream_.enter_again_with(entry_of_rest_);
        }
        detail::core::check_upstream(upstream, pools_.name());
        detail::base::check_resource_policy<policy>();
    }

    /// Rejects wrong arguments, such as the size of the largest block, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_wrong<
                  detail::core::a_pool_resource_takes_a_std_pmr_pool_options_and_then_a_memory_resource,
                  detail::core::takes<const std::pmr::pool_options&, const basic_pool_resource&>, Given, More...>>
    explicit basic_pool_resource(const Given&, const More&...) = delete;

    basic_pool_resource(const basic_pool_resource&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_pool_resource& operator=(const basic_pool_resource&) = delete; // Hold it by a std::unique_ptr.

    /// Effects: returns all memory to upstream. Blocks still in use are gone.
    /// Thread safety: no other thread may use the resource any more. Threads that have used it may end before, at the
    ///   same time, or later.
    ~basic_pool_resource() override = default;

    /// Effects: hands out a block. Through the concrete type this is no virtual call; see resource_allocator.
    /// Returns: the block: `bytes` bytes, aligned to `alignment`. Never nullptr, also for 0 bytes.
    /// Preconditions: `alignment` is a power of two. A checking policy throws std::invalid_argument if not.
    /// Throws: size_overflow if `bytes` is more than a program can address; what upstream throws, also after `trim`. No
    ///   block is handed out then.
    /// Complexity: that of `Pool`: O(1), and occasionally a call upstream.
    /// Thread safety: that of `Pool`.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes,
                                                           std::size_t alignment = alignof(std::max_align_t))
    {
        if constexpr (variant::checks) {
            (void)note_use();
            detail::core::check_alignment(alignment, name());
        }
        const std::size_t needed = detail::core::bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > pools_.largest_block()))
            return allocate_large(bytes, alignment);
        const std::size_t number = detail::core::block_sizes::of(needed);
        Pool* const pool = pools_.find(number);
        return MEMORY_POOL_LIKELY(pool != nullptr)
                   ? detail::core::pool_access::allocate(*pool, detail::base::by_trimming(*this))
                   : allocate_first(number, alignment);
    }

    /// Effects: frees a block. nullptr is ignored.
    /// Preconditions: `block` is from this resource and in use, and was requested with these `bytes` and this
    ///   `alignment`. If not, the pool of that size reports it, as its policy says; one that checks also reports a
    ///   block of another pool as one whose size or alignment is wrong.
    /// Complexity: that of `Pool`: O(1). For large blocks, a call upstream, and in shared pools a lock; a checking
    ///   policy looks them up: logarithmic in large blocks, on average.
    /// Thread safety: that of `Pool`; in shared pools, any thread may free the block.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block, std::size_t bytes,
                                              std::size_t alignment = alignof(std::max_align_t)) noexcept
    {
        if (variant::checks && block != nullptr && !note_use(block))
            return;
        const std::size_t needed = detail::core::bytes_in_class(bytes, alignment);
        if (MEMORY_POOL_UNLIKELY(needed > pools_.largest_block())) {
            deallocate_large(block, bytes, alignment);
            return;
        }
        Pool* const pool = pools_.find(detail::core::block_sizes::of(needed));
        if constexpr (variant::checks)
            if (!is_in_place(block, pool, {bytes, alignment}))
                return;
        if (MEMORY_POOL_LIKELY(pool != nullptr))
            pool->deallocate(block);
        else
            pools_.report_misuse(error_kind::foreign_pointer, block, {bytes, alignment});
    }

    /// Effects: returns every slab that is wholly free to upstream.
    /// Returns: the number of bytes returned.
    /// Complexity: that of `Pool`: linear in slabs and free blocks.
    /// Thread safety: that of `Pool`.
    std::size_t trim() noexcept
    {
        (void)note_use();
        return pools_.trim();
    }

    /// Effects: as basic_block_pool::hand_over.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the resource at the same time.
    using use::hand_over;

    /// Effects: frees every block, and keeps the slabs for later. Large blocks go back upstream.
    /// Complexity: linear in slabs, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void clear() noexcept
    {
        (void)note_use();
        pools_.clear();
        publish_rest();
    }

    /// Effects: frees every block, and returns all memory to upstream. The resource works on.
    /// Complexity: linear in slabs and large blocks.
    /// Thread safety: no other thread may use the resource at the same time.
    void release() noexcept
    {
        (void)note_use();
        pools_.release();
        publish_rest();
    }

    /// Returns: whether a block of this resource, in use or not, starts at `address`. Any pointer is allowed.
    /// Complexity: linear in pools, of which there are a few dozen at most; logarithmic in slabs, and, on average and
    ///   amortized, in large blocks.
    /// Thread safety: that of `Pool`.
    bool owns(const void* address) const noexcept
    {
        return pools_.find_owner(address) != nullptr ||
               with_large([address](const auto& large) { return large.owns(address); });
    }

    /// Returns: how many bytes a block has room for that is requested with `bytes` and `alignment`. A request for that
    ///   many comes from the same pool.
    std::size_t good_size(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) const noexcept
    {
        return pools_.block_size(bytes, alignment);
    }

    /// Returns: the options in effect.
    std::pmr::pool_options options() const noexcept { return pools_.options(); }

    /// Returns: bytes in blocks in use, each as large as its pool makes it, and in large blocks; approximate while
    ///   other threads are active.
    /// Complexity: linear in pools, and as `Pool::in_use`.
    /// Thread safety: that of `Pool`.
    std::size_t bytes_in_use() const noexcept
    {
        return pools_.bytes_in_pools() + with_large([](const auto& large) { return large.bytes_in_use(); });
    }

    /// Returns: bytes held from upstream, bookkeeping included.
    /// Complexity: linear in pools.
    /// Thread safety: that of `Pool`.
    std::size_t bytes_reserved() const noexcept
    {
        return pools_.bytes_for_pools() + with_large([](const auto& large) { return large.bytes_reserved(); });
    }

    /// Returns: the resource's name in reports.
    const char* name() const noexcept { return pools_.name(); }

    /// Returns: the upstream resource.
    std::pmr::memory_resource* upstream_resource() const noexcept { return pools_.upstream(); }

    /// Returns: whether the invariants hold. For tests.
    /// Complexity: linear in blocks.
    bool verify() const noexcept { return pools_.verify(); }

private:
    static constexpr const char* kind =
        Upstream::is_shared ? "synchronized_pool_resource" : "unsynchronized_pool_resource";
    static constexpr const char* default_name = detail::core::default_name_of_pool_resource;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    /// As pool_use::note_use.
    bool note_use(const void* block = nullptr) noexcept
    {
        return use::note_use(block, [this] { return bytes_in_use() != 0; });
    }

    MEMORY_POOL_SLOW_PATH void* allocate_first(std::size_t number, std::size_t alignment)
    {
        detail::core::check_alignment(alignment, name());
        Pool* made = nullptr;
        detail::base::try_again_after(detail::base::by_trimming(*this), [&] { made = &make(number); });
        return detail::core::pool_access::allocate(*made, detail::base::by_trimming(*this));
    }

    MEMORY_POOL_SLOW_PATH void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        detail::core::check_alignment(alignment, name());
        detail::core::oversized_blocks::check_size(bytes, alignment);
        void* block = nullptr;
        detail::base::try_again_after(detail::base::by_trimming(*this), [&] {
            [[maybe_unused]] const auto held = upstream_.lock();
            block = pools_.large().allocate(bytes, alignment);
            publish_rest();
        });
        return block;
    }

    MEMORY_POOL_SLOW_PATH void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if (block == nullptr)
            return;
        const detail::base::block_request given{bytes, alignment};
        if constexpr (variant::checks) {
            if (!is_in_place(block, nullptr, given))
                return;
        }
        if (!give_back_large(block, bytes, alignment))
            pools_.report_misuse(error_kind::foreign_pointer, block, given);
    }

    /// Effects: reports a block that is not in `pool`; or, if that is nullptr, any misuse that freeing it would be.
    /// Returns: false if misuse was reported.
    MEMORY_POOL_NOINLINE bool is_in_place(const void* block, const Pool* pool,
                                          const detail::base::block_request& given) const noexcept
    {
        if (block == nullptr || (pool != nullptr && pool->owns(block)))
            return true;
        std::optional<detail::base::misuse> misuse;
        if (const Pool* const owner = pools_.find_owner(block))
            misuse = detail::base::misuse({owner->block_size(), owner->alignment()});
        else
            misuse = with_large([&](const auto& large) { return large.misuse(block, given); });
        if (!misuse || (pool != nullptr && misuse->kind != error_kind::size_mismatch))
            return true;
        pools_.report_misuse(*misuse, block, given);
        return false;
    }

    Pool& make(std::size_t number)
    {
        [[maybe_unused]] const auto held = upstream_.lock();
        Pool& made = pools_.make(number);
        detail::core::pool_access::store(made).allow_any_thread(); // The resource knows its thread.
        detail::core::pool_access::set_kind(made, kind, kind);
        publish_rest();
        return made;
    }

    bool give_back_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        [[maybe_unused]] const auto held = upstream_.lock();
        const bool was_there = pools_.large().deallocate(block, bytes, alignment);
        publish_rest();
        return was_there;
    }

    template <class Look>
    auto with_large(Look&& look) const noexcept
    {
        [[maybe_unused]] const auto held = upstream_.lock();
        return look(pools_.large());
    }

    // Reports: each pool has an entry of its own, and there is one for the rest.

    static report_figures read_figures(const void* resource) noexcept
    {
        const auto& its = *static_cast<const basic_pool_resource*>(resource);
        [[maybe_unused]] const auto held = its.upstream_.lock();
        return its.figures_of_rest();
    }

    /// Large blocks, and the memory of the pools themselves.
    report_figures figures_of_rest() const noexcept
    {
        report_figures figures;
        figures.bytes_in_use = pools_.large().bytes_in_use();
        figures.bytes_reserved = pools_.large().bytes_reserved();
        pools_.for_each([&figures](const Pool&) { figures.bytes_reserved += sizeof(Pool); });
        return figures;
    }

    void publish_rest() const noexcept
    {
        if constexpr (!Upstream::is_shared)
            entry_of_rest_.publish();
    }

    Upstream upstream_;
    detail::core::class_pools<Pool> pools_;
    detail::core::reported entry_of_rest_;
};

MEMORY_POOL_INSTANCE(class basic_pool_resource<basic_block_pool<default_policy>, detail::core::plain_upstream>)
MEMORY_POOL_INSTANCE(class basic_pool_resource<basic_block_pool<checking_policy>, detail::core::plain_upstream>)
MEMORY_POOL_INSTANCE(
    class basic_pool_resource<basic_concurrent_block_pool<default_policy>, detail::core::locked_upstream>)
MEMORY_POOL_INSTANCE(
    class basic_pool_resource<basic_concurrent_block_pool<checking_policy>, detail::core::locked_upstream>)
}} // namespace memory_pool::MEMORY_POOL_ABI
