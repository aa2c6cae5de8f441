// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Walks over all slices and heaps while no other thread is in a call, to visit the blocks in use or to verify them
/// (np_verify).
///
///     every slice that was ever used:  slab | large block | free
///     every slab:                      capacity = free + in use + cached + in transit
///
/// Thread safety: none.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include "../heaps/call_site_heap.hpp"
#include "../heaps/heap_verify.hpp"
#include "../heaps/shared_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../support/build_variant.hpp"
#include "../support/inconsistency.hpp"
#include "cached_block_set.hpp"
#include "process_statistics.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np { namespace {
slice_tag tag_of(const page_heap::region_type& memory, slice_index slice) noexcept
{
    return memory.tag(slice).load(std::memory_order_relaxed);
}

/// Calls a function for each block in use, or for each slab, of one heap or of all.
class visitor
{
public:
    using block_function = int (*)(void* block, std::size_t bytes, void* argument);
    using slab_function = int (*)(const np_slab* slab, void* argument);

    /// `heap`: nullptr for all heaps.
    visitor(heap_registry& all, const shared_heap* heap) noexcept
        : all_(all), heap_(heap), rest_(all.maintenance().background()), cached_(all)
    {
    }

    /// Returns: as np_heap_visit.
    int visit_blocks(block_function callback, void* argument)
    {
        const auto visit_block = [this, callback, argument](void* block, std::size_t bytes) {
            return call([&] { return callback(block, bytes, argument); });
        };
        return visit([&] {
            return for_each_run([&](slice_index first, const slice_record& record, slice_tag tag) {
                       if (tag == large_block)
                           return visit_block(all_.pages().large().begin_of_large(first),
                                              all_.pages().checks().bytes_of_large(first));
                       return record.for_each_outstanding([&](void* block, std::uint32_t number) {
                           return is_cached(first, number) || visit_block(block, bytes_of(first, record, number));
                       });
                   }) &&
                   (heap_ != nullptr || all_.pages().for_each_mmap_block(visit_block));
        });
    }

    /// Returns: as np_slab_visit.
    int visit_slabs(slab_function callback, void* argument)
    {
        return visit([&] {
            return for_each_run([&](slice_index first, const slice_record& record, slice_tag tag) {
                if (tag == large_block)
                    return true;
                const np_slab slab = described(first, record);
                return call([&] { return callback(&slab, argument); });
            });
        });
    }

private:
    /// Returns: 1 if `visit_all()` returns true; 0 if `visit_all()` returns false; -1 on failure.
    template <class VisitAll>
    int visit(VisitAll&& visit_all)
    {
        const bool has_visited_all = (heap_ != nullptr || find_cached()) && visit_all();
        return has_visited_all ? 1 : (has_failed_ ? -1 : 0);
    }

    /// Effects: finds the cached blocks; sets errno on failure.
    /// Returns: whether the search succeeded.
    bool find_cached() noexcept
    {
        if (!cached_.find_all())
            return true;
        has_failed_ = true;
        errno = cached_.has_marks() ? ENOTRECOVERABLE : ENOMEM;
        return false;
    }

    /// A heap of the program caches no blocks.
    bool is_cached(slice_index slab, std::size_t number) const noexcept
    {
        return heap_ == nullptr && cached_.has(slab, number);
    }

    bool is_wanted(const slice_record& record, slice_tag tag) const noexcept
    {
        if (heap_ == nullptr)
            return (tag & ~class_bits) != all_.heaps().internal.own_tag();
        return tag == large_block ? record.home == heap_ : (tag & ~class_bits) == heap_->own_tag();
    }

    /// Calls `visit(slice_index, const slice_record&, slice_tag)` for each wanted slab and large block, until `visit`
    /// returns false. Returns: whether `visit` never returned false.
    template <class Visit>
    bool for_each_run(Visit&& visit)
    {
        return all_.pages().source().for_each_run([&](slice_index first, const slice_record& record) {
            const slice_tag tag = tag_of(all_.pages().region(), first);
            return tag == no_owner || !is_wanted(record, tag) || visit(first, record, tag);
        });
    }

    np_slab described(slice_index first, const slice_record& record) const noexcept
    {
        np_slab slab{record.begin, record.length * slice_bytes, record.block_bytes, record.capacity, 0, 0};
        (void)record.for_each_outstanding([&](void*, std::uint32_t number) {
            ++(is_cached(first, number) ? slab.blocks_cached : slab.blocks_in_use);
            return true;
        });
        return slab;
    }

    std::size_t bytes_of(slice_index slab, const slice_record& record, std::size_t number) const noexcept
    {
        if constexpr (is_checked)
            return all_.pages().checks().bytes_of(slab, number).value_or(0);
        else
            return record.block_bytes;
    }

    /// While the callback runs, the background thread may allocate blocks as batches of remote frees, or free blocks.
    template <class Callback>
    bool call(Callback&& callback)
    {
        int goes_on = 0;
        const bool has_changed = rest_.interrupted_by([&] { goes_on = callback(); });
        return goes_on != 0 && (!has_changed || !cached_.has_marks() || find_cached());
    }

    heap_registry& all_;
    const shared_heap* heap_;
    background_work::rest rest_;
    cached_block_set cached_; ///< Has marks if all heaps are visited.
    bool has_failed_ = false;
};

/// Finds an inconsistency of the heaps, slices and blocks.
class inspector
{
public:
    explicit inspector(heap_registry& all) noexcept : all_(all), memory_(all.pages().region()), cached_(all) {}

    inconsistency verify() noexcept
    {
        if (!all_.pages().source().with_runs([](const auto& runs) { return runs.is_valid(); }))
            return {"the runs or the lists of free runs are damaged", memory_.base()};
        for (const auto find :
             {&inspector::in_heaps, &inspector::in_runs, &inspector::in_counts, &inspector::in_cached_blocks,
              &inspector::in_call_sites, &inspector::in_bytes, &inspector::in_committed_bytes})
            if (const inconsistency found = (this->*find)())
                return found;
        return {};
    }

private:
    /// Verifies the lists of each heap, and counts the slabs and large blocks in these lists.
    inconsistency in_heaps() noexcept
    {
        inconsistency found = in_heap(all_.heaps().internal);
        all_.heaps().for_each_heap([this, &found](auto& heap) {
            if (!found)
                found = in_heap(heap);
        });
        return found;
    }

    inconsistency in_heap(thread_heap& heap) noexcept
    {
        parked_heaps_ += heap.is_parked ? 1 : 0;
        for (std::size_t number = 0; number != class_count; ++number)
            in_transit_[number] += heap.slabs.sent_minus_received(number);
        if (!heap.is_known()) {
            all_heaps_are_known_ = false;
            return {};
        }
        const inconsistency found = np::verify(heap.slabs);
        listed_slabs_ += found ? 0 : heap.slabs.slabs();
        return found;
    }

    inconsistency in_heap(shared_heap& heap) noexcept
    {
        const inconsistency found = heap.verify();
        listed_slabs_ += found ? 0 : heap.slabs();
        listed_large_blocks_ += found ? 0 : heap.large_blocks();
        return found;
    }

    /// Verifies that the tag of each slice matches its run.
    inconsistency in_runs() noexcept
    {
        inconsistency found;
        if (!all_heaps_are_known_) // A thread lost in a fork may have been changing tags.
            return found;
        (void)all_.pages().source().for_each_run([this, &found](slice_index first, const slice_record& record) {
            found = in_run(first, record);
            return !found;
        });
        return found;
    }

    inconsistency in_run(slice_index first, const slice_record& record) noexcept
    {
        const slice_tag tag = tag_of(memory_, first);
        slice_tag of_others = tag;
        if (is_of_slab(tag) && record.state == slice_state::in_use) {
            ++slabs_;
            if (record.slab != first || record.length != slab_slices(tag & class_bits))
                return {"a run is tagged as a slab, but is not one", memory_.address(first)};
        } else if (tag == large_block && record.state == slice_state::in_use) {
            of_others = inside_large_block;
            ++large_blocks_;
            large_blocks_of_heaps_ += record.home != nullptr ? 1 : 0;
            large_bytes_ += (record.length - all_.pages().checks().guard_slices()) * slice_bytes;
        } else if (tag != no_owner) {
            return {"a run has an impossible tag", memory_.address(first)};
        } else if (record.state != slice_state::free) {
            ++unowned_runs_;
        }
        for (slice_index slice = first + 1; slice != first + record.length; ++slice)
            if (tag_of(memory_, slice) != of_others)
                return {"the tag of a slice does not match its run", memory_.address(slice)};
        return {};
    }

    /// Verifies that all counts match.
    inconsistency in_counts() noexcept
    {
        if (!all_.pages().mmap_blocks_are_valid())
            return {"the table of mapped blocks is inconsistent", memory_.base()};
        if (!all_heaps_are_known_)
            return {};
        (void)all_.pages().for_each_mmap_block([this](void*, std::size_t bytes) {
            ++large_blocks_;
            return large_bytes_ += bytes, true;
        });
        const page_heap_statistics counted = all_.pages().statistics();
        if (counted.slabs != slabs_ || counted.large_blocks != large_blocks_ || counted.large != large_bytes_)
            return {"the slab or large-block count does not match the runs", memory_.base()};
        if (unowned_runs_ != all_.pages().source().unowned_runs())
            return {"a run is in use but has no owner", memory_.base()};
        if (listed_slabs_ != slabs_)
            return {"a slab is in no list of its heap", memory_.base()};
        if (parked_heaps_ != all_.heaps().listed_as_parked())
            return {"a parked heap is missing from the list of parked heaps", memory_.base()};
        if (listed_large_blocks_ != large_blocks_of_heaps_)
            return {"a large block is in no list of its heap", memory_.base()};
        return {};
    }

    inconsistency in_cached_blocks() noexcept
    {
        if (const inconsistency found = cached_.find_all())
            return found;
        for (std::size_t number = 0; number != class_count && !all_.forks().is_forked(); ++number)
            if (cached_.in_transit(number) != in_transit_[number] + all_.sent_without_heap(number))
                return {"blocks in transit do not match the blocks sent and not yet received", memory_.base()};
        return {};
    }

    inconsistency in_call_sites() noexcept
    {
        inconsistency found;
        for (call_site_heap& each : all_.heaps().call_site_heaps)
            if (!found)
                found = in_call_sites(each);
        return found;
    }

    inconsistency in_call_sites(call_site_heap& heap) const noexcept
    {
        if (!heap.sites().is_valid())
            return {"the table of call sites is damaged", &heap.sites()};
        inconsistency found;
        (void)heap.sites().for_each_block([&](const void* block) {
            if (!is_in_use(heap, block))
                found = {"a call site is recorded for a block that is not in use", block};
            return !found;
        });
        return found;
    }

    /// In the checked build, verifies canaries and fill patterns.
    inconsistency in_bytes() noexcept
    {
        inconsistency found;
        (void)all_.pages().source().for_each_run([this, &found](slice_index first, const slice_record& record) {
            found = in_bytes_of_run(first, record);
            return !found;
        });
        return found;
    }

    inconsistency in_bytes_of_run([[maybe_unused]] slice_index first,
                                  [[maybe_unused]] const slice_record& record) noexcept
    {
        if constexpr (is_checked) {
            const slice_tag tag = tag_of(memory_, first);
            const slice_tag heap = tag & ~class_bits;
            if (record.state == slice_state::free || tag == no_owner) // Runs in quarantine have no owner.
                return all_.pages().checks().verify_free(first, record.length);
            // A thread lost in a fork, even one without a heap, may have been writing to other memory.
            if (!all_heaps_are_known_ || all_.forks().may_have_lost_threads())
                return {};
            if (tag == large_block)
                return all_.pages().checks().verify_large(first);
            if (!is_of_slab(tag) || heap == all_.heaps().internal.own_tag() || heap == all_.heaps().zero_size.own_tag())
                return {};
            for (std::uint32_t number = 0; number != record.capacity; ++number)
                if (const inconsistency found = all_.pages().checks().verify(
                        first, number, !record.is_outstanding(number) || cached_.has(first, number)))
                    return found;
        }
        return {};
    }

    /// Verifies that each byte obtained from the OS is accounted for. Skipped in the child of a fork, like the check of
    /// blocks in transit: a block that was freed twice there may be counted as sent but never as received.
    inconsistency in_committed_bytes() noexcept
    {
        if (!all_heaps_are_known_ || all_.forks().is_forked())
            return {};
        const process_statistics all = take_statistics(all_);
        return all.bytes_committed() == all.sum_of_terms()
                   ? inconsistency{}
                   : inconsistency{"committed bytes are not the sum of their parts", memory_.base()};
    }

    /// Returns: whether `block` is a block of `heap` and not free.
    bool is_in_use(const shared_heap& heap, const void* block) const noexcept
    {
        if (memory_.slices_before(block) >= memory_.committed())
            return false;
        const slice_index slice = memory_.slice_of(block);
        if (tag_of(memory_, slice) == large_block)
            return all_.pages().large().begin_of_large(slice) == block && memory_.record(slice).home == &heap;
        return heap.has_outstanding(block);
    }

    heap_registry& all_;
    const page_heap::region_type& memory_;
    cached_block_set cached_;
    std::size_t parked_heaps_ = 0;
    std::size_t unowned_runs_ = 0;
    std::size_t slabs_ = 0;
    std::size_t listed_slabs_ = 0;
    std::size_t large_blocks_ = 0;
    std::size_t large_blocks_of_heaps_ = 0;
    std::size_t listed_large_blocks_ = 0;
    std::size_t large_bytes_ = 0;
    std::array<std::uint32_t, class_count> in_transit_{}; ///< Blocks by class, as counted by the heaps.
    bool all_heaps_are_known_ = true;
};

/// Returns: the result of `callback(visitor&)` for a heap of the program, or for all heaps if `heap` is nullptr. If
///   `heap` is invalid, sets errno to EINVAL and returns -1.
template <class Callback>
int visit(np_heap* heap, Callback&& callback)
{
    const shared_heap* const found = heap != nullptr ? registry().heaps().living(heap) : nullptr;
    if (heap != nullptr && found == nullptr)
        return errno = EINVAL, -1;
    visitor all(registry(), found);
    return callback(all);
}
}} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;

extern "C" {
int np_heap_visit(np_heap* heap, int (*visit)(void* block, size_t bytes, void* argument), void* argument)
{
    return np::visit(heap, [=](np::visitor& all) { return all.visit_blocks(visit, argument); });
}

int np_slab_visit(np_heap* heap, int (*visit)(const np_slab* slab, void* argument), void* argument)
{
    return np::visit(heap, [=](np::visitor& all) { return all.visit_slabs(visit, argument); });
}

int np_verify(void) noexcept
{
    const np::background_work::rest rest(np::registry().maintenance().background());
    const np::inconsistency found = np::inspector(np::registry()).verify();
    if (!found)
        return 1;
    np::print(base::message("np_alloc: np_verify: %s: address %p", found.what, found.where).c_str());
    return 0;
}
}
