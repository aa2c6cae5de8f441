// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The figures of all pools and resources of the program that have a name.
///
///     object_pool<order> orders(pool_options{}.with_name("orders"));      in snapshot() from now on, until it ends
///
/// Those that threads share are read under their lock. Those of one thread publish their figures when they take a
/// batch of blocks from a slab or put one back, grow, or are trimmed or cleared: report_entry::age says when that was.
///
/// Thread safety: any thread, while others allocate and pools come and go; and in the child of a fork. Not from the
/// upstream of a pool shared by threads, which is called with its lock held.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/report/report_figures.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: calls `each(view, bytes, argument)` for each heap of np_alloc that has a name. The view, of `bytes` bytes,
///   is a report_view.
MEMORY_POOL_WEAK void memory_pool_np_visit_heaps(void (*each)(const void* view, std::size_t bytes, void* argument),
                                                 void* argument);
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool or resource in a report.
struct report_entry
{
    /// The class: "object_pool", "synchronized_arena_resource", ... A pool resource has an entry for each size of block
    /// in use so far, and one, with a block size of 0, for its large blocks.
    std::string kind;

    /// The name, of which the first 127 characters are kept.
    std::string name;

    report_figures figures; ///< As of this moment, or of when its owner published them.

    /// How long ago its owner has published these figures; nullopt: they are of this moment.
    std::optional<std::chrono::milliseconds> age;

    /// Whether this process is the child of a fork, and the thread that made it does not exist here. Until it is used
    /// here, these are the figures published last; 0 if none were.
    bool is_of_lost_thread = false;
};

/// The figures of one moment, or of moments close together.
struct report_snapshot
{
    std::chrono::system_clock::time_point time; ///< When it was taken.
    long process = 0;                           ///< The process ID; 0 where the system has none.
    std::vector<report_entry> entries;          ///< In the order in which they were made; heaps of np_alloc come last.

    /// How many pools with a name are missing, as there was no memory to list them.
    std::size_t left_out = 0;

    /// Returns: the sums over the entries.
    report_totals totals() const noexcept
    {
        report_totals sums;
        for (const report_entry& each : entries)
            sums.add(each.figures);
        return sums;
    }
};

namespace detail::report {
inline void add_entry(const core::report_view& seen, report_snapshot& taken)
{
    report_entry entry{seen.kind.data(), seen.name.data(), seen.figures, std::nullopt, seen.is_of_lost_thread};
    if (seen.is_published)
        entry.age = std::chrono::milliseconds(seen.age_ms);
    taken.entries.push_back(std::move(entry));
}

/// Effects: adds the named heaps of np_alloc, if it is in the process and of the same version; a view of another
///   version may be of another type.
inline void add_np_heaps([[maybe_unused]] report_snapshot& taken)
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_visit_heaps == nullptr)
        return;
    const auto add = [](const void* view, std::size_t bytes, void* to) {
        if (bytes == sizeof(core::report_view))
            add_entry(*static_cast<const core::report_view*>(view), *static_cast<report_snapshot*>(to));
    };
    memory_pool_np_visit_heaps(add, &taken);
#endif
}
} // namespace detail::report

/// Returns: the figures of all pools and resources that have a name, in the order in which they were made; then those
///   of heaps of np_alloc that have one.
/// Throws: std::bad_alloc.
/// Complexity: linear in pools; that of their `in_use` and `bytes_in_use`.
/// Thread safety: any thread.
inline report_snapshot snapshot()
{
    report_snapshot taken;
    taken.time = std::chrono::system_clock::now();
    taken.process = detail::os::process_number();
    detail::core::report_registry& registry = detail::core::report_registry::get();
    registry.for_each([&taken](const detail::core::report_view& seen) { detail::report::add_entry(seen, taken); });
    detail::report::add_np_heaps(taken);
    taken.left_out = registry.left_out();
    return taken;
}
}} // namespace memory_pool::MEMORY_POOL_ABI
