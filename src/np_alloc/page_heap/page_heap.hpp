// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What all heaps share: the region, its runs, and the tags of slices.
///
/// Free runs keep their memory for a while, as it costs a system call and a fault of each page to give it back and get it again.
/// When most of it is free, they keep it for a moment only, as the program may be done and never come here again; unless it turned
/// out that it needs such memory again soon. Whoever comes to the runs gives back what is due, without the lock.
///
/// When the addresses of the region are used up, blocks are mapped one by one; and samples of blocks stand in guarded slots: see
/// direct_blocks.hpp.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/clock.hpp>

#include "../hardening/checked_slice.hpp"
#include "../hardening/direct_blocks.hpp"
#include "../hardening/guarded_slots.hpp"
#include "../hardening/noted_parts.hpp"
#include "../hardening/revoked_runs.hpp"
#include "../slices/huge_page_policy.hpp"
#include "../slices/huge_pages.hpp"
#include "../slices/region.hpp"
#include "../slices/runs.hpp"
#include "../slices/sizes.hpp"
#include "../slices/slab.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "../support/mutex.hpp"
#include "../support/options.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace memory_pool::np
{
/// What a page heap has, in bytes if not said otherwise.
struct page_heap_figures
{
    std::size_t reserved;      ///< In use, or free and not given back to the system.
    std::size_t peak_reserved; ///< The most that ever were.
    std::size_t dirty;         ///< Of those reserved: free.
    std::size_t purged;        ///< Ever given back to the system, while the addresses stayed.
    std::size_t slabs;         ///< How many there are.
    std::size_t large_blocks;  ///< How many there are, with those outside of the region.
    std::size_t large;         ///< In those.
};

/// Memory in runs, for the heaps of one process.
class page_heap
{
public:
    using region_type = np::region<std::atomic<slice_tag>, record_of_slice>;
    using noted_parts_type = std::conditional_t<is_checked, noted_parts, no_noted_parts>;

    constexpr page_heap() noexcept = default;
    page_heap(const page_heap&) = delete;
    page_heap& operator=(const page_heap&) = delete;
    ~page_heap() = default;

    /// Effects: reserves addresses, if not done yet. `is_to_grow`: as few as possible, if the system allows it.
    /// Returns: whether there are some.
    bool start(std::size_t most_bytes, bool is_to_grow = false) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (region_.most_slices() != 0)
            return true;
        if (!(is_to_grow && region_.reserve_to_grow(most_bytes)) && !region_.reserve(most_bytes))
            return false;
        if (noted_.start(region_.most_slices()))
            return true;
        region_.release();
        return false;
    }

    /// Effects: gives those addresses back that were never needed. What is needed from now on is mapped for itself.
    void give_addresses_back() noexcept
    {
        const std::lock_guard lock(mutex_);
        region_.release_uncommitted();
    }

    /// Effects: gives all addresses back.
    /// Preconditions: nothing is in use, or will be touched again.
    void stop() noexcept
    {
        region_.release();
        noted_.stop();
    }

    /// Effects: makes a slab of that class that belongs to the heap at `heap`. `will_be_filled`: so that a huge page is not too much.
    /// Returns: its first slice, or no_slice.
    slice_number take_slab(std::size_t size_class, slice_tag heap, bool will_be_filled) noexcept
    {
        const std::uint32_t slices = slab_slices(size_class);
        first_touch touch;
        const run taken = take(slices, 1, [this, will_be_filled, &touch](const run& its) {
            touch = huge_pages_.enter_slab(its, will_be_filled);
        });
        if (taken.first == no_slice)
            return no_slice;
        measure(touch, taken.first + slices);
        MEMORY_POOL_DELAY_POINT();
        region_.record(taken.first).start(taken.first, region_.address(taken.first), size_class);
        for (slice_number slice = taken.first; slice != taken.first + slices; ++slice)
            region_.record(slice).slab = taken.first;
        if constexpr (is_checked)
            checks().slab_made(taken.first, slices);
        set_tag(taken.first, slices, heap | size_class);
        slabs_.fetch_add(1, std::memory_order_relaxed);
        return taken.first;
    }

    /// Effects: takes a slab apart.
    /// Preconditions: no block of it is away.
    void give_slab(slice_number first) noexcept { give_slab(first, true); }

    /// Effects: as give_slab(), and returns the memory of the slab to the system first.
    /// Preconditions: the same; blocks are not checked.
    void give_slab_and_memory(slice_number first) noexcept
    {
        const bool is_purged = purge_part_of_slab(first, region_.address(first), slab_bytes_of(first));
        if (is_purged)
            purged_.fetch_add(slab_bytes_of(first), std::memory_order_relaxed);
        give_slab(first, !is_purged);
    }

    /// Effects: returns the memory of free runs to the system, oldest first, while most is free, unless such memory was
    ///   needed again soon after.
    void purge_while_mostly_free() noexcept
    {
        while (is_due_at_once(os::coarse_milliseconds()) &&
               purge_dirty_since(std::numeric_limits<std::uint64_t>::max()).is_done) {
        }
    }

    /// Effects: gives memory back to the system that lies in a slab, between blocks.
    /// Returns: whether the system took it.
    bool purge_part_of_slab(slice_number first, std::byte* memory, std::size_t bytes) noexcept
    {
        {
            const std::lock_guard lock(mutex_);
            huge_pages_.parts().lose_memory(first, slab_slices(region_.record(first).size_class));
        }
        return os::purge_memory(memory, bytes);
    }

    /// Effects: makes a large block.
    /// Returns: it, or a run that begins at no_slice.
    run take_large(std::size_t bytes, std::size_t alignment) noexcept
    {
        return take_large(bytes, alignment, [this](const run& its) { return huge_pages_.enter_large(its); });
    }

    /// Effects: takes a large block apart.
    /// Returns: whether there is one; not if another thread has done so in the meantime.
    bool give_large(slice_number first) noexcept { return give_large(first, true); }

    /// Effects: makes a large block of at least `bytes` that holds what the one at `first` held, which is no more. If it has no
    ///   memory yet, that of the old one moves, if the system can do that: it costs less than to copy, and to get other memory. If
    ///   it has, it is the other way round.
    /// Returns: it; `first` is no_slice if there is no memory: then the old one is as it was.
    /// Preconditions: it is not smaller than the old one.
    run move_large(slice_number first, std::size_t bytes) noexcept
    {
        const std::size_t old_bytes = held_by_large(first);
        const run moved = take_large(bytes, 1, [this, first](const run& its) {
            return huge_pages_.grow_large(first, region_.record(first).length, its);
        });
        if (moved.first == no_slice)
            return {};
        std::byte* const from = region_.address(first);
        std::byte* const to = region_.address(moved.first);
        const os::moving result = !is_checked && moved.is_zeroed ? move_memory(first, moved) : os::moving::refused;
        if (result == os::moving::lost)
            return {}; // Its slices stay those of a block, so that nobody gets them.
        if (result == os::moving::refused)
            std::memcpy(to, from, old_bytes);
        (void)give_large(first, result == os::moving::refused);
        return moved;
    }

    /// Returns: whether a large block has room for `bytes` now, where it is. It is made longer if need be, and shorter if a quarter
    ///   of it would not be used.
    bool resize_large(slice_number first, std::size_t bytes) noexcept
    {
        if (slices_for(bytes) == 0 || !is_conceivable(bytes))
            return false;
        if constexpr (is_checked)
            return checks().resize_large(first, bytes, [&] { return resize_run(first, bytes); });
        else
            return resize_run(first, bytes);
    }

    // Blocks outside of the region.

    /// Returns: a block that is mapped for itself; nullptr if the system has no memory.
    void* take_direct(std::size_t bytes, std::size_t alignment) noexcept
    {
        if (!is_conceivable(bytes))
            return nullptr;
        const std::lock_guard lock(mutex_);
        void* const block = direct_.take(bytes, alignment);
        direct_count_.store(direct_.count(), std::memory_order_relaxed);
        if (block != nullptr) {
            count_direct(1, direct_.bytes(block));
            note_peak();
        }
        return block;
    }

    /// Returns: a block in a guarded slot; nullptr if there is no place, or the system has no memory.
    /// Preconditions: as guarded_slots::take.
    MEMORY_POOL_NOINLINE void* take_guarded(std::size_t bytes) noexcept
    {
        const auto by = os::call_stack::of_this_thread(); // Without the lock, as the loader may have one of its own.
        const std::lock_guard lock(mutex_);
        void* const block = direct_.take_guarded(bytes, by);
        direct_count_.store(direct_.count(), std::memory_order_relaxed);
        if (block != nullptr) {
            count_direct(1, bytes);
            note_peak();
        }
        return block;
    }

    /// Effects: leaves no more room behind `bytes` than it has to, if that is a block in a guarded slot.
    /// Returns: the block, which may begin elsewhere now.
    /// Preconditions: as guarded_slots::fit.
    void* fit_guarded(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        if (!direct_.slots().contain(block))
            return block;
        const std::lock_guard lock(mutex_);
        const std::size_t bytes_before = direct_.bytes(block);
        void* const fitted = direct_.fit(block, std::max<std::size_t>(bytes, 1), alignment);
        count_direct(0, direct_.bytes(fitted) - bytes_before);
        return fitted;
    }

    /// Effects: takes such a block back.
    /// Returns: whether there was one; not if another thread has given it back meanwhile.
    MEMORY_POOL_NOINLINE bool give_direct(const void* block) noexcept
    {
        const auto by =
            direct_.slots().contain(block) ? os::call_stack::of_this_thread() : os::call_stack(); // without the lock
        const std::lock_guard lock(mutex_);
        const std::size_t bytes = direct_.bytes(block);
        if (bytes == 0)
            return false;
        count_direct(minus_one, std::size_t{0} - bytes);
        direct_.give(block, by);
        direct_count_.store(direct_.count(), std::memory_order_relaxed);
        return true;
    }

    /// Returns: what is wrong with giving back an address outside of the region, where no block begins.
    wrong_address what_is_wrong_with(const void* address) noexcept
    {
        if (direct_count_.load(std::memory_order_relaxed) == 0 && !direct_.slots().contain(address))
            return {error::foreign_pointer, 0};
        const std::lock_guard lock(mutex_);
        return direct_.what_is_wrong_with(address);
    }

    /// Where samples are, for whoever is told of a fault, and cannot wait for a lock.
    const guarded_slots& slots() const noexcept { return direct_.slots(); }

    /// Returns: how many bytes such a block has; 0 if it is none.
    std::size_t direct_bytes(const void* block) noexcept
    {
        if (direct_count_.load(std::memory_order_relaxed) == 0)
            return 0;
        const std::lock_guard lock(mutex_);
        return direct_.bytes(block);
    }

    /// Returns: whether `address` lies in such a block.
    bool is_in_direct(const void* address) noexcept
    {
        if (direct_count_.load(std::memory_order_relaxed) == 0)
            return false;
        const std::lock_guard lock(mutex_);
        return direct_.hold(address);
    }

    /// Effects: gives the memory of all free runs back to the system.
    /// Returns: how many bytes that was.
    std::size_t trim() noexcept
    {
        std::size_t bytes = 0;
        // What the system does not take is the youngest then, and not tried again.
        for (std::size_t left = figures().dirty; left != 0;) {
            const purge_attempt last = purge_dirty_since(std::numeric_limits<std::uint64_t>::max());
            if (last.bytes == 0)
                break;
            left -= std::min(left, last.bytes);
            bytes += last.is_done ? last.bytes : 0;
        }
        return bytes;
    }

    /// Effects: gives the memory of a free run back to the system, if it has kept it for decay_ms() milliseconds.
    /// Returns: whether it did.
    bool purge_one_old() noexcept { return purge_dirty_since(before(os::coarse_milliseconds(), decay_ms())).is_done; }

    /// Effects: has free runs keep their memory for that many milliseconds from now on; 1,000 in the beginning.
    void set_decay_ms(std::uint64_t milliseconds) noexcept
    {
        decay_ms_.store(milliseconds, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        backs_off_until_ = 0;
        reused_ = 0;
    }
    std::uint64_t decay_ms() const noexcept { return decay_ms_.load(std::memory_order_relaxed); }

    /// Returns: slices in free runs that may have memory.
    std::size_t dirty_slices() const noexcept { return dirty_slices_.load(std::memory_order_relaxed); }

    /// Returns: bytes that were ever given back to the system.
    std::size_t purged() const noexcept { return purged_.load(std::memory_order_relaxed); }

    /// Complexity: O(1).
    page_heap_figures figures() noexcept
    {
        const std::lock_guard lock(mutex_);
        return {reserved(),
                peak_reserved_,
                runs_.dirty() * slice_bytes,
                purged(),
                slabs_.load(std::memory_order_relaxed),
                large_blocks_.load(std::memory_order_relaxed),
                large_bytes_.load(std::memory_order_relaxed)};
    }

    region_type& region() noexcept { return region_; }

    /// Returns: whether nobody is to touch a block of so many bytes when it has been freed, where blocks are checked.
    static bool is_revoked_when_freed(std::size_t bytes) noexcept
    {
        return bytes >= revoked_runs::least_bytes && the_options.get(np_option_guard_pages) != 0;
    }

    /// Returns: the large block that was freed where nobody may touch that address any more; nullptr if it is none.
    /// Thread safety: as guarded_slots::nearest.
    const guarded_block* freed_at(const void* address) const noexcept { return revoked_.find(address); }

    /// Returns: runs that are nobody's for good, as their addresses are another's.
    std::size_t lost_runs() const noexcept { return lost_runs_; }

    /// Returns: what looks after guards, and what free memory is filled with. To be used where blocks are checked.
    run_checks<region_type, noted_parts_type> checks() noexcept { return {region_, noted_}; }

    /// Effects: calls `visit(slice_number first, const slice_record&)` for each run, in use or free, until that returns false.
    /// Returns: whether it never did.
    /// Preconditions: the runs are valid, and stay as they are.
    template <class Visit>
    bool for_each_run(Visit&& visit)
    {
        const std::size_t used = with_runs([](const auto& all) { return all.used(); });
        for (std::size_t first = 0; first != used; first += region_.record(first).length)
            if (!visit(static_cast<slice_number>(first), static_cast<const slice_record&>(region_.record(first))))
                return false;
        return true;
    }

    /// Effects: calls `visit(void* block, std::size_t bytes)` for each block outside of the region, until that returns false.
    /// Returns: whether it never did.
    /// Preconditions: none comes or goes.
    template <class Visit>
    bool for_each_direct(Visit&& visit)
    {
        bool goes_on = true;
        direct_.for_each([&](void* block, std::size_t bytes) { goes_on = goes_on && visit(block, bytes); });
        return goes_on;
    }

    /// Returns: whether what is known of blocks outside of the region fits together.
    bool direct_blocks_are_valid() noexcept
    {
        const std::lock_guard lock(mutex_);
        return direct_.is_valid();
    }

    /// Effects: calls `look(const runs&)` with the lock held, and returns what that returns.
    template <class Look>
    auto with_runs(Look&& look) noexcept
    {
        const std::lock_guard lock(mutex_);
        return look(runs_);
    }

    // Around a fork.
    void lock_for_fork() noexcept { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept { mutex_.unlock_after_fork(); }

    /// Effects: gives back what threads that are not there were about to give back, as this is the child of a fork.
    void finish_purges() noexcept
    {
        for (run begun = runs_.find_being_purged(); begun.first != no_slice; begun = runs_.find_being_purged())
            (void)purge(begun);
    }

    /// Returns: slices that `bytes` need, at least one; 0 if those are more than there can be.
    static constexpr std::uint32_t slices_for(std::size_t bytes) noexcept
    {
        if (bytes > std::size_t{1} << 47)
            return 0;
        return static_cast<std::uint32_t>(base::divide_round_up(bytes != 0 ? bytes : 1, slice_bytes));
    }

    /// Leaves slices marked as they are.
    struct no_marks
    {
        constexpr void operator()(const run&) const noexcept {}
    };

    /// Effects: takes slices, and has `mark(const run&)` say whose they are: with the lock, so a fork finds them marked, or free.
    /// Returns: them; `first` is no_slice if there is no memory.
    template <class Mark = no_marks>
    run take_bytes(std::size_t bytes, std::size_t alignment, Mark&& mark = {}) noexcept
    {
        const std::uint32_t slices = slices_for(bytes);
        const std::uint32_t aligned_to = alignment > slice_bytes ? slices_for(alignment) : 1;
        return slices != 0 && aligned_to != 0 && is_conceivable(bytes) ? take(slices, aligned_to, mark) : run{};
    }

private:
    static constexpr std::size_t minus_one = ~std::size_t{0};

    /// Returns: whether it makes sense to have addresses for so much memory.
    static bool is_conceivable(std::size_t bytes) noexcept
    {
        constexpr std::size_t least_to_ask = std::size_t{1} << 30;
        return MEMORY_POOL_LIKELY(bytes < least_to_ask) || os::may_commit_ever(bytes);
    }

    // Figures.

    void count_large(std::size_t blocks, std::size_t bytes) noexcept
    {
        large_blocks_.fetch_add(blocks, std::memory_order_relaxed);
        large_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }

    void count_direct(std::size_t blocks, std::size_t bytes) noexcept
    {
        count_large(blocks, bytes);
        direct_bytes_ += bytes;
    }

    std::size_t reserved() const noexcept { return (runs_.in_use() + runs_.dirty()) * slice_bytes + direct_bytes_; }
    /// To be called whenever something is taken or given back: a clean run that a dirty one is joined with counts as dirty.
    void note_peak() noexcept
    {
        peak_reserved_ = std::max(peak_reserved_, reserved());
        dirty_slices_.store(runs_.dirty(), std::memory_order_relaxed);
    }

    // Runs.

    /// Returns: bytes of a large block that have to be moved with it.
    std::size_t held_by_large(slice_number first) noexcept
    {
        if constexpr (is_checked)
            return checks().bytes_of_large(first);
        else
            return region_.record(first).length * slice_bytes;
    }

    /// `decide(const run&)` advises about huge pages under it, and returns the first touch to time; called with the
    /// lock held.
    template <class Decide>
    run take_large(std::size_t bytes, std::size_t alignment, Decide&& decide) noexcept
    {
        first_touch touch;
        const run taken = take_bytes(is_checked ? checks().with_guard(bytes) : bytes, alignment, [&](const run& its) {
            touch = decide(its);
            region_.record(its.first).home = nullptr;
            set_tag(its.first, 1, large_block);
            set_tag(its.first + 1, its.length - 1, inside_large_block);
            count_large(1, its.length * slice_bytes);
        });
        MEMORY_POOL_DELAY_POINT();
        measure(touch, taken.first + taken.length);
        // Reported last, as the error handler may leave by a long jump.
        if constexpr (is_checked)
            if (taken.first != no_slice)
                if (const void* const damaged = checks().large_made(taken.first, taken.length, bytes))
                    report_misuse(error::write_after_free, damaged, 0);
        return taken;
    }

    /// Times a first touch, without the lock, as it may take long. The caller owns the slices up to `end`. Not in the
    /// checked build, where a page may still be a guard.
    void measure(const first_touch& touch, slice_number end) noexcept
    {
        if (is_checked || MEMORY_POOL_LIKELY(touch.kind == first_touch::page::none))
            return;
        const std::uint64_t cost = huge_pages_.measure(region_.address(touch.at));
        const std::lock_guard lock(mutex_);
        huge_pages_.note_cost(touch, cost, end);
    }

    bool resize_run(slice_number first, std::size_t bytes) noexcept
    {
        const std::uint32_t slices = slices_for(is_checked ? checks().with_guard(bytes) : bytes);
        const std::uint32_t length = region_.record(first).length;
        if (slices == 0 || (slices <= length && slices >= length - length / 4))
            return slices != 0;
        return slices > length ? extend_run(first, length, slices) : shorten_run(first, length, slices);
    }

    bool extend_run(slice_number first, std::uint32_t length, std::uint32_t slices) noexcept
    {
        first_touch touch;
        {
            const std::lock_guard lock(mutex_);
            if (revoked_.overlap(region_.address(first + length), region_.address(first + slices)) ||
                !runs_.extend(first, length, slices))
                return false;
            if constexpr (is_checked)
                checks().large_extended(first + length, slices - length);
            touch = huge_pages_.grow_large(first, length, {first, slices});
            set_tag(first + length, slices - length, inside_large_block);
            count_large(0, (slices - length) * slice_bytes);
            note_peak();
        }
        measure(touch, first + slices);
        return true;
    }

    bool shorten_run(slice_number first, std::uint32_t length, std::uint32_t slices) noexcept
    {
        const std::lock_guard lock(mutex_);
        huge_pages_.leave_large(first, length);
        set_tag(first + slices, length - slices, no_owner);
        count_large(0, std::size_t{0} - (length - slices) * slice_bytes);
        runs_.shorten(first, length, slices, os::coarse_milliseconds());
        note_peak();
        return true;
    }

    /// Effects: moves what a large block holds, without copying it. With the lock, so that nobody tells the system things about a
    ///   part of it that make it several mappings.
    os::moving move_memory(slice_number from, const run& to) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (!note_mappings(from, to.first))
            return os::moving::refused;
        const os::moving result = os::move_memory(region_.address(from), region_.address(to.first),
                                                  region_.record(from).length * slice_bytes);
        if (result == os::moving::refused)
            huge_pages_.parts().forget(to.first, to.length);
        return result;
    }

    void give_slab(slice_number first, bool is_dirty) noexcept
    {
        const std::uint32_t slices = slab_slices(region_.record(first).size_class);
        set_tag(first, slices, no_owner);
        if constexpr (is_checked)
            checks().slab_ends(first, slices);
        MEMORY_POOL_DELAY_POINT();
        slabs_.fetch_sub(1, std::memory_order_relaxed);
        (void)give(first, is_dirty, [slices] { return slices; });
    }

    std::size_t slab_bytes_of(slice_number first) const noexcept
    {
        return std::size_t{slab_slices(region_.record(first).size_class)} * slice_bytes;
    }

    bool give_large(slice_number first, bool is_dirty) noexcept
    {
        const std::optional<guarded_block> freed = description_of(first);
        if constexpr (is_checked)
            is_dirty = checks().large_ends(first);
        MEMORY_POOL_DELAY_POINT();
        return give(first, is_dirty, [&]() -> std::uint32_t {
            if (region_.tag(first).load(std::memory_order_relaxed) != large_block)
                return 0;
            const std::uint32_t length = region_.record(first).length;
            huge_pages_.leave_large(first, length);
            set_tag(first, length, no_owner);
            count_large(minus_one, std::size_t{0} - length * slice_bytes);
            revoke(first, freed, is_dirty);
            return length;
        });
    }

    /// Returns: what is to be remembered of a large block that is freed now; nothing if it is not to be put out of reach.
    std::optional<guarded_block> description_of([[maybe_unused]] slice_number first) noexcept
    {
        if constexpr (is_checked) {
            if (!is_revoked_when_freed(checks().bytes_of_large(first)))
                return std::nullopt;
            guarded_block freed;
            freed.begin = region_.address(first);
            freed.bytes = checks().bytes_of_large(first);
            // Not with the lock of a heap: the loader may have one of its own.
            if (region_.record(first).home == nullptr)
                freed.freed_by = os::call_stack::of_this_thread();
            return freed;
        }
        return std::nullopt;
    }

    void revoke([[maybe_unused]] slice_number first, [[maybe_unused]] const std::optional<guarded_block>& freed,
                [[maybe_unused]] bool has_memory) noexcept
    {
        if constexpr (is_checked) {
            if (!freed)
                return;
            if (revoked_.put(freed->begin, checks().canary_end(first), has_memory, *freed)) {
                if (has_memory)
                    checks().large_revoked(first);
            } else if (has_memory) {
                checks().large_not_revoked(first);
            }
        }
    }

    /// Returns: a run that was taken, if all of it may be touched now; if not, none.
    run restored(const run& taken, std::uint64_t now) noexcept
    {
        const os::moving result =
            revoked_.take(region_.address(taken.first), region_.address(taken.first + taken.length));
        if (result == os::moving::refused)
            runs_.put(taken.first, taken.length, !taken.is_zeroed, now);
        lost_runs_ += result == os::moving::lost ? 1 : 0;
        return result == os::moving::done ? taken : run{};
    }

    /// Effects: gives the memory back that is kept of a run that nobody may touch.
    void purge_backing_copies(const run& taken) noexcept
    {
        struct kept
        {
            void* memory;
            std::size_t bytes;
        };
        std::array<kept, revoked_runs::most> all; // It takes long, so others are not to wait for it.
        std::size_t count = 0;
        {
            const std::lock_guard lock(mutex_);
            revoked_.forget_memory(region_.address(taken.first), region_.address(taken.first + taken.length),
                                   [&](void* memory, std::size_t bytes) { all[count++] = {memory, bytes}; });
        }
        while (count != 0) {
            --count;
            (void)os::release_addresses(all[count].memory, all[count].bytes);
        }
    }

    /// Effects: notes where mappings of the system begin when the memory of the run at `from` was moved to `to`: each end of what
    ///   moves does from then on, here and there.
    /// Returns: whether those are not too many, and what moves is one of them: of several, Linux moves none, or, since 6.17, one after
    ///   the other, and when it may make no more mappings, some have moved and others have not.
    bool note_mappings(slice_number from, slice_number to) noexcept
    {
        const std::uint32_t length = region_.record(from).length;
        if (mappings_ >= most_mappings || !huge_pages_.parts().are_alike(from, to, length) ||
            !os::are_one_mapping(region_.address(from), length * slice_bytes))
            return false;
        for (const slice_number begin : {from, from + length, to, to + length})
            if (begin < region_.committed() && !std::exchange(region_.record(begin).begins_mapping, true))
                ++mappings_;
        return true;
    }

    void set_tag(slice_number first, std::uint32_t count, slice_tag tag) noexcept
    {
        for (slice_number slice = first; slice != first + count; ++slice)
            region_.tag(slice).store(tag, std::memory_order_relaxed);
    }

    template <class Mark = no_marks>
    run take(std::uint32_t slices, std::uint32_t alignment, Mark&& mark = {}) noexcept
    {
        const std::uint64_t now = os::coarse_milliseconds();
        run taken;
        bool is_due = false;
        {
            const std::lock_guard lock(mutex_);
            taken = runs_.take(slices, alignment);
            if (taken.first != no_slice)
                taken = restored(taken, now);
            note_peak();
            if (taken.first != no_slice)
                mark(taken);
            if (taken.is_zeroed && runs_.used() <= most_used_)
                note_reuse(taken.length * slice_bytes, now);
            most_used_ = std::max(most_used_, runs_.used());
            is_due = runs_.has_dirty_since(before(now, decay_ms()));
        }
        if (MEMORY_POOL_UNLIKELY(is_due))
            (void)purge_dirty_since(before(now, decay_ms()));
        return taken;
    }

    /// Gives slices back. Before, with the lock, `unmark()` has them be nobody's, and returns how many they are, or 0 if they are nobody's
    /// already.
    /// Returns: whether they were not.
    template <class Unmark>
    bool give(slice_number first, bool is_dirty, Unmark&& unmark) noexcept
    {
        const std::uint64_t now = os::coarse_milliseconds();
        std::uint64_t since = before(now, decay_ms());
        std::size_t due = 0;
        {
            const std::lock_guard lock(mutex_);
            const std::uint32_t slices = unmark();
            if (slices == 0)
                return false;
            runs_.put(first, slices, is_dirty, now);
            if (!is_dirty && region_.grows())
                shrink_region();
            note_peak();
            if (MEMORY_POOL_UNLIKELY(is_mostly_free()) && now >= backs_off_until_) {
                since = std::max(since, before(now, eager_decay_ms));
                due = runs_.has_dirty_since(since) ? most_eager_runs : 0;
                purged_eagerly_at_ = due != 0 ? now : purged_eagerly_at_;
            } else if (runs_.has_dirty_since(since)) {
                due = 1;
            }
        }
        while (MEMORY_POOL_UNLIKELY(due != 0) && purge_dirty_since(since).is_done)
            --due;
        return true;
    }

    bool is_mostly_free() const noexcept
    {
        return runs_.dirty() > std::max(2 * runs_.in_use(), most_dirty_for_nothing);
    }

    /// Returns: whether memory that has just become free goes back to the system at once.
    bool is_due_at_once(std::uint64_t now) noexcept
    {
        const std::lock_guard lock(mutex_);
        const bool is_due = is_mostly_free() && now >= backs_off_until_;
        purged_eagerly_at_ = is_due ? now : purged_eagerly_at_;
        return is_due;
    }

    /// Notes that memory is needed which the system was given back. When a lot of it was given back in haste, and not long ago, there
    /// is no haste for a while.
    void note_reuse(std::size_t bytes, std::uint64_t now) noexcept
    {
        if (now - purged_eagerly_at_ > decay_ms())
            return;
        reused_ += bytes;
        if (reused_ < most_reused)
            return;
        reused_ = 0;
        backs_off_until_ = now + 10 * decay_ms();
    }

    /// What came of giving the memory of a run back.
    struct purge_attempt
    {
        std::size_t bytes = 0; ///< Of the run; 0: there is none.
        bool is_done = false;
    };

    /// Effects: gives the memory of the oldest run back, if a part of it has been free since then.
    purge_attempt purge_dirty_since(std::uint64_t since) noexcept
    {
        run oldest;
        {
            const std::lock_guard lock(mutex_);
            oldest = runs_.take_dirty_since(since);
            if (oldest.first == no_slice)
                return {};
            huge_pages_.parts().lose_memory(oldest.first, oldest.length);
            huge_pages_.parts().purge_around(oldest);
        }
        return purge(oldest);
    }

    /// Effects: gives the memory of a run back, and then the run, which was handed out for that.
    purge_attempt purge(const run& taken) noexcept
    {
        const std::size_t bytes = taken.length * slice_bytes;
        MEMORY_POOL_DELAY_POINT();
        const bool is_done = os::purge_memory(region_.address(taken.first), bytes);
        if constexpr (is_checked) {
            purge_backing_copies(taken);
            checks().run_purged(taken.first, taken.length);
        }
        MEMORY_POOL_DELAY_POINT();
        if (is_done)
            purged_.fetch_add(bytes, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        runs_.put_purged(taken, !is_done, os::coarse_milliseconds());
        if (region_.grows())
            shrink_region();
        note_peak();
        return {bytes, is_done};
    }

    /// Effects: releases the addresses behind all runs, if worth a system call: the program may need them for something
    ///   else.
    void shrink_region() noexcept
    {
        constexpr std::size_t least_slices = (std::size_t{1} << 20) / slice_bytes;
        [[maybe_unused]] const run last = runs_.forget_last_if_clean();
        if constexpr (is_checked)
            if (last.first != no_slice)
                checks().run_purged(last.first, last.length); // Else there would seem to be guards.
        if (region_.committed() - runs_.used() < least_slices)
            return;
        huge_pages_.parts().forget_from(static_cast<slice_number>(runs_.used()));
        region_.shrink(runs_.used());
    }

    static constexpr std::uint64_t before(std::uint64_t now, std::uint64_t milliseconds) noexcept
    {
        return now - std::min(now, milliseconds);
    }

    /// How many mappings moving may make, of the 65,530 that Linux lets a process have. From there on, memory is copied.
    static constexpr std::size_t most_mappings = 16'384;
    /// That many free slices keep their memory as long as any others, however few are in use.
    static constexpr std::size_t most_dirty_for_nothing = (std::size_t{8} << 20) / slice_bytes;
    /// How long free runs keep it when most of the memory is free, in milliseconds: two ticks of the clock.
    static constexpr std::uint64_t eager_decay_ms = 8;
    /// How many of them lose it at a time.
    static constexpr std::size_t most_eager_runs = 64;
    /// When so many bytes were needed again soon after, nothing is given back in haste for a while.
    static constexpr std::size_t most_reused = std::size_t{4} << 20;

    mutex mutex_;
    region_type region_;
    runs<region_type> runs_{region_};
    huge_page_policy<region_type> huge_pages_{region_};
    noted_parts_type noted_;
    direct_blocks direct_;
    std::conditional_t<is_checked, revoked_runs, no_revoked_runs> revoked_;
    std::uint64_t purged_eagerly_at_ = 0;
    std::uint64_t backs_off_until_ = 0;
    std::size_t reused_ = 0;
    std::size_t most_used_ = 0; ///< Peak of slices.
    std::size_t peak_reserved_ = 0;
    std::size_t direct_bytes_ = 0;
    std::size_t mappings_ = 0;
    std::size_t lost_runs_ = 0;
    std::atomic<std::size_t> dirty_slices_{0}; ///< Copy of the runs' count, for readers without the lock.
    std::atomic<std::size_t> slabs_{0};
    std::atomic<std::size_t> large_blocks_{0};
    std::atomic<std::size_t> large_bytes_{0};
    std::atomic<std::size_t> direct_count_{0};
    std::atomic<std::uint64_t> decay_ms_{1000};
    std::atomic<std::size_t> purged_{0};
};
} // namespace memory_pool::np
