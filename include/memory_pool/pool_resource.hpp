// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size for std::pmr, from one pool for each size class. Drop-in replacements for the classes of std::pmr
/// with the same names.
///
///     8 bytes:   pool of blocks          a block of 50 bytes comes from the pool of 56 bytes, and returns to it
///     16 bytes:  pool of blocks
///     ...
///     large:     one by one from upstream
///
///     bytes_in_use = sum over pools of (blocks in use * block size) + large blocks
///
/// Suits long-lived containers that change: every block can be reused as soon as it is freed. If all blocks are freed
/// together, an arena resource is faster.
///
/// The pools of a synchronized_pool_resource have magazines for each thread, so most calls take no lock.
/// concurrent_block_pool.hpp describes them, and the effects of a fork.
///
/// Thread safety: unsynchronized_pool_resource: one thread at a time. synchronized_pool_resource: any thread; `clear`,
/// `release` and the destructor need exclusive access.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
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
/// A resource with a `Pool` for each size class: a basic_block_pool over core::plain_upstream, or a
/// basic_concurrent_block_pool over core::locked_upstream.
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

    /// Effects: makes a resource. Allocates nothing from `upstream` yet. `options` have the same meaning as in
    ///   std::pmr: the maximum number of blocks that a pool takes from upstream at once, and the size of the largest
    ///   block that comes from a pool. 0 selects the defaults: blocks of up to 1 MiB in total, and 4,096 bytes. Blocks
    ///   larger than 1 MiB never come from a pool. `name` is the resource's name in reports; it is not copied.
    /// Preconditions: `upstream` and `name` outlive the resource. Shared pools call `upstream` under a lock, and
    ///   therefore never concurrently.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    /// Complexity: O(1).
    explicit basic_pool_resource(const std::pmr::pool_options& options,
                                 std::pmr::memory_resource* upstream = std::pmr::get_default_resource(),
                                 const char* name = default_name)
        : use({name != nullptr ? name : default_name, 0}), upstream_(upstream),
          pools_(options, upstream, upstream_.for_pools(), name != nullptr ? name : default_name),
          entry_of_rest_(kind, pools_.name(), {&read_statistics, this, Upstream::is_shared})
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
    basic_pool_resource& operator=(const basic_pool_resource&) = delete; // Hold the resource in a std::unique_ptr.

    /// Effects: returns all memory to upstream, including blocks still in use.
    /// Thread safety: no other thread may use the resource any more. Threads that have used it may end before the
    ///   destructor, during it, or later.
    ~basic_pool_resource() override = default;

    /// Effects: allocates a block. A call through the concrete type is not virtual; see resource_allocator. If upstream
    ///   fails, returns free slabs to upstream, as `trim` does, and tries once more.
    /// Returns: the block: `bytes` bytes, aligned to `alignment`. Never nullptr, even for 0 bytes.
    /// Preconditions: `alignment` is a power of two. Otherwise, a checking policy throws std::invalid_argument.
    /// Throws: size_overflow if `bytes` is more than a program can address; what upstream throws. On failure no block
    ///   is allocated.
    /// Complexity: as `Pool`: O(1), and occasionally a call to upstream.
    /// Thread safety: as `Pool`.
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
    ///   `alignment`. Otherwise, the pool for that size reports the misuse that its policy detects. A checking policy
    ///   also reports a block of another pool, as a wrong size or alignment.
    /// Complexity: as `Pool`: O(1). For large blocks, a call to upstream, and in shared pools a lock. A checking policy
    ///   looks large blocks up, which is on average logarithmic in large blocks.
    /// Thread safety: as `Pool`; in shared pools, any thread may free the block.
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
    /// Complexity: as `Pool`: linear in slabs and free blocks.
    /// Thread safety: as `Pool`.
    std::size_t trim() noexcept
    {
        (void)note_use();
        return pools_.trim();
    }

    /// Effects: as basic_block_pool::hand_over.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the resource at the same time.
    using use::hand_over;

    /// Effects: frees every block, and keeps the slabs for later. Large blocks return to upstream.
    /// Complexity: linear in slabs, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void clear() noexcept
    {
        (void)note_use();
        pools_.clear();
        publish_rest();
    }

    /// Effects: frees every block, and returns all memory to upstream. The resource remains usable.
    /// Complexity: linear in slabs and large blocks.
    /// Thread safety: no other thread may use the resource at the same time.
    void release() noexcept
    {
        (void)note_use();
        pools_.release();
        publish_rest();
    }

    /// Returns: whether a block of this resource, in use or not, starts at `address`. Any pointer is allowed.
    /// Complexity: linear in pools, of which there are at most a few dozen; logarithmic in slabs and, on average and
    ///   amortized, in large blocks.
    /// Thread safety: as `Pool`.
    bool owns(const void* address) const noexcept
    {
        return pools_.find_owner(address) != nullptr ||
               with_large([address](const auto& large) { return large.owns(address); });
    }

    /// Returns: the usable size of a block requested with `bytes` and `alignment`. A request for that size comes from
    ///   the same pool.
    std::size_t good_size(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) const noexcept
    {
        return pools_.block_size(bytes, alignment);
    }

    /// Returns: the options in effect.
    std::pmr::pool_options options() const noexcept { return pools_.options(); }

    /// Returns: the bytes of blocks in use, each rounded up to its size class, plus the bytes of large blocks;
    ///   approximate while other threads use the resource.
    /// Complexity: linear in pools, and as `Pool::in_use`.
    /// Thread safety: as `Pool`.
    std::size_t bytes_in_use() const noexcept
    {
        return pools_.bytes_in_pools() + with_large([](const auto& large) { return large.bytes_in_use(); });
    }

    /// Returns: the bytes allocated from upstream, including bookkeeping.
    /// Complexity: linear in pools.
    /// Thread safety: as `Pool`.
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

    /// Reports a large block, or a block from another pool. If `pool` is nullptr, reports any misuse.
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
        detail::core::pool_access::store(made).allow_any_thread(); // The resource checks the thread.
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

    // In reports, each pool has its own entry. Another entry covers the remaining memory.

    static report_statistics read_statistics(const void* resource) noexcept
    {
        const auto& self = *static_cast<const basic_pool_resource*>(resource);
        [[maybe_unused]] const auto held = self.upstream_.lock();
        return self.statistics_of_rest();
    }

    /// Large blocks, and the memory of the pool objects themselves.
    report_statistics statistics_of_rest() const noexcept
    {
        report_statistics statistics;
        statistics.bytes_in_use = pools_.large().bytes_in_use();
        statistics.bytes_reserved = pools_.large().bytes_reserved();
        pools_.for_each([&statistics](const Pool&) { statistics.bytes_reserved += sizeof(Pool); });
        return statistics;
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
