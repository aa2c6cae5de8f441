// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr: a block is handed out by moving a cursor, and an arena whose last block is freed is
/// reused.
///
///     current:  | header | block | block | gap | block |        free        |      allocate moves the cursor
///                                                      ^ cursor
///     others:   | header | block |   gap   | block |  rest  |                      free once all their blocks are back
///     free:     | header |                     free                         |      are used next
///
///     allocate:    fits into an arena:  the cursor moves      else:  a large block, from upstream
///     deallocate:  the same question:   found by masking      else:  a large block, back upstream
///
///     bytes_reserved = arena_count * arena_size + large blocks + the state of threads
///
/// For containers and their like that come and go as a whole, or nearly: parsing, a request, a frame. Where blocks of
/// all ages are mixed for long, one block can keep an arena from being used again (`bytes_wasted` tells), and a pool
/// resource is the better choice.
///
/// In a synchronized_arena_resource each thread fills an arena of its own, without a lock, and any may free a block;
/// core/resources/shared_arenas.hpp says how. It reserves about 128 bytes more for each concurrent thread. A process
/// may fork while threads use it, as with pools: see concurrent_block_pool.hpp.
///
/// Thread safety: unsynchronized_arena_resource: one thread at a time. synchronized_arena_resource: any thread, but for
/// `clear`, `release` and the destructor, which need the resource for themselves.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/reports/report_figures.hpp>
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
/// Arenas, over `Arenas`: core::local_arenas or core::shared_arenas. See policies.hpp for `Policy`: a checking one
/// reports misuse at once, but a write to a free block when its bytes are handed out again; to count, put a
/// tracking_resource before or behind it.
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

    /// Effects: makes a resource with 64 KiB arenas from the default resource.
    basic_arena_resource() : basic_arena_resource(arena_options{}) {}

    /// Effects: makes a resource with 64 KiB arenas from `upstream`.
    template <class Resource, class = detail::core::if_resource<Resource>>
    explicit basic_arena_resource(Resource* upstream) : basic_arena_resource(arena_options{}, upstream)
    {
    }

    /// Effects: makes a resource, and allocates `options.arena_count` arenas from `upstream`.
    /// Preconditions: `upstream` outlives the resource. Shared arenas call it under a lock, so never concurrently.
    /// Throws: std::invalid_argument if an option makes no sense or `upstream` is nullptr; size_overflow if the sizes
    ///   do not fit; what upstream throws.
    /// Complexity: linear in chunks of a MiB that are taken; in pages, with `options.prefault`.
    explicit basic_arena_resource(const arena_options& options,
                                  std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : use({options.name != nullptr ? options.name : arena_options{}.name, 0}),
          arenas_(options, variant::checks, upstream), largest_block_(arenas_.store().largest_extent() - canary_bytes),
          entry_(Arenas::is_shared ? "synchronized_arena_resource" : "unsynchronized_arena_resource", name(),
                 {&read_figures, this, Arenas::is_shared})
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
    basic_arena_resource& operator=(const basic_arena_resource&) = delete; // Hold it by a std::unique_ptr.

    /// Effects: returns all memory to upstream. Blocks still in use are gone.
    /// Thread safety: no other thread may use the resource any more. Threads that have used it may end before, at the
    ///   same time, or later.
    ~basic_arena_resource() override
    {
        entry_.leave();
        detail::base::pool_gone(this);
    }

    /// Returns: how many bytes of upstream memory hold `arenas` arenas whose option `arena_size` is that. A buffer must
    ///   be aligned to the bytes of an arena, the next power of two.
    static constexpr std::size_t bytes_for(std::size_t arenas,
                                           std::size_t arena_size = arena_options{}.arena_size) noexcept
    {
        return arenas * detail::core::actual_arena_size(arena_size);
    }

    /// Effects: hands out a block. Through the concrete type this is no virtual call; see resource_allocator.
    /// Returns: the block: `bytes` bytes, aligned to `alignment`. Never nullptr, also for 0 bytes.
    /// Preconditions: `alignment` is a power of two. A checking policy throws std::invalid_argument if not.
    /// Throws: pool_exhausted if the block does not fit into the current arena and the maximum number of arenas is
    ///   reached; size_overflow if `bytes` is more than a program can address; what upstream throws. No block is handed
    ///   out then.
    /// Complexity: O(1), and occasionally a call upstream; for shared arenas, with a lock.
    /// Thread safety: that of `Arenas`.
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
        return handed_out(block, {bytes, alignment});
    }

    /// Effects: frees a block. If it was the last handed out of its arena, its bytes are reused next; if it was the
    ///   last in use there, the arena is reused. (Of shared arenas, the former holds for this thread's current one.)
    ///   nullptr is ignored.
    /// Preconditions: `block` is from this resource and in use, and was requested with these `bytes` and this
    ///   `alignment`. A checking policy reports a violation and ignores the call; other policies report what they
    ///   detect in the header of the arena.
    /// Complexity: O(1), however many arenas there are; linear in scopes in the arena that was current when an
    ///   arena_scope began. Of shared arenas: an atomic operation if this thread does not
    ///   fill the arena, a lock if it was the last block in use there. Allocates nothing. A checking policy looks the
    ///   block up: logarithmic in chunks and large blocks, on average, and linear in the bytes of the block.
    /// Thread safety: that of `Arenas`; of shared ones, any thread may free the block.
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

    /// Effects: returns every chunk of memory whose arenas are all free to upstream. The current arenas of other
    ///   threads stay.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in arenas.
    /// Thread safety: that of `Arenas`.
    std::size_t trim() noexcept
    {
        (void)note_use();
        const std::size_t bytes = arenas_.trim();
        publish();
        return bytes;
    }

    /// Effects: frees every block, and keeps the arenas for later. Large blocks go back upstream.
    /// Complexity: linear in arenas, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void clear() noexcept { forget_blocks(true); }

    /// Effects: frees every block, and returns all memory to upstream. The resource works on.
    /// Complexity: linear in chunks, large blocks and threads.
    /// Thread safety: no other thread may use the resource at the same time.
    void release() noexcept { forget_blocks(false); }

    /// Effects: as basic_block_pool::hand_over.
    /// Complexity: O(1).
    /// Thread safety: no other thread may use the resource at the same time.
    using use::hand_over;

    /// Effects: takes arenas from upstream until `arena_count()` is at least `count`.
    /// Throws: pool_exhausted if `count` is above `max_arenas()`; size_overflow if `count` arenas exceed the address
    ///   space; what upstream throws, after which the arenas allocated so far are kept.
    /// Complexity: linear in chunks of a MiB that are taken; in pages, with `prefault`.
    /// Thread safety: that of `Arenas`.
    void reserve(std::size_t count)
    {
        (void)note_use();
        arenas_.reserve(count);
        publish();
    }

    /// Returns: whether a block of this resource could begin at `address`: it lies in an arena or a large block. Any
    ///   pointer is allowed.
    /// Complexity: logarithmic in chunks and large blocks, on average, and amortized.
    /// Thread safety: that of `Arenas`.
    bool owns(const void* address) const noexcept { return arenas_.contains(address); }

    /// Returns: how many bytes a block has room for that is requested with `bytes` and `alignment`. Requesting
    ///   that many takes no more memory.
    std::size_t good_size(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) const noexcept
    {
        return fits(bytes, alignment) ? detail::core::arena_extent(bytes) : bytes;
    }

    /// Returns: the maximum number of arenas; arena_options::unbounded if there is no limit.
    std::size_t max_arenas() const noexcept { return arenas_.store().max_arenas(); }

    /// Returns: bytes of an arena, header included.
    std::size_t arena_size() const noexcept { return arenas_.store().arena_size(); }

    /// Returns: the largest block that comes from an arena, in bytes, if it is aligned to 64 bytes at most.
    std::size_t largest_block() const noexcept { return largest_block_; }

    // Figures of shared arenas are read with the lock, and are exact if no other thread uses the resource.

    /// Returns: arenas held, in use or not.
    std::size_t arena_count() const noexcept
    {
        return arenas_.with_store([](const auto& store) { return store.arena_count(); });
    }

    /// Returns: arenas in which nothing is in use; of shared ones, also the current arena of a thread, which only that
    ///   thread can use.
    /// Complexity: linear in threads.
    std::size_t free_arenas() const noexcept { return arenas_.free_arenas(); }

    /// Returns: bytes in use: those of blocks in arenas, each rounded up to a multiple of 8, and those of large blocks.
    ///   (With a checking policy, what it has behind each block is in use, too.)
    /// Complexity: linear in arenas.
    std::size_t bytes_in_use() const noexcept { return arenas_.bytes_in_use(); }

    /// Returns: bytes in arenas that can be handed out only after the last block in use in the same arena has come
    ///   back: gaps, and what is left at the end of an arena that the next block did not fit into.
    /// Complexity: linear in arenas and threads.
    std::size_t bytes_wasted() const noexcept { return arenas_.bytes_wasted(); }

    /// Returns: bytes held from upstream, bookkeeping included.
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

    /// Returns whether a block is in an arena. Depends on size and alignment only, so that freeing can ask, too.
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
        return handed_out(block, {bytes, alignment});
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

    static report_figures read_figures(const void* resource) noexcept
    {
        return static_cast<const basic_arena_resource*>(resource)->figures();
    }

    report_figures figures() const noexcept
    {
        report_figures figures;
        figures.block_size = arena_size();
        figures.capacity = arena_count();
        figures.limit = max_arenas() != arena_options::unbounded ? max_arenas() : report_figures::unlimited;
        figures.in_use = figures.capacity - std::min<std::uint64_t>(free_arenas(), figures.capacity);
        figures.bytes_reserved = bytes_reserved();
        figures.bytes_in_use = bytes_in_use();
        figures.bytes_of_slack = bytes_wasted();
        return figures;
    }

    void publish() noexcept
    {
        if constexpr (!Arenas::is_shared) {
            arenas_at_publication_ = arena_count();
            entry_.publish();
        }
    }

    /// Publishes figures when the number of arenas has changed by an eighth: they take time linear in arenas.
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

    MEMORY_POOL_ALWAYS_INLINE void* handed_out(void* block, const detail::base::block_request& asked)
    {
        if constexpr (variant::checks) {
            note_handed_out(block, asked);
        } else {
            detail::base::arena_block_handed_out(this, block, asked.bytes);
        }
        return block;
    }

    /// Returns: false if AddressSanitizer knows that the block is free; a policy that checks knows it before.
    MEMORY_POOL_ALWAYS_INLINE bool given_back(void* block, std::size_t bytes) noexcept
    {
        if constexpr (!variant::checks)
            return detail::base::arena_block_given_back(this, block, bytes);
        detail::base::block_given_back(this, block, bytes);
        return true;
    }

    MEMORY_POOL_NOINLINE void note_handed_out(void* block, const detail::base::block_request& asked)
    {
        const auto misuse =
            arenas_.with_checks([&](const checks_type& checks) { return checks.hand_out(block, asked); });
        detail::base::block_handed_out(this, block, asked.bytes);
        if (misuse) // Last, as the error handler may use the resource.
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

/// Frees at its end what was allocated from an arena resource since its construction, however many blocks that is:
///
///     arena_scope scope(arenas);        parse(request, &arenas);        } // as if each block had been freed
///
/// Arenas without blocks in use are free again, large blocks go back upstream. Blocks from before may be freed during
/// the scope, and later. Scopes nest: they end in the reverse order of their construction.
///
/// Thread safety: that of the resource, which is one for one thread.
class [[nodiscard]] arena_scope : detail::base::immovable<arena_scope>
{
public:
    /// Effects: begins a scope. Allocates nothing. Of scopes nested deeper than 65,535, the blocks are freed by the
    ///   65,535th.
    /// Complexity: O(1).
    template <class Policy>
    explicit arena_scope(basic_unsynchronized_arena_resource<Policy>& arenas) noexcept
    {
        arenas.arenas_.begin_scope(mark_);
    }

    /// Effects: frees the blocks allocated since the construction. `clear` and `release` of the resource may have
    ///   freed them before; if the resource has ended, this is a no-op.
    /// Preconditions: no block from the scope is used or freed any more: its containers have ended, or are never
    ///   destroyed. Scopes within this one have ended. If not, they end now, and a checking policy reports it.
    /// Complexity: linear in the arenas and large blocks that the scope has taken; in their bytes, with a checking
    ///   policy.
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
