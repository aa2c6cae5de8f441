// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Hardening of runs, selected by the build. Callers are the same in both builds.
///
///     checked:   checked_slice   run_checks      revoked_runs
///     plain:     slice_record    no_run_checks   no_revoked_runs       no state; each call is a no-op
///
/// Thread safety: as the selected class.
#pragma once

#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/misuse_log.hpp>

#include "../slices/region.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_index.hpp"
#include "../slices/slice_record.hpp"
#include "../support/build_variant.hpp"
#include "../support/inconsistency.hpp"
#include "checked_slice.hpp"
#include "dealloc_mismatch.hpp"
#include "revoked_runs.hpp"
#include "run_quarantine.hpp"
#include "slice_guard.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace memory_pool::np {
/// The interface of run_checks in the plain build, without checks.
template <class Region>
class no_run_checks
{
public:
    using revoked = no_revoked_runs;
    using quarantine = no_run_quarantine;

    constexpr explicit no_run_checks(Region& region) noexcept : region_(region) {}

    static bool start(std::size_t) noexcept { return true; }
    static void stop() noexcept {}
    static constexpr bool is_guarded(const void*) noexcept { return false; }
    static constexpr bool wants_guards() noexcept { return false; }
    template <class TakeSlice, class GiveSlice>
    static void slab_taken(slice_index, std::size_t, TakeSlice&&, GiveSlice&&) noexcept
    {
    }
    template <class GiveSlice>
    static void slab_given(slice_index, GiveSlice&&) noexcept
    {
    }
    static constexpr bool slab_made(slice_index, std::uint32_t, bool) noexcept { return true; }
    static constexpr std::uint32_t first_to_take(slice_index, std::uint32_t) noexcept { return 0; }
    static void carved(slice_index, std::byte*) noexcept {}
    static void slab_ends(slice_index, std::uint32_t, bool) noexcept {}
    static void slab_dropped(slice_index) noexcept {}
    static constexpr std::uint32_t slices_to_guard(slice_index, std::uint32_t, std::uint32_t) noexcept { return 0; }
    static void guard_before(slice_index) noexcept {}
    static void library_writes_to(const void*) noexcept {}
    static void library_sends(const void*) noexcept {}
    static void library_has_read(void*) noexcept {}
    static constexpr bool is_in_use(const void*) noexcept { return false; }
    static constexpr std::optional<base::misuse_log::finding> mend_front(const void*) noexcept { return std::nullopt; }
    static constexpr bool may_be_purged(slice_index, const std::byte*, const std::byte*) noexcept { return true; }
    static std::size_t with_guard(std::size_t bytes) noexcept { return bytes; }
    static constexpr std::uint32_t guard_slices() noexcept { return 0; }
    static constexpr std::size_t guarded_slices() noexcept { return 0; }
    struct condition
    {
        const void* damaged = nullptr;
        bool is_usable = true;
    };
    static constexpr condition large_made(slice_index, std::uint32_t, std::size_t, std::size_t) noexcept { return {}; }
    static bool large_ends(slice_index, bool is_dirty, bool) noexcept { return is_dirty; }
    static void large_not_revoked(slice_index) noexcept {}
    static void large_allocated_by(slice_index, allocated_by) noexcept {}
    static constexpr bool large_extended(slice_index, std::uint32_t) noexcept { return true; }
    static void large_shortened(slice_index, std::uint32_t) noexcept {}
    template <class ResizeRun>
    static bool resize_large(slice_index, std::size_t, ResizeRun&& resize_run) noexcept
    {
        return resize_run();
    }
    std::byte* begin_of_large(slice_index first) const noexcept { return region_.address(first); }
    std::size_t bytes_of_large(slice_index first) const noexcept { return bytes_in_large(region_.record(first).asked); }
    std::size_t canary_end(slice_index first) const noexcept { return bytes_of_large(first); }
    std::optional<std::size_t> bytes_of(slice_index slab, std::size_t) const noexcept
    {
        return region_.record(slab).block_bytes;
    }
    static inconsistency verify(slice_index, std::size_t, bool) noexcept { return {}; }
    static std::optional<error_kind> damage_of(slice_index, std::size_t) noexcept { return std::nullopt; }
    static constexpr bool may_be_protected(slice_index, std::size_t) noexcept { return false; }
    static constexpr std::size_t last_bytes_of(slice_index, std::size_t) noexcept { return 0; }
    static inconsistency verify_large(slice_index) noexcept { return {}; }
    static inconsistency verify_free(slice_index, std::uint32_t) noexcept { return {}; }
    static void run_purged(slice_index, std::uint32_t, bool) noexcept {}
    static void run_kept(slice_index, std::uint32_t) noexcept {}

private:
    Region& region_;
};

/// The record of a slice in this build.
using record_of_slice = std::conditional_t<is_checked, checked_slice, slice_record>;

/// The record of a part of the region in this build.
using record_of_part = std::conditional_t<is_checked, guarded_part, part_record>;

/// The checks of runs in this build. `Region` has the records above.
template <class Region>
using checks_of_runs = std::conditional_t<is_checked, run_checks<Region>, no_run_checks<Region>>;
} // namespace memory_pool::np
