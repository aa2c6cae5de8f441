// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr. Allocating a block moves a cursor; an arena is reused when its last block is freed.
///
///     current:  | header | block | block | gap | block |        free        |      allocate moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all blocks are freed
///     free:     | header |                     free                         |      used next
///
///     allocate:    block fits into an arena:  the cursor moves          else:  a large block from upstream
///     deallocate:  block fits into an arena:  masking finds the arena   else:  a large block returns to upstream
///
///     bytes_reserved = arena_count * arena_size + large blocks + the state of threads
///
/// Suits data that is freed at about the same time: in parsing, a request, or a frame. Where short-lived and long-lived
/// blocks mix, prefer a pool resource: a single block can prevent the reuse of an arena (see `bytes_wasted`).
///
/// In a synchronized_arena_resource each thread fills its own arena without a lock, and any thread may free a block:
/// see core/resources/shared_arenas.hpp. The resource reserves about 128 more bytes for each concurrent thread. A
/// process may fork while threads use the resource, as with pools: see concurrent_block_pool.hpp.
///
/// Thread safety: unsynchronized_arena_resource: one thread at a time. synchronized_arena_resource: any thread;
/// `clear`, `release` and the destructor need exclusive access.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/resources/arena.hpp>
#include <memory_pool/core/resources/arena_checks.hpp>
#include <memory_pool/core/resources/arena_options.hpp>
#include <memory_pool/core/resources/local_arenas.hpp>
#include <memory_pool/core/resources/shared_arenas.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A resource over `Arenas`: core::local_arenas or core::shared_arenas. See policies.hpp for `Policy`. A checking
/// policy reports misuse at once, except for a write to a free block, which it reports when the bytes are allocated
/// again. For statistics, put a tracking_resource before or behind the arena resource.
template <class Policy, class Arenas>
class basic_arena_resource final : public std::pmr::memory_resource,
                                   public detail::core::resource_by_address,
                                   public detail::core::pool_use<detail::base::checked_policy<Policy>::checks>
{
    using variant = detail::base::checked_policy<Policy>;
    using use = detail::core::pool_use<variant::checks>;
    using arena_type = typename Arenas::arena_type;
    using checks_type = detail::core::arena_checks<arena_type>;

public:
    /// The resource's policy.
    using policy = Policy;

    /// Effects: makes a resource with arenas of 64 KiB that allocates from the default resource.
    basic_arena_resource() : basic_arena_resource(arena_options{}) {}

    /// Effects: makes a resource with arenas of 64 KiB that allocates from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_arena_resource(Resource* upstream) : basic_arena_resource(arena_options{}, upstream)
    {
    }

    /// Effects: makes a resource, and allocates `options.arena_count` arenas from `upstream`.
    /// Preconditions: `upstream` outlives the resource. Shared arenas call `upstream` under a lock, and therefore never
    ///   concurrently.
    /// Throws: std::invalid_argument if an option is invalid or `upstream` is nullptr; size_overflow if the sizes do
    ///   not fit; what upstream throws.
    /// Complexity: linear in chunks of 1 MiB taken from upstream; with `options.prefault`, linear in pages.
    explicit basic_arena_resource(const arena_options& options,
                                  std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : use({options.name != nullptr ? options.name : arena_options{}.name, 0}),
          arenas_(options, variant::checks, upstream), largest_block_(arenas_.store().largest_extent() - canary_bytes),
          entry_(Arenas::is_shared ? "synchronized_arena_resource" : "unsynchronized_arena_resource", name(),
                 {&read_statistics, this, Arenas::is_shared})
    {
        if constexpr (Arenas::is_shared) {
            this->allow_any_thread();
            arenas_.enter_again_with(entry_);
        }
        arenas_.reserve(options.arena_count);
        publish();
        detail::base::check_resource_policy<Policy>();
        detail::base::pool_made(this);
    }

    /// Rejects wrong arguments, such as a number of arenas, which is an option.
    template <class Given, class... More,
              class Reason = detail::core::if_wrong<
                  detail::core::an_arena_resource_takes_arena_options_with_arena_count_or_size_and_a_memory_resource,
                  detail::core::takes<const arena_options&, const basic_arena_resource&>, Given, More...>>
    explicit basic_arena_resource(const Given&, const More&...) = delete;

    basic_arena_resource(const basic_arena_resource&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;
    basic_arena_resource& operator=(const basic_arena_resource&) = delete; // Hold the resource in a std::unique_ptr.

    /// Effects: returns all memory to upstream, including blocks still in use.
    /// Thread safety: no other thread may use the resource any more. Threads that have used it may end before the
    ///   destructor, during it, or later.
    ~basic_arena_resource() override
    {
        entry_.leave();
        detail::base::pool_gone(this);
    }

    /// Returns: the bytes of upstream memory that `arenas` arenas with the option `arena_size` need. A buffer must be
    ///   aligned to `arena_size`, rounded up to a power of two.
    static constexpr std::size_t bytes_for(std::size_t arenas,
                                           std::size_t arena_size = arena_options{}.arena_size) noexcept
    {
        return arenas * detail::core::actual_arena_size(arena_size);
    }

    /// Effects: allocates a block. A call through the concrete type is not virtual; see resource_allocator.
    /// Returns: the block: `bytes` bytes, aligned to `alignment`. Never nullptr, even for 0 bytes.
    /// Preconditions: `alignment` is a power of two. Otherwise, a checking policy throws std::invalid_argument.
    /// Throws: pool_exhausted if the block does not fit into the current arena and the maximum number of arenas is
    ///   reached; size_overflow if `bytes` is more than a program can address; what upstream throws. On failure no
    ///   block is allocated.
    /// Complexity: O(1), and occasionally a call to upstream, with a lock for shared arenas.
    /// Thread safety: as `Arenas`.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* allocate(std::size_t bytes,
                                                           std::size_t alignment = alignof(std::max_align_t))
    {
        if constexpr (variant::checks) {
            (void)note_use();
            detail::core::check_alignment(alignment, name());
        }
        if (MEMORY_POOL_UNLIKELY(bytes > largest_block_))
            return allocate_slowly(bytes, alignment);
        void* const block = arenas_.bump(extent(bytes), alignment);
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return allocate_slowly(bytes, alignment);
        return note_allocation(block, {bytes, alignment});
    }

    /// Effects: frees a block. If the block was the last one allocated from its arena, its bytes are reused next; with
    ///   shared arenas, only if the arena is the current arena of this thread. If the block was the last one in use in
    ///   its arena, the arena is reused. nullptr is ignored.
    /// Preconditions: `block` is from this resource and in use, and was requested with these `bytes` and this
    ///   `alignment`. A checking policy reports a violation and ignores the call; other policies report misuse that
    ///   they detect in the header of the arena.
    /// Complexity: O(1), regardless of the number of arenas; linear in scopes in the arena that was current when an
    ///   arena_scope began. Shared arenas need an atomic operation unless this thread fills the arena, and a lock for
    ///   the last block in use in an arena. Allocates nothing. With a checking policy, which looks the block up: on
    ///   average logarithmic in chunks and large blocks, and linear in the bytes of the block.
    /// Thread safety: as `Arenas`; with shared arenas, any thread may free the block.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block, std::size_t bytes,
                                              std::size_t alignment = alignof(std::max_align_t)) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            return;
        if (variant::checks && !note_use(block))
            return;
        if (MEMORY_POOL_UNLIKELY(bytes > largest_block_ || alignment > cache_line_size) && !fits(bytes, alignment)) {
            deallocate_large(block, bytes, alignment);
            return;
        }
        if constexpr (variant::checks) {
            if (!take_back_checked(block, {bytes, alignment}))
                return;
        }
        arena_type& from = *arenas_.store().arena_of(block);
        if (MEMORY_POOL_UNLIKELY(from.owner != &arenas_)) {
            deallocate_slowly(from, block, {bytes, alignment});
            return;
        }
        if (MEMORY_POOL_UNLIKELY(!given_back(block, bytes) ||
                                 !arenas_.take_back(from, static_cast<std::byte*>(block), extent(bytes))))
            report(error_kind::double_free, block, {bytes, alignment});
    }

    /// Effects: returns every chunk whose arenas are all free to upstream. Other threads keep their current arenas.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in arenas.
    /// Thread safety: as `Arenas`.
    std::size_t trim() noexcept
    {
        (void)note_use();
        const std::size_t bytes = arenas_.trim();
        publish();
        return bytes;
    }

    /// Effects: frees every block, and keeps the arenas for later. Large blocks return to upstream.
    /// Complexity: linear in arenas, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void clear() noexcept { forget_blocks(true); }

    /// Effects: frees every block, and returns all memory to upstream. The resource remains usable.
    /// Complexity: linear in chunks, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void release() noexcept { forget_blocks(false); }

    /// Effects: as basic_block_pool::hand_over.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the resource at the same time.
    using use::hand_over;

    /// Effects: takes arenas from upstream until `arena_count()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_arenas()`; size_overflow if `count` arenas exceed the address
    ///   space; what upstream throws. On failure, the arenas allocated so far are kept.
    /// Complexity: linear in chunks of 1 MiB taken from upstream; with `prefault`, linear in pages.
    /// Thread safety: as `Arenas`.
    void reserve(std::size_t count)
    {
        (void)note_use();
        arenas_.reserve(count);
        publish();
    }

    /// Returns: whether `address` lies in an arena or a large block of this resource. Any pointer is allowed.
    /// Complexity: logarithmic in chunks and large blocks, on average, and amortized.
    /// Thread safety: as `Arenas`.
    bool owns(const void* address) const noexcept { return arenas_.contains(address); }

    /// Returns: the usable size of a block requested with `bytes` and `alignment`. Requesting that size takes no more
    ///   memory.
    std::size_t good_size(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) const noexcept
    {
        return fits(bytes, alignment) ? detail::core::arena_extent(bytes) : bytes;
    }

    /// Returns: the maximum number of arenas; arena_options::unbounded if there is no limit.
    std::size_t max_arenas() const noexcept { return arenas_.store().max_arenas(); }

    /// Returns: the size of an arena in bytes, header included.
    std::size_t arena_size() const noexcept { return arenas_.store().arena_size(); }

    /// Returns: the size in bytes of the largest block that comes from an arena, for alignments of at most 64 bytes.
    std::size_t largest_block() const noexcept { return largest_block_; }

    // Shared arenas read these statistics under the lock. They are exact if no other thread uses the resource.

    /// Returns: the number of arenas, in use or not.
    std::size_t arena_count() const noexcept
    {
        return arenas_.with_store([](const auto& store) { return store.arena_count(); });
    }

    /// Returns: the number of arenas without blocks in use. With shared arenas, this includes the current arena of each
    ///   thread, which only that thread can use.
    /// Complexity: linear in threads.
    std::size_t free_arenas() const noexcept { return arenas_.free_arenas(); }

    /// Returns: the bytes of blocks in use in arenas, each rounded up to a multiple of 8, plus the bytes of large
    ///   blocks. With a checking policy, this includes the canary behind each block in an arena.
    /// Complexity: linear in arenas.
    std::size_t bytes_in_use() const noexcept { return arenas_.bytes_in_use(); }

    /// Returns: the bytes in arenas that cannot be allocated until the last block in use in their arena is freed: gaps,
    ///   and ends of arenas that were too short for the next block.
    /// Complexity: linear in arenas and threads.
    std::size_t bytes_wasted() const noexcept { return arenas_.bytes_wasted(); }

    /// Returns: the bytes allocated from upstream, including bookkeeping.
    std::size_t bytes_reserved() const noexcept { return arenas_.bytes_reserved(); }

    /// Returns: the resource's name in reports.
    const char* name() const noexcept { return arenas_.store().name(); }

    /// Returns: the upstream resource.
    std::pmr::memory_resource* upstream_resource() const noexcept { return arenas_.store().upstream(); }

    /// Returns: whether the invariants hold. For tests.
    /// Complexity: linear in arenas.
    /// Thread safety: no other thread may use the resource at the same time.
    bool verify() const noexcept { return arenas_.verify(); }

private:
    friend class arena_scope;

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    static constexpr std::size_t canary_bytes = variant::checks ? checks_type::canary_bytes : 0;

    static std::size_t extent(std::size_t bytes) noexcept { return detail::core::arena_extent(bytes) + canary_bytes; }

    /// Returns whether a block is in an arena. Depends only on size and alignment, which deallocate() also knows.
    bool fits(std::size_t bytes, std::size_t alignment) const noexcept
    {
        return bytes <= largest_block_ && arenas_.store().fits(extent(bytes), alignment);
    }

    MEMORY_POOL_NOINLINE void* allocate_slowly(std::size_t bytes, std::size_t alignment)
    {
        detail::core::check_alignment(alignment, name());
        if (!fits(bytes, alignment))
            return allocate_large(bytes, alignment);
        std::byte* const block = arenas_.bump_in_next(extent(bytes), alignment);
        if constexpr (!Arenas::is_shared)
            if (MEMORY_POOL_UNLIKELY(entry_.is_on()))
                publish_if_changed();
        return note_allocation(block, {bytes, alignment});
    }

    void* allocate_large(std::size_t bytes, std::size_t alignment)
    {
        detail::core::oversized_blocks::check_size(bytes, alignment);
        void* block = nullptr;
        detail::base::try_again_after(detail::base::by_trimming(*this),
                                      [&] { block = arenas_.allocate_large(bytes, alignment); });
        return block;
    }

    // Reports.

    static report_statistics read_statistics(const void* resource) noexcept
    {
        return static_cast<const basic_arena_resource*>(resource)->reported_statistics();
    }

    report_statistics reported_statistics() const noexcept
    {
        report_statistics statistics;
        statistics.block_size = arena_size();
        statistics.capacity = arena_count();
        statistics.limit = max_arenas() != arena_options::unbounded ? max_arenas() : report_statistics::unlimited;
        statistics.in_use = statistics.capacity - std::min<std::uint64_t>(free_arenas(), statistics.capacity);
        statistics.bytes_reserved = bytes_reserved();
        statistics.bytes_in_use = bytes_in_use();
        statistics.bytes_of_slack = bytes_wasted();
        return statistics;
    }

    void publish() noexcept
    {
        if constexpr (!Arenas::is_shared) {
            arenas_at_publication_ = arena_count();
            entry_.publish();
        }
    }

    /// Publishes statistics when the number of arenas has grown by an eighth, because reading them is linear in arenas.
    MEMORY_POOL_NOINLINE void publish_if_changed() noexcept
    {
        const std::size_t now = arenas_.store().arena_count();
        if (now - arenas_at_publication_ > arenas_at_publication_ / 8)
            publish();
    }

    MEMORY_POOL_SLOW_PATH void deallocate_large(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        const detail::base::block_request given{bytes, alignment};
        if constexpr (variant::checks)
            if (const auto misuse =
                    arenas_.with_checks([&](const checks_type& checks) { return checks.misuse(block, given); })) {
                report(*misuse, block, given);
                return;
            }
        if (!arenas_.deallocate_large(block, bytes, alignment))
            report(error_kind::foreign_pointer, block, given);
    }

    /// Frees a block of an arena in which a scope began.
    MEMORY_POOL_SLOW_PATH void deallocate_slowly(arena_type& from, void* block,
                                                 const detail::base::block_request& given) noexcept
    {
        error_kind misuse = error_kind::foreign_pointer;
        if constexpr (!Arenas::is_shared) {
            if (arenas_.has_mark(from)) {
                if (given_back(block, given.bytes) &&
                    arenas_.take_back_at_mark(from, static_cast<std::byte*>(block), extent(given.bytes)))
                    return;
                misuse = error_kind::double_free;
            }
        }
        report(misuse, block, given);
    }

    MEMORY_POOL_ALWAYS_INLINE void* note_allocation(void* block, const detail::base::block_request& asked)
    {
        if constexpr (variant::checks) {
            note_checked_allocation(block, asked);
        } else {
            detail::base::arena_block_allocated(this, block, asked.bytes);
        }
        return block;
    }

    /// Returns: false if AddressSanitizer knows that the block is free. A checking policy detects this earlier.
    MEMORY_POOL_ALWAYS_INLINE bool given_back(void* block, std::size_t bytes) noexcept
    {
        if constexpr (!variant::checks)
            return detail::base::arena_block_given_back(this, block, bytes);
        detail::base::block_given_back(this, block, bytes);
        return true;
    }

    MEMORY_POOL_NOINLINE void note_checked_allocation(void* block, const detail::base::block_request& asked)
    {
        const auto misuse =
            arenas_.with_checks([&](const checks_type& checks) { return checks.hand_out(block, asked); });
        detail::base::block_allocated(this, block, asked.bytes);
        if (misuse) // Reported last, because the error handler may use the resource.
            report(*misuse, block, asked);
    }

    /// Returns: false if misuse was reported.
    MEMORY_POOL_NOINLINE bool take_back_checked(void* block, const detail::base::block_request& given) noexcept
    {
        const std::optional<detail::base::misuse> misuse = arenas_.with_checks([&](const checks_type& checks) {
            const std::optional<detail::base::misuse> found = checks.misuse(block, given);
            if (!found)
                checks.take_back(block, given.bytes);
            return found;
        });
        if (misuse)
            report(*misuse, block, given);
        return !misuse;
    }

    /// As pool_use::note_use.
    bool note_use(const void* block = nullptr) noexcept
    {
        return use::note_use(block, [this] { return bytes_in_use() != 0; });
    }

    void forget_blocks(bool keeps_arenas) noexcept
    {
        (void)note_use();
        arenas_.forget_blocks(keeps_arenas);
        publish();
        detail::base::pool_gone(this);
        detail::base::pool_made(this);
    }

    MEMORY_POOL_SLOW_PATH void report(const detail::base::misuse& found, const void* block,
                                      const detail::base::block_request& given) const noexcept
    {
        detail::base::report_misuse(found, block, given, name());
    }

    Arenas arenas_;
    const std::size_t largest_block_;
    std::size_t arenas_at_publication_ = 0;
    detail::core::reported entry_;
};

/// On destruction, frees every block allocated from an arena resource since the scope was constructed:
///
///     arena_scope scope(arenas);        parse(request, &arenas);        } // as if each block had been freed
///
/// Arenas without blocks in use become free, and large blocks return to upstream. Older blocks may be freed during the
/// scope or later. Scopes nest: they end in the reverse order of their construction.
///
/// Thread safety: as the resource, which is for one thread at a time.
class [[nodiscard]] arena_scope : detail::base::immovable<arena_scope>
{
public:
    /// Effects: begins a scope. Allocates nothing. The scope at level 65,535 also frees the blocks of scopes nested
    ///   more deeply.
    /// Complexity: O(1).
    template <class Policy>
    explicit arena_scope(basic_unsynchronized_arena_resource<Policy>& arenas) noexcept
    {
        arenas.arenas_.begin_scope(mark_);
    }

    /// Effects: frees the blocks allocated since the construction, unless `clear` or `release` of the resource has
    ///   freed them. No-op if the resource has been destroyed.
    /// Preconditions: no block from the scope is used or freed any more: its containers have been destroyed, or never
    ///   will be. Nested scopes have ended. Otherwise, they end now, and a checking policy reports them.
    /// Complexity: linear in arenas and large blocks taken during the scope; with a checking policy, linear in their
    ///   bytes.
    ~arena_scope()
    {
        if (mark_.arenas != nullptr)
            mark_.arenas->end_scope(mark_);
    }

private:
    detail::core::arena_mark mark_;
};

MEMORY_POOL_INSTANCE(class basic_arena_resource<default_policy, detail::core::local_arenas>)
MEMORY_POOL_INSTANCE(class basic_arena_resource<checking_policy, detail::core::local_arenas>)
MEMORY_POOL_INSTANCE(class basic_arena_resource<default_policy, detail::core::shared_arenas>)
MEMORY_POOL_INSTANCE(class basic_arena_resource<checking_policy, detail::core::shared_arenas>)
}} // namespace memory_pool::MEMORY_POOL_ABI
