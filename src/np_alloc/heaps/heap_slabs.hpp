// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slabs of a heap, by class.
///
///     class 0: slab <-> slab     class 1: slab     ...       slabs with free blocks
///     all:     slab <-> slab <-> slab                        all slabs
///
///     outstanding blocks of a class = the sum over its slabs of capacity - free blocks
///     bytes of slabs = outstanding + free in carved parts + never carved
///
/// A thread takes the heap lock only to use its slabs, when its cache is empty or full. So other threads can take the
/// lock of an idle thread's heap to drain its remote frees.
///
/// Thread safety: any thread may read the statistics; all other members need the heap lock, or exclusive use of the
///   heap.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/os/pages.hpp>

#include "../page_heap/page_heap.hpp"
#include "../release/release_policy.hpp"
#include "../slices/empty_slabs.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slab_counts.hpp"
#include "../slices/slack_samples.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex> // std::try_to_lock_t
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The slabs of one heap. A base class, so that the tag of a slice leads to the slabs of any kind of heap: see heap.hpp
/// and shared_heap.hpp.
class alignas(class_bits + 1) heap_slabs : base::immovable<heap_slabs>
{
public:
    /// Holds the heap lock during its lifetime. Misuse found during that time is added to a list.
    class MEMORY_POOL_SCOPED_CAPABILITY scoped_lock : base::immovable<scoped_lock>
    {
    public:
        scoped_lock(heap_slabs& where, misuse_list& found) noexcept MEMORY_POOL_ACQUIRE(where.mutex_) : heap_(where)
        {
            heap_.mutex_.lock();
            heap_.found_ = &found;
            add(heap_.owner_locks_, std::uint32_t{1});
        }

        /// For threads other than the owner: tries to take the lock; is_on() returns whether the lock was taken. The
        /// thread safety analysis cannot follow a try-lock: see assume_held().
        scoped_lock(heap_slabs& where, misuse_list& found, std::try_to_lock_t) noexcept
            : heap_(where), is_on_(where.mutex_.try_lock())
        {
            if (is_on_)
                heap_.found_ = &found;
        }
        ~scoped_lock() MEMORY_POOL_RELEASE()
        {
            if (!is_on_)
                return;
            heap_.found_ = nullptr;
            heap_.mutex_.unlock();
        }

        bool is_on() const noexcept { return is_on_; }

    private:
        heap_slabs& heap_;
        bool is_on_ = true;
    };

    constexpr explicit heap_slabs(page_heap& from, bool is_shared = false) noexcept
        : pages_(from), is_shared_(is_shared)
    {
    }

    /// Tells the thread safety analysis that the caller holds the heap lock, or that no other thread uses the heap.
    void assume_held() const noexcept MEMORY_POOL_ASSUMES_HELD(mutex_) {}

    slice_tag own_tag() const noexcept { return reinterpret_cast<slice_tag>(this); }

    /// Returns: the heap that a slice with that tag belongs to.
    /// Preconditions: the tag belongs to a slab.
    static heap_slabs& of(slice_tag tag) noexcept { return *reinterpret_cast<heap_slabs*>(tag & ~class_bits); }

    /// Returns: whether this is a shared_heap, which any thread can use under its lock.
    bool is_shared() const noexcept { return is_shared_; }

    /// Returns: how often the owner has taken the heap lock, modulo 2^32.
    /// Thread safety: any thread.
    std::uint32_t owner_locks() const noexcept { return owner_locks_.load(std::memory_order_relaxed); }

    /// Effects: takes up to `count` blocks from slabs. Adds a slab if no slab has free blocks.
    /// Returns: the number of blocks; 0 if there is no memory.
    MEMORY_POOL_ALWAYS_INLINE std::uint32_t take(std::size_t size_class, void** blocks, std::uint32_t count) noexcept
        MEMORY_POOL_REQUIRES(mutex_)
    {
        auto& with_blocks = with_blocks_[size_class];
        if (with_blocks.empty() && !add_slab(size_class))
            return 0;
        std::uint32_t taken = 0;
        while (taken != count && !with_blocks.empty())
            taken += take_from(record(with_blocks.first()), blocks + taken, count - taken);
        note_taken(size_class, block_count{taken});
        return taken;
    }

    /// Returns: whether `block` is an outstanding block of this heap in a slab so sparse that moving the slab's blocks
    ///   pays. This requires that other slabs of the class have room for all of these blocks, and that the slab has at
    ///   least the mean number of free blocks of slabs with free blocks.
    bool is_in_sparse_slab(const void* block) const noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (!has_outstanding(block))
            return false;
        const slice_record& slab = slab_of(block);
        const std::uint32_t of_class = outstanding(slab.size_class);
        return counts_.has_room_elsewhere(slab, of_class) && counts_.is_sparse(slab, of_class);
    }

    /// Effects: takes a block of that class from a slab that is no sparser than the mean, other than the slab of
    ///   `block`. Moves sparser slabs found on the way to the end of the list, so that later blocks come from dense
    ///   slabs, too.
    /// Returns: the block; nullptr if the first few slabs are all sparser.
    /// Preconditions: is_in_sparse_slab(block).
    /// Complexity: O(1).
    void* take_from_denser_slab(std::size_t size_class, const void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        constexpr int max_looks = 16;
        auto& with_blocks = with_blocks_[size_class];
        for (int looks = 0; looks != max_looks; ++looks) {
            slice_record& slab = record(with_blocks.first());
            if (&slab != &slab_of(block) && counts_.is_dense(slab, outstanding(size_class))) {
                void* taken = nullptr;
                note_taken(size_class, block_count{take_from(slab, &taken, 1)});
                return taken;
            }
            with_blocks.remove(slab.slab, links_in_class{region()});
            with_blocks.add_last(slab.slab, links_in_class{region()});
        }
        return nullptr;
    }

    /// Returns: whether an outstanding block of a slab of this heap begins at `address`, which may be any address.
    bool has_outstanding(const void* address) const noexcept
    {
        if (region().slices_before(address) >= region().committed() ||
            reinterpret_cast<std::uintptr_t>(address) % sizes::step != 0)
            return false;
        const slice_tag tag = tag_of(address);
        if ((tag & ~class_bits) != own_tag())
            return false;
        const slice_record& slab = slab_of(address);
        const std::size_t number =
            block_at(class_info[tag & class_bits],
                     static_cast<std::size_t>(static_cast<const std::byte*>(address) - slab.begin));
        return number != no_block_there && slab.is_outstanding(number);
    }

    /// Effects: returns a block to its slab if the block is outstanding. The block belongs to this heap, or did until
    ///   recently.
    /// Returns: the error, if any. The caller reports the error.
    std::optional<error_kind> put(std::size_t size_class, void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (MEMORY_POOL_UNLIKELY(tag_of(block) != (own_tag() | size_class)))
            return error_kind::double_free; // Its slab has since been returned.
        std::optional<error_kind> wrong;
        const slice_record::returned result =
            put_into(slab_of(block), size_class, &block, 1, [&wrong](error_kind kind, const void*) { wrong = kind; });
        count_outstanding(size_class, -block_count{result.taken_back});
        return wrong;
    }

    /// Effects: calls `visit(const slice_record&)`, under the heap lock, for the slab that contains a slice, if the
    ///   slab belongs to this heap.
    /// Thread safety: any thread.
    template <class Visit>
    void with_slab(slice_index slice, Visit&& visit)
    {
        const base::lock_guard lock(mutex_);
        if ((region().tag(slice).load(std::memory_order_relaxed) & ~class_bits) == own_tag())
            visit(std::as_const(record(record(slice).slab)));
    }

    /// Effects: reports an error of a block of that class: at once, or, if a scoped_lock is held, after its release.
    MEMORY_POOL_SLOW_PATH void report(error_kind kind, std::size_t size_class, const void* block) noexcept
    {
        report_sized(kind, block, size_class < class_count ? class_info[size_class].block_bytes : 0);
    }

    MEMORY_POOL_SLOW_PATH void report_sized(error_kind kind, const void* block, std::size_t bytes) noexcept
    {
        if (found_ != nullptr)
            found_->add(kind, block, bytes);
        else
            report_misuse(kind, block, bytes);
    }

    // Whole heap.

    /// Effects: returns all slabs without outstanding blocks, including the last of a class; if `with_memory`, returns
    ///   their memory to the system first.
    void give_back_empty_slabs(bool with_memory = false) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        for_each_slab([this, with_memory](slice_record& slab) {
            assume_held();
            if (slab.is_empty())
                remove_slab(slab, with_memory);
        });
        empty_.restart();
    }

    /// Returns: an estimate of the memory behind the slabs: peak outstanding bytes, plus a page for each slice. A slab
    ///   allocates its lowest blocks first, so it touches little more memory than its own peak.
    std::size_t max_memory() const noexcept
    {
        constexpr std::size_t page_bytes = 4096; // The usual size; querying it in each slow call would cost too much.
        const std::size_t held = slab_bytes();
        return std::min(held,
                        peak_outstanding_bytes_.load(std::memory_order_relaxed) + held / slice_bytes * page_bytes);
    }

    /// Returns: if most of max_memory() is free, the approximate number of slices that the free part would fill;
    ///   otherwise 0.
    /// Thread safety: the owner, without the lock.
    std::size_t sparse_slices() const noexcept
    {
        const std::size_t held = max_memory();
        const std::size_t used = outstanding_bytes();
        return held / 2 > used ? (held - used) / slice_bytes : 0;
    }

    /// Effects: restarts the peak of outstanding bytes at the current value.
    void restart_peak() noexcept { peak_outstanding_bytes_.store(outstanding_bytes(), std::memory_order_relaxed); }

    /// Effects: does one step of a sweep, beginning where the last step ended. Of the slabs that were not used for
    ///   `min_age_ms`, returns the empty slabs to the system, and the memory of free pages in the others. `is_early`:
    ///   the decay time is not over yet, so reuse is recorded. Does not count purged pages, because they may already
    ///   have no memory.
    bool sweep_some(std::uint64_t min_age_ms, bool is_early = false) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const std::uint64_t now = release_clock::now();
        if (next_to_sweep_ == no_slice && !is_swept()) {
            next_to_sweep_ = slabs_.first();
            is_incomplete_ = false;
        }
        int purged = 0;
        for (int seen = 0; next_to_sweep_ != no_slice; ++seen) {
            if (seen == max_slabs_seen_a_step || purged == max_slabs_purged_a_step)
                return false;
            slice_record& slab = record(next_to_sweep_);
            next_to_sweep_ = slab.next_in_heap;
            if (!is_old(slab, now, min_age_ms)) {
                is_incomplete_ = true;
            } else if (slab.is_empty()) {
                remove_slab(slab, true);
                ++purged;
            } else {
                purged += purge_free_pages_of(slab, is_early) != 0 ? 1 : 0;
            }
        }
        swept_at_.store(now, std::memory_order_relaxed);
        is_swept_.store(!is_incomplete_, std::memory_order_relaxed);
        empty_.restart();
        if (!is_incomplete_)
            restart_peak();
        return true;
    }

    /// Effects: sweeps all slabs, regardless of their age.
    void sweep_all(bool is_early = false) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        note_unswept();
        next_to_sweep_ = no_slice;
        while (!sweep_some(0, is_early)) {
        }
    }

    /// Effects: sweeps all slabs early, because the thread may make no other call. A no-op while early purges are
    ///   paused.
    void sweep_early() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (pages_.may_be_early_in_slabs(release_clock::now()))
            sweep_all(true);
    }

    /// Returns: when the last sweep ended.
    /// Thread safety: any thread.
    std::uint64_t swept_at() const noexcept { return swept_at_.load(std::memory_order_relaxed); }

    /// Returns: whether no slab has changed since the last sweep began, and no slab was too young for that sweep.
    /// Thread safety: any thread.
    bool is_swept() const noexcept { return is_swept_.load(std::memory_order_relaxed); }

    /// Effects: returns all slabs, even with outstanding blocks.
    void give_back_slabs() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        for_each_slab([this](slice_record& slab) {
            assume_held();
            pages_.checks().slab_dropped(slab.slab);
            remove_slab(slab);
        });
        for (std::atomic<std::uint32_t>& count : outstanding_)
            count.store(0, std::memory_order_relaxed);
        outstanding_bytes_.store(0, std::memory_order_relaxed);
    }

    /// Effects: calls `visit(slice_record&)` for each slab.
    template <class Visit>
    void for_each_slab(Visit&& visit) const MEMORY_POOL_REQUIRES(mutex_)
    {
        slabs_.for_each([&](slice_index each) { visit(record(each)); }, links_in_heap{region()});
    }

    /// Returns: the number of slabs.
    /// Preconditions: no other thread uses the heap.
    /// Complexity: linear in slabs.
    std::size_t slabs() const noexcept
    {
        assume_held();
        std::size_t count = 0;
        for_each_slab([&count](const slice_record&) { ++count; });
        return count;
    }

    /// Samples of requested sizes: see slack_samples.hpp.
    slack_samples& slack() noexcept { return slack_; }

    /// Returns: the estimated slack of the outstanding blocks of that class, in bytes.
    std::size_t slack_estimate(std::size_t size_class) const noexcept
    {
        return slack_.estimate(size_class, outstanding(size_class));
    }

    // Statistics, exact while the heap lock is free.

    /// Returns: the number of blocks of that class outside of slabs.
    std::uint32_t outstanding(std::size_t size_class) const noexcept
    {
        return outstanding_[size_class].load(std::memory_order_relaxed);
    }

    /// Returns: bytes of blocks of all classes outside of slabs.
    std::size_t outstanding_bytes() const noexcept { return outstanding_bytes_.load(std::memory_order_relaxed); }

    /// Returns: bytes of slabs of all classes.
    std::size_t slab_bytes() const noexcept { return slab_bytes_.load(std::memory_order_relaxed); }

    /// Returns: the number of slabs of each class, and their occupancy.
    const slab_counts& counts() const noexcept { return counts_; }

protected:
    /// Adds to a counter that only the owner changes.
    template <class Number>
    static void add(std::atomic<Number>& counter, Number more) noexcept
    {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    /// Counts blocks of that class that left their slabs, or, if `more` is negative, returned to them.
    void count_outstanding(std::size_t size_class, block_count more) noexcept
    {
        add(outstanding_[size_class], static_cast<std::uint32_t>(more));
        add(outstanding_bytes_, static_cast<std::size_t>(more) * class_info[size_class].block_bytes);
    }

    template <auto Next, auto Previous>
    using heap_links = slice_links<page_heap::region_type, Next, Previous>;

    page_heap::region_type& region() const noexcept { return pages_.region(); }
    slice_record& record(slice_index slice) const noexcept { return region().record(slice); }
    slice_record& slab_of(const void* block) const noexcept { return record(region().record_of(block).slab); }
    slice_tag tag_of(const void* block) const noexcept
    {
        return region().tag_of(block).load(std::memory_order_relaxed);
    }

    template <class Refuse>
    MEMORY_POOL_ALWAYS_INLINE slice_record::returned put_into(slice_record& slab, std::size_t size_class,
                                                              void* const* blocks, std::size_t count,
                                                              Refuse&& refuse) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const slice_record::returned result = slab.put(class_info[size_class], blocks, count, refuse);
        slab.touched_at = release_clock::last();
        note_unswept();
        if (MEMORY_POOL_UNLIKELY(slab.has_changed_state()) && result.taken_back != 0)
            came_back(slab);
        return result;
    }

private:
    friend class heap_verifier;
    using links_in_heap = heap_links<&slice_record::next_in_heap, &slice_record::previous_in_heap>;
    using links_in_class = heap_links<&slice_record::next_slab, &slice_record::previous_slab>;

    /// Takes up to `count` blocks from a slab. Returns: the number of blocks.
    MEMORY_POOL_ALWAYS_INLINE std::uint32_t take_from(slice_record& slab, void** blocks, std::uint32_t count) noexcept
        MEMORY_POOL_REQUIRES(mutex_)
    {
        MEMORY_POOL_DELAY_POINT();
        slab.touched_at = release_clock::last();
        note_unswept();
        if (const std::size_t early = std::exchange(slab.early_pages, std::uint8_t{0});
            MEMORY_POOL_UNLIKELY(early != 0))
            pages_.early_in_slabs().note_reuse(early * os::page_size(), slab.touched_at,
                                               pages_.source().decay.decay_ms());
        if (slab.is_empty())
            empty_.leave(slab.size_class);
        const std::uint32_t first = slab.carved_bytes() == 0 ? pages_.checks().first_to_take(slab.slab, count) : 0;
        const std::uint32_t taken = slab.take(blocks, count, first);
        std::byte* const carved_end = slab.carved_end;
        if (const std::size_t carved = slab.carve(*blocks); carved != 0) {
            counts_.add_carved(slab.size_class, carved);
            pages_.checks().carved(slab.slab, carved_end);
        }
        if (!slab.has_blocks())
            unlist(slab);
        return taken;
    }

    void note_taken(std::size_t size_class, block_count taken) noexcept
    {
        count_outstanding(size_class, taken);
        if (outstanding_bytes() > peak_outstanding_bytes_.load(std::memory_order_relaxed))
            restart_peak();
    }

    /// Updates the lists after the first or the last outstanding block has returned to a slab.
    void came_back(slice_record& slab) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        list(slab);
        if (!slab.is_empty())
            return;
        // Keep a slab of one slice if it is the only slab with free blocks. Otherwise, a program whose blocks just fill
        // the other slabs would thrash.
        const bool is_only_one = slab.previous_slab == slab.slab && class_info[slab.size_class].slices == 1;
        const bool is_kept = is_only_one || empty_.has_room(slab.size_class);
        empty_.enter(slab.size_class);
        if (is_kept) {
            with_blocks_[slab.size_class].remove(slab.slab, links_in_class{region()});
            with_blocks_[slab.size_class].add_last(slab.slab, links_in_class{region()});
        } else {
            empty_.note_given(slab.size_class);
            remove_slab(slab);
        }
    }

    /// Returns: whether a new slab of that class may have a huge page. There are two conditions: the slab will probably
    ///   be filled; and the huge page is small compared with the memory in use, or more slabs of the class will fill
    ///   it. A slab is added only when the others are full, which distinguishes a program with many blocks of one size
    ///   from a program with a few blocks of many sizes.
    bool may_have_huge_page(std::size_t size_class) const noexcept
    {
        constexpr std::size_t min_bytes_of_class = std::size_t{192} * 1024;
        constexpr std::size_t many = std::size_t{8} << 20;
        constexpr std::size_t min_bytes_if_dense = std::size_t{1} << 20;
        if (is_checked ||
            std::size_t{outstanding(size_class)} * class_info[size_class].block_bytes < min_bytes_of_class)
            return false;
        const bool is_dense = outstanding_bytes() >= slab_bytes() / 8 * 5;
        return outstanding_bytes() >= (is_dense ? min_bytes_if_dense : many);
    }

    bool add_slab(std::size_t size_class) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        empty_.note_needed(size_class);
        spare_an_empty_slab();
        const run taken = pages_.take_slab(size_class, own_tag(), may_have_huge_page(size_class));
        const slice_index added = taken.first;
        if (added == no_slice)
            return false;
        if (taken.is_zeroed)
            pay_for(class_info[size_class].slab_bytes);
        empty_.enter(size_class);
        add(slab_bytes_, std::size_t{class_info[size_class].slab_bytes});
        counts_.add(size_class);
        slabs_.add_first(added, links_in_heap{region()});
        list(record(added));
        return true;
    }

    /// Returns to the page heap an empty slab that was kept for another class. (An empty slab in a list is the last
    /// slab, unless blocks were moved to denser slabs.)
    void spare_an_empty_slab() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        for (std::size_t each = 0; (each = empty_.class_to_spare(each)) != class_count; ++each) {
            slice_record& last = record(record(with_blocks_[each].first()).previous_slab);
            if (last.is_empty()) {
                remove_slab(last);
                return;
            }
        }
    }

    /// Effects: before the heap grows by `bytes`, purges twice as many bytes in sparse slabs that were not used
    ///   recently, oldest first.
    void pay_for(std::size_t bytes) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const std::uint64_t now = release_clock::last();
        if (slab_bytes() - outstanding_bytes() < min_free_to_pay || !pages_.may_be_early_in_slabs(now))
            return;
        std::size_t paid = 0;
        for (int seen = 0; seen != max_slabs_seen_for_growth && paid < 2 * bytes; ++seen) {
            if (next_to_pay_ == no_slice)
                next_to_pay_ = slabs_.first();
            if (next_to_pay_ == no_slice)
                break;
            next_to_pay_ = record(next_to_pay_).previous_in_heap; // The list is a ring: the last slab is the oldest.
            slice_record& slab = record(next_to_pay_);
            if (slab.free_count >= slab.capacity / 2 && is_old(slab, now, min_age_to_pay_ms))
                paid += purge_free_pages_of(slab, true);
        }
    }

    /// Marks the heap as changed since the last sweep.
    void note_unswept() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        is_incomplete_ = true;
        is_swept_.store(false, std::memory_order_relaxed);
    }

    static bool is_old(const slice_record& slab, std::uint64_t now, std::uint64_t min_age_ms) noexcept
    {
        return slab.touched_at + min_age_ms <= now || min_age_ms == 0;
    }

    /// Returns: bytes of purged pages that may have had memory; never 0 if the purge took time.
    std::size_t purge_free_pages_of(slice_record& slab, bool is_early) noexcept
    {
        if (std::size_t{slab.free_count} * slab.block_bytes < os::page_size() || std::exchange(slab.is_purged, true))
            return 0;
        pages_.lose_memory_of_slab(slab.slab);
        std::size_t bytes = 0;
        bool is_refused = false; // Locked memory stays.
        const auto purge = [this, &slab, &bytes, &is_refused](std::byte* from, std::byte* end) {
            const auto row = static_cast<std::size_t>(end - from);
            if (is_refused || !pages_.checks().may_be_purged(slab.slab, from, end))
                return;
            is_refused = !os::purge_memory(from, row);
            if (is_checked && is_refused)
                std::memset(from, 0, row);
            bytes += is_refused ? 0 : row;
        };
        const std::size_t guard = pages_.checks().wants_guards() ? os::page_size() : 0;
        slab.for_each_row_of_free_pages(os::page_size(), slab_slices(slab.size_class) * slice_bytes - guard, purge);
        if (is_early && bytes != 0) {
            slab.early_pages = static_cast<std::uint8_t>(std::min<std::size_t>(bytes / os::page_size(), 255));
            pages_.early_in_slabs().note(bytes, release_clock::last());
        }
        return is_checked ? std::max<std::size_t>(bytes, 1) : bytes;
    }

    void list(const slice_record& slab) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        counts_.add_listed(slab.size_class, block_count{slab.is_listed() ? 0U : 1U});
        with_blocks_[slab.size_class].add_first(slab.slab, links_in_class{region()});
    }

    void unlist(const slice_record& slab) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        counts_.add_listed(slab.size_class, -block_count{slab.is_listed() ? 1U : 0U});
        with_blocks_[slab.size_class].remove(slab.slab, links_in_class{region()});
    }

    void remove_slab(slice_record& slab, bool with_memory = false) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (slab.is_empty())
            empty_.leave(slab.size_class);
        unlist(slab);
        if (next_to_sweep_ == slab.slab)
            next_to_sweep_ = slab.next_in_heap;
        if (next_to_pay_ == slab.slab)
            next_to_pay_ = slab.next_in_heap;
        slabs_.remove(slab.slab, links_in_heap{region()});
        add(slab_bytes_, std::size_t{0} - class_info[slab.size_class].slab_bytes);
        counts_.remove(slab);
        with_memory ? pages_.give_slab_and_memory(slab.slab) : pages_.give_slab(slab.slab);
    }

protected:
    /// On a separate cache line, because other threads read these members.
    page_heap& pages_;
    const bool is_shared_;
    alignas(64) fork_mutex mutex_{lock_rank::heap}; ///< The heap lock: see scoped_lock.

private:
    std::atomic<std::size_t> slab_bytes_{0};
    std::atomic<std::size_t> peak_outstanding_bytes_{0}; ///< Since restart_peak().
    misuse_list* found_ = nullptr;                       ///< Set by the holder of the lock.
    std::atomic<std::uint32_t> owner_locks_{0};
    base::intrusive_list<links_in_heap> slabs_ MEMORY_POOL_GUARDED_BY(mutex_);
    // Cursors: this sweep has finished the slabs before next_to_sweep_; pay_for() continues before next_to_pay_.
    slice_index next_to_sweep_ MEMORY_POOL_GUARDED_BY(mutex_) = no_slice;
    slice_index next_to_pay_ MEMORY_POOL_GUARDED_BY(mutex_) = no_slice;
    bool is_incomplete_ MEMORY_POOL_GUARDED_BY(mutex_) = false; ///< In this sweep, a slab was young or changed.
    std::atomic<bool> is_swept_{false};
    std::atomic<std::uint64_t> swept_at_{0};
    std::array<base::intrusive_list<links_in_class>, class_count> with_blocks_ MEMORY_POOL_GUARDED_BY(mutex_){};
    std::array<std::atomic<std::uint32_t>, class_count> outstanding_{};
    std::atomic<std::size_t> outstanding_bytes_{0}; ///< Of all classes.
    slab_counts counts_;
    empty_slabs empty_ MEMORY_POOL_GUARDED_BY(mutex_);
    slack_samples slack_;
};
} // namespace memory_pool::np
