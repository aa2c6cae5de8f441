// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Walks over all slabs and free runs at the end of a process that has one thread left. If a signal handler ends the
/// process in the middle of a call, the block of that call has the state of a block being changed. The walk skips large
/// blocks in use, and aligned blocks of a page or more, because the program may have protected their pages, including
/// canaries.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"
#include "end_verification.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include "../heaps/heap_registry.hpp"
#include "../heaps/shared_heap.hpp"
#include "../heaps/thread_heap.hpp"
#include "../os/single_thread.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"
#include "../support/options.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
namespace {
/// A free block that was written to, or a block with a damaged canary.
struct damaged_block
{
    error_kind kind;
    const void* begin;
    std::size_t bytes; ///< Requested; 0 if unknown.
};

/// Finds the first damaged block.
class end_verification
{
public:
    explicit end_verification(heap_registry& all) noexcept : all_(all), memory_(all.pages().region()) {}

    std::optional<damaged_block> find() noexcept
    {
        found_.reset();
        for (slice_index slice = first_slice; !found_ && memory_.is_committed(slice); ++slice) {
            const slice_tag tag = memory_.tag(slice).load(std::memory_order_relaxed);
            if (is_of_slab(tag))
                look_at_slab(slice, tag);
        }
        if (!found_)
            look_at_free_runs();
        return found_;
    }

private:
    void look_at_slab(slice_index slice, slice_tag tag) noexcept
    {
        if ((tag & ~class_bits) == all_.heaps().zero_size.own_tag())
            return;
        all_.heaps().visit_heap_of(slice, heap_visitor{*this, slice});
    }

    struct heap_visitor
    {
        end_verification& verification;
        slice_index slice;

        void operator()(shared_heap& heap) const noexcept { look_at(heap); }
        void operator()(thread_heap& heap) const noexcept { look_at(heap.slabs); }

        template <class Heap>
        void look_at(Heap& heap) const noexcept
        {
            heap.with_slab(slice, [this](const slice_record& slab) {
                if (slab.slab == slice)
                    verification.look_at_blocks(slab);
            });
        }
    };

    void look_at_blocks(const slice_record& slab) noexcept
    {
        const auto& checks = all_.pages().checks();
        for (std::uint32_t number = 0; number != slab.capacity && !found_; ++number) {
            if (checks.may_be_protected(slab.slab, number))
                continue;
            if (const std::optional<error_kind> kind = checks.damage_of(slab.slab, number))
                found_ = damaged_block{*kind, slab.begin + std::size_t{number} * slab.block_bytes,
                                       checks.last_bytes_of(slab.slab, number)};
        }
    }

    /// Includes quarantined runs, which are in use without an owner. A run being purged may have lost its fill pattern.
    void look_at_free_runs() noexcept
    {
        all_.pages().source().with_runs([this](const auto& runs) {
            const slice_index end = slice_at(runs.used());
            for (slice_index first = first_slice; first != end && !found_; first = first + memory_.record(first).length)
                if (memory_.tag(first).load(std::memory_order_relaxed) == no_owner &&
                    memory_.record(first).state != slice_state::being_purged)
                    if (const auto damage = all_.pages().checks().verify_free(first, memory_.record(first).length))
                        found_ = damaged_block{error_kind::write_after_free, damage.where, 0};
        });
    }

    heap_registry& all_;
    const page_heap::region_type& memory_;
    std::optional<damaged_block> found_;
};
} // namespace

void verify_at_end() noexcept
{
    if constexpr (is_checked) {
        // Other threads may be changing memory, or threads lost in a fork may have been changing memory.
        if (the_options.get(np_option_verify_at_end) == 0 || registry().forks().may_have_lost_threads() ||
            !os::has_one_thread())
            return;
        if (const std::optional<damaged_block> damaged = end_verification(registry()).find())
            report_misuse(damaged->kind, damaged->begin, damaged->bytes);
    }
}
} // namespace memory_pool::np
