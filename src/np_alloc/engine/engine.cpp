// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slow paths of the engine, for calls that this thread's magazine cannot serve.
///
/// Thread safety: any thread.
#include "../support/internals.hpp"
#include "engine.hpp"

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/clock.hpp>

#include "../heaps/heap.hpp"
#include "../heaps/heap_maintenance.hpp"
#include "../heaps/shared_heap.hpp"
#include "../heaps/thread_cache.hpp"
#include "../release/release_policy.hpp"
#include "../release/release_tick.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "allocation_scopes.hpp"
#include "block_lookup.hpp"
#include "guarded_samples.hpp"
#include "large_alloc.hpp"
#include "memory_limits.hpp"
#include "profiling.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
namespace {
/// Effects: drains the remote frees that other threads sent, and sends this thread's remote frees to their heaps.
void drain_and_send(heap& mine) noexcept
{
    {
        misuse_list found;
        const heap::scoped_lock lock(mine, found);
        (void)mine.drain();
    }
    mine.send_all();
}

/// Effects: adds a block of another heap to this thread's remote frees.
void free_remotely(thread_cache& cache, slice_tag tag, void* block) noexcept
{
    heap& mine = cache.heap().slabs;
    cache.note_passed();
    if (MEMORY_POOL_LIKELY(mine.has_batch_for(tag))) {
        mine.add_remote_frees(tag, &block, 1);
        return;
    }
    cache.expect_batches();
    misuse_list found;
    const heap::scoped_lock lock(mine, found);
    mine.add_remote_frees(tag, &block, 1);
}

/// Effects: attaches a heap to this thread for its remote frees, unless the thread has made only a few. Preserves
///   errno.
/// Returns: whether the thread now has a heap.
bool attach_to_free() noexcept
{
    const errno_as_it_was kept;
    return registry().attach_to_free(this_thread);
}

/// Returns: the debt: slices whose memory could be returned to the system. These are dirty slices, the free part of
///   this thread's slabs if most of their memory is free, and the heaps of ended threads.
std::size_t debt_of(const thread_cache& cache) noexcept
{
    return pages().source().dirty_slices() + registry().heaps().unlocked_threads().bytes_kept() / slice_bytes +
           (cache.has_heap() ? cache.heap().slabs.sparse_slices() : 0);
}

/// Effects: starts ticks at the frees of this thread if the debt has grown, because the thread may make no other calls
///   that reach the heap. (In the checked build, every free reaches the heap.)
void start_ticks_if_needed() noexcept
{
    thread_cache& cache = this_thread.cache;
    const std::size_t debt = debt_of(cache);
    if (MEMORY_POOL_UNLIKELY(debt > max_ignored_debt))
        cache.ticks().forget(release_clock::last(), pages().source().decay.decay_ms());
    if (!is_checked && MEMORY_POOL_UNLIKELY(cache.ticks().is_needed(debt)) && cache.has_heap())
        cache.start_ticks(release_clock::now(), debt);
}

/// Effects: returns the memory of this thread if the thread has freed nearly all of its blocks.
/// Returns: whether memory was returned.
bool fall_if_nearly_empty(thread_cache& cache) noexcept
{
    const std::size_t outstanding = cache.heap().slabs.outstanding_bytes();
    const std::size_t held = cache.heap().slabs.slab_bytes();
    if (MEMORY_POOL_UNLIKELY(cache.ticks().has_risen(outstanding)))
        pages().early_in_slabs().note_reuse(outstanding, release_clock::last(), pages().source().decay.decay_ms());
    if (MEMORY_POOL_LIKELY(!cache.ticks().may_have_fallen(outstanding, held)) ||
        !pages().may_be_early_in_slabs(release_clock::last()))
        return false;
    const std::size_t cached = cache.held_bytes(); // Including blocks of other heaps.
    if (cached > outstanding || !cache.ticks().has_fallen(outstanding - cached))
        return false;
    registry().maintenance().fall(cache);
    return true;
}

/// Effects: empties the magazines of this thread if a drain was requested since the last drain.
/// Returns: whether the magazines were emptied.
bool drain_if_asked() noexcept
{
    const std::uint32_t asked = registry().maintenance().drains_asked();
    if (MEMORY_POOL_LIKELY(this_thread.drains_done == asked) || !this_thread.cache.has_heap())
        return false;
    this_thread.drains_done = asked;
    heap_maintenance::drain_cache(this_thread.cache);
    return true;
}

/// Effects: checks the clock at a free of this thread, while its ticks are on, and runs the maintenance that is due.
/// Returns: whether this thread's magazines may be empty now, or slabs freed.
MEMORY_POOL_NOINLINE bool look_at_clock() noexcept
{
    const errno_as_it_was kept;
    thread_cache& cache = this_thread.cache;
    release_tick& ticks = cache.ticks();
    const std::uint64_t now = release_clock::now();
    const bool has_fallen = ticks.look(now) && fall_if_nearly_empty(cache);
    if (!ticks.is_time(now))
        return has_fallen;
    if (ticks.is_idle(now, this_thread.slow_calls, sweep_age_ms(pages().source().decay.decay_ms())))
        heap_maintenance::drain_cache(cache);
    registry().maintenance().tick(cache, now);
    const std::size_t debt = debt_of(cache);
    if (!ticks.goes_on(now, debt, this_thread.slow_calls))
        cache.stop_ticks(now, debt);
    return true;
}

/// Effects: reports a block of this thread's heap that is not outstanding: the magazine that held the block has been
///   emptied.
/// Returns: whether the block is outstanding.
bool is_outstanding(std::size_t size_class, void* block) noexcept
{
    misuse_list found; // Declared before the lock: reports after its release.
    heap& mine = this_thread.cache.heap().slabs;
    const heap::scoped_lock lock(mine, found);
    if (mine.has_outstanding(block))
        return true;
    if (const auto wrong = mine.put(size_class, block))
        found.add(*wrong, block, class_info[size_class].block_bytes);
    return false;
}

/// Effects: frees a block of another heap's slab, or of a class for which this thread has no magazine yet.
void free_of_another(slice_tag tag, void* block) noexcept
{
    thread_cache& cache = this_thread.cache;
    const std::size_t size_class = tag & class_bits;
    if (shared_heap* const home = shared_heap_of(block, tag)) {
        const errno_as_it_was kept;
        home->free(size_class, block);
    } else if (MEMORY_POOL_UNLIKELY(!cache.has_heap()) && !attach_to_free()) {
        registry().free_without_heap(tag, block);
    } else if (cache.may_stay(size_class) || cache.owns(tag)) {
        if (!cache.push_slowly(size_class, block))
            free_to_full(size_class, block);
    } else {
        const errno_as_it_was kept;
        free_remotely(cache, tag, block);
        run_maintenance();
    }
}

/// Returns: the alignment of every block of that class.
std::size_t alignment_in_class(std::size_t size_class) noexcept
{
    const std::size_t size = class_info[size_class].block_bytes;
    return size & (~size + 1);
}

/// Effects: allocates a block of `size_class` when there is no memory for a slab: maps the block alone. If that fails
///   too, sweeps, because empty slabs of other sizes may be in the way, and tries again.
MEMORY_POOL_NOINLINE void* allocate_from_the_rest(std::size_t size_class, std::size_t bytes) noexcept
{
    if (!registry().heaps().start())
        return out_of_memory();
    const auto map = [=] {
        return pages().take_mmap_block(class_info[size_class].block_bytes, alignment_in_class(size_class));
    };
    void* block = map();
    if (block == nullptr && sweep()) { // A sweep may free slabs and addresses without returning memory.
        thread_cache& cache = this_thread.cache;
        block = cache.has_heap() ? cache.get(size_class) : registry().heaps().fallback.allocate(size_class, bytes);
        if (block == nullptr)
            block = map();
    }
    return block != nullptr ? block : out_of_memory();
}

void* allocate_uncounted(std::size_t size_class, std::size_t bytes) noexcept;

/// Effects: allocates a block of that class, which has no cached blocks.
MEMORY_POOL_ALWAYS_INLINE void* allocate_from_heap(std::size_t size_class, std::size_t bytes) noexcept
{
    thread_cache& cache = this_thread.cache;
    void* block = nullptr;
    if (cache.has_heap()) {
        run_maintenance();
        if (const std::size_t lent = cache.heap().class_to_allocate(size_class); lent != size_class)
            return allocate_uncounted(lent, bytes);
        cache.heap().slabs.slack().note(size_class, class_info[size_class].block_bytes - bytes);
        block = cache.get(size_class);
    } else if (registry().attach(this_thread)) {
        block = allocate_guarded_if_due(size_class);
        return block != nullptr ? block : allocate_uncounted(size_class, bytes); // The heap may have cached blocks.
    } else if (registry().heaps().start()) {
        block = registry().heaps().fallback.allocate(size_class, bytes);
    }
    if (MEMORY_POOL_UNLIKELY(block == nullptr))
        block = allocate_from_the_rest(size_class, bytes);
    answer_if_crossed();
    return block;
}

/// Effects: allocates a block that is already counted, or need not be counted.
MEMORY_POOL_NOINLINE void* allocate_uncounted(std::size_t size_class, std::size_t bytes) noexcept
{
    void* block = nullptr;
    return this_thread.cache.pop_slowly(size_class, block) ? block : allocate_from_heap(size_class, bytes);
}

/// Effects: as allocate_from_heap, while allocations are not counted.
MEMORY_POOL_NOINLINE void* allocate_without_cache(std::size_t size_class, std::size_t bytes) noexcept
{
    return allocate_from_heap(size_class, bytes);
}

/// Effects: zeroes the `bytes` of a new block, unless NP_ZERO=alloc has done so.
/// Returns: the block.
MEMORY_POOL_ALWAYS_INLINE void* cleared(void* block, std::size_t bytes) noexcept
{
    return clears_new_blocks() ? block : std::memset(block, 0, bytes);
}

/// Effects: allocates a block while allocations are counted, or were counted until now.
MEMORY_POOL_NOINLINE void* allocate_counted(std::size_t size_class, std::size_t bytes) noexcept
{
    choose_path_of_allocations();
    follow_sample_bytes();
    const std::size_t mean = the_profile.mean_bytes();
    void* block = allocate_guarded_if_due(size_class);
    if (MEMORY_POOL_UNLIKELY(block != nullptr)) {
        if constexpr (!is_checked) // In the checked build, the block may still move.
            sample_if_due(block, bytes, nullptr);
        (void)run_maintenance();
        answer_if_crossed();
    } else if (MEMORY_POOL_UNLIKELY(is_sample(bytes, mean))) {
        block = allocate_sample(size_class, bytes, mean);
    }
    if (block == nullptr)
        block = allocate_uncounted(size_class, bytes);
    if (block != nullptr)
        note_if_forbidden(bytes);
    return block;
}
} // namespace

/// While allocations are counted, most allocations take this path. So the case of a hidden magazine comes first, in a
/// function that calls no other function and saves no registers.
MEMORY_POOL_NOINLINE void* allocate_slowly(std::size_t size_class, std::size_t bytes) noexcept
{
    thread_state& mine = this_thread;
    const std::size_t mean = the_profile.mean_bytes();
    const bool must_count = mine.must_count();
    if (MEMORY_POOL_LIKELY(!must_count && !mine.cache.is_counting()))
        return allocate_without_cache(size_class, bytes);
    void* block = nullptr;
    guarded_sample_points& points = mine.cache.samples();
    const std::size_t block_bytes = class_info[size_class].block_bytes;
    const bool may_pass = must_count && mine.no_allocation == nullptr && mine.sampler.may_pass(bytes, mean) &&
                          points.may_pass(block_bytes);
    if (mine.cache.is_counting() && may_pass && mine.cache.pop_slowly(size_class, block)) {
        mine.sampler.pass(bytes);
        points.pass(block_bytes);
        return block;
    }
    return allocate_counted(size_class, bytes);
}

MEMORY_POOL_NOINLINE void* allocate_more(std::size_t bytes) noexcept
{
    return bytes <= largest_in_slab ? allocate_in_class(sizes::of(bytes), bytes) : allocate_large(bytes, 1).block;
}

/// Effects: frees a block that this thread does not cache. Reports an invalid block.
MEMORY_POOL_NOINLINE void free_elsewhere(void* block) noexcept
{
    if (block == nullptr)
        return;
    const slice_tag tag = tag_of(block);
    if (MEMORY_POOL_UNLIKELY(report_if_wrong(tag, block)))
        return;
    if (MEMORY_POOL_LIKELY(is_of_slab(tag))) {
        free_of_another(tag, block);
        return;
    }
    const errno_as_it_was kept;
    (void)the_profile.forget(block);
    if (tag != large_block) {
        if constexpr (!is_checked)
            look_around_sample(block);
        if (!pages().give_mmap_block(block))
            report_wrong_outside(block);
    } else if (!free_large(slice_of(block))) {
        report_misuse(error_kind::double_free, block, 0); // Another thread freed it first.
    }
    start_ticks_if_needed();
}

/// Effects: frees a block in the region while this thread's ticks are on.
MEMORY_POOL_NOINLINE void free_and_tick(slice_tag tag, void* block) noexcept
{
    thread_cache& cache = this_thread.cache;
    if (MEMORY_POOL_UNLIKELY(cache.ticks().is_due()) && look_at_clock()) {
        tag = tag_of(block); // Its slab may have been freed.
        if (cache.owns(tag) && !is_outstanding(tag & class_bits, block))
            return;
    }
    const std::size_t size_class = tag & class_bits;
    if (MEMORY_POOL_UNLIKELY(!cache.owns(tag)) || !cache.push_slowly(size_class, block))
        free_elsewhere(block);
}

/// Writes to a free block of another thread. If this thread only read the block, two processors would share its cache
/// line, and the next write, by the thread that gets the block, would wait for the other processor to invalidate the
/// line. That takes two to three times as long as a write to a line that one processor has written to. The content
/// stays unchanged, because the pointer is not validated yet: it may point to no block, or to a block that is freed
/// twice.
MEMORY_POOL_ALWAYS_INLINE void own_cache_line(void* block) noexcept
{
    if constexpr (!is_checked) {
        auto* const first = static_cast<volatile unsigned char*>(block);
        *first = *first;
    }
}

/// Effects: frees a block of this thread while allocations are counted, or guarded samples are on.
MEMORY_POOL_NOINLINE void free_own_counted(std::size_t size_class, void* block) noexcept
{
    if (MEMORY_POOL_UNLIKELY(!this_thread.cache.push_slowly(size_class, block)))
        free_elsewhere(block);
}

/// If threads hand off blocks, most freed blocks belong to other heaps. So the case of a block that stays in this
/// thread's cache comes first, in a function that calls no other function and saves no registers.
MEMORY_POOL_NOINLINE void free_slowly(void* block) noexcept
{
    const page_heap::region_type& all = pages().region();
    thread_cache& cache = this_thread.cache;
    const std::uintptr_t granule = all.granule_index(block);
    if (MEMORY_POOL_LIKELY(all.is_committed(granule))) {
        const slice_tag tag = all.tag_after(granule).load(std::memory_order_relaxed);
        const std::size_t size_class = tag & class_bits;
        if (MEMORY_POOL_LIKELY(is_of_slab(tag)) && cache.stays_at_once(size_class) &&
            !heap_slabs::of(tag).is_shared() && cache.top(size_class) != nullptr && cache.push(size_class, block)) {
            own_cache_line(block);
            return;
        }
        if (cache.ticks().is_on()) {
            free_and_tick(tag, block);
            return;
        }
        if (cache.owns(tag)) {
            free_own_counted(size_class, block);
            return;
        }
    }
    free_elsewhere(block);
}

/// Verifies the size here, on a path that is slow anyway. A block with less room was never requested with `bytes`. A
/// block with more room may have been, if it was aligned, or if it stayed in place when it shrank.
MEMORY_POOL_NOINLINE void free_sized_slowly(void* block, std::size_t bytes) noexcept
{
    const slice_tag tag = tag_of(block);
    if ((is_of_slab(tag) || tag == large_block) && MEMORY_POOL_UNLIKELY(bytes > usable_size(block, tag)))
        size_mismatches.fetch_add(1, std::memory_order_relaxed);
    plain_paths::free(block);
}

bool run_maintenance() noexcept
{
    thread_cache& cache = this_thread.cache;
    follow_sample_bytes();
    start_ticks_if_needed();
    bool is_changed = drain_if_asked();
    const std::uint8_t calls = ++this_thread.slow_calls;
    if (calls % slow_calls_a_look != 0)
        return is_changed;
    const std::uint64_t now = release_clock::now();
    if (cache.has_heap()) {
        is_changed = fall_if_nearly_empty(cache) || is_changed;
        if (cache.ticks().is_time(now) && debt_of(cache) > max_ignored_debt) {
            registry().maintenance().tick(cache, now);
            is_changed = true;
        }
    }
    if (calls % slow_calls_a_collection == 0) {
        if (cache.has_heap())
            drain_and_send(cache.heap().slabs);
        registry().maintenance().collect();
    }
    return is_changed;
}

/// Maintenance comes first. Maintenance may empty the magazine that would reveal a block freed twice in a row. In that
/// case, asks the heap whether the block is outstanding. (In the checked build, the block state reveals the double
/// free.)
MEMORY_POOL_NOINLINE void free_to_full(std::size_t size_class, void* block) noexcept
{
    const errno_as_it_was kept;
    if (const bool is_changed = run_maintenance(); is_checked || !is_changed)
        this_thread.cache.put(size_class, block);
    else if (const slice_tag tag = tag_of(block);
             !this_thread.cache.owns(tag) || is_outstanding(tag & class_bits, block))
        free_elsewhere(block);
}

// Shared heaps.

void* allocate_like_in(shared_heap& home, std::size_t bytes, std::size_t alignment) noexcept
{
    void* const block = allocate_in(home, bytes, alignment);
    return block != nullptr || registry().heaps().is_made(home) ? block : allocate_aligned(alignment, bytes);
}

void* allocate_zeroed_in(shared_heap& home, std::size_t count, std::size_t size, std::size_t alignment) noexcept
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (class_for(bytes, alignment) == class_count)
        return allocate_large_zeroed(bytes, alignment, &home);
    void* const block = allocate_in(home, bytes, alignment);
    return block != nullptr ? cleared(block, bytes) : nullptr;
}

// Zeroed blocks, and trim.

void* allocate_zeroed(std::size_t count, std::size_t size) noexcept
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (bytes > largest_asked_in_slab)
        return allocate_large_zeroed(bytes, 1);
    void* const block = allocate(bytes);
    return block != nullptr ? cleared(block, bytes) : nullptr;
}

void* allocate_aligned_zeroed(std::size_t alignment, std::size_t count, std::size_t size) noexcept
{
    const std::size_t bytes = base::saturating_multiply(count, size);
    if (class_for(bytes, alignment) == class_count)
        return allocate_large_zeroed(bytes, alignment);
    void* const block = allocate_aligned(alignment, bytes);
    return block != nullptr ? cleared(block, bytes) : nullptr;
}

std::size_t trim() noexcept
{
    return registry().trim(this_thread);
}
} // namespace memory_pool::np
