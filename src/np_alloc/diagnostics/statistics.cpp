// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Statistics: the figures under the names they have for users, and a text with them.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include "../slices/size_classes.hpp"
#include "../support/arguments.hpp"
#include "../support/output.hpp"
#include "figures.hpp"

#include <array>
#include <cstddef>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;

namespace {
np_statistics statistics_of(const np::figures& all) noexcept
{
    np_statistics statistics{};
    statistics.bytes_in_use = all.bytes_in_use();
    statistics.bytes_cached = all.bytes_cached();
    statistics.bytes_in_transit = all.bytes_in_transit;
    statistics.bytes_reserved = all.memory.reserved;
    statistics.peak_bytes_reserved = all.memory.peak_reserved;
    statistics.bytes_dirty = all.memory.dirty;
    statistics.bytes_purged = all.memory.purged;
    statistics.large_blocks = all.memory.large_blocks;
    statistics.bytes_large = all.memory.large;
    statistics.slabs = all.memory.slabs;
    statistics.thread_heaps = all.thread_heaps;
    statistics.parked_heaps = all.parked_heaps;
    statistics.heaps = all.made_heaps;
    statistics.misuse_reports = all.misuse_reports;
    statistics.bytes_of_call_sites = all.call_sites;
    statistics.size_mismatches = all.size_mismatches;
    return statistics;
}

/// A figure, as it is called in both forms.
struct named_figure
{
    const char* key;
    const char* text;
    std::size_t np_statistics::* value;
};

constexpr std::array<named_figure, 16> named_figures{{
    {"bytes_in_use", "bytes in use", &np_statistics::bytes_in_use},
    {"bytes_cached", "bytes cached by threads", &np_statistics::bytes_cached},
    {"bytes_in_transit", "bytes in transit to their heap", &np_statistics::bytes_in_transit},
    {"bytes_reserved", "bytes reserved", &np_statistics::bytes_reserved},
    {"peak_bytes_reserved", "  the most at one time", &np_statistics::peak_bytes_reserved},
    {"bytes_dirty", "  free, and not given back", &np_statistics::bytes_dirty},
    {"bytes_purged", "bytes given back so far", &np_statistics::bytes_purged},
    {"large_blocks", "large blocks", &np_statistics::large_blocks},
    {"bytes_large", "  bytes of these", &np_statistics::bytes_large},
    {"slabs", "slabs", &np_statistics::slabs},
    {"thread_heaps", "heaps of threads", &np_statistics::thread_heaps},
    {"parked_heaps", "  without a thread", &np_statistics::parked_heaps},
    {"heaps", "heaps of the program", &np_statistics::heaps},
    {"misuse_reports", "reports of misuse", &np_statistics::misuse_reports},
    {"bytes_of_call_sites", "bytes to remember call sites", &np_statistics::bytes_of_call_sites},
    {"size_mismatches", "blocks freed with a wrong size", &np_statistics::size_mismatches},
}};
static_assert(sizeof(np_statistics) == named_figures.size() * sizeof(std::size_t), "each figure is printed");

/// Effects: calls `print(block_bytes, outstanding, cached)` for each class of which there are blocks.
template <class Print>
void for_each_class(const np::figures& all, Print&& print)
{
    for (std::size_t number = 0; number != np::class_count; ++number)
        if (const np::class_figures& its = all.classes[number]; its.out_of_slabs != 0)
            print(np::sizes::size(number), its.outstanding(), its.cached);
}

void print_text(const np::figures& all, const np_statistics& statistics, const np::output& to)
{
    to.print(base::message("np_alloc:\n"));
    for (const named_figure& each : named_figures)
        to.print(base::message("  %-30s%20zu\n", each.text, statistics.*each.value));
    to.print(base::message("  blocks up to %zu bytes; outstanding: in use, or in transit\n", np::largest_in_slab));
    to.print(base::message("  %10s%20s%20s%20s\n", "size", "outstanding", "bytes of these", "cached"));
    for_each_class(all, [&to](std::size_t block_bytes, std::size_t outstanding, std::size_t cached) {
        to.print(
            base::message("  %10zu%20zu%20zu%20zu\n", block_bytes, outstanding, outstanding * block_bytes, cached));
    });
}

void print_json(const np::figures& all, const np_statistics& statistics, const np::output& to)
{
    const char* before = "{";
    for (const named_figure& each : named_figures) {
        to.print(base::message("%s\n  \"%s\": %zu", before, each.key, statistics.*each.value));
        before = ",";
    }
    to.print(base::message(",\n  \"classes\": ["));
    before = "";
    for_each_class(all, [&](std::size_t block_bytes, std::size_t outstanding, std::size_t cached) {
        to.print(base::message("%s\n    {\"block_bytes\": %zu, \"outstanding\": %zu, \"cached\": %zu}", before,
                               block_bytes, outstanding, cached));
        before = ",";
    });
    to.print(base::message("\n  ]\n}\n"));
}
} // namespace

extern "C" {
void np_get_statistics_sized(np_statistics* statistics, size_t bytes) noexcept
{
    np::write_sized(statistics, bytes, statistics_of(np::take_figures(np::registry())));
}

void np_statistics_print(np_format format, void (*write)(const char* text, size_t length, void* argument),
                         void* argument)
{
    const np::figures all = np::take_figures(np::registry());
    const np::output to(write, argument);
    (format == np_format_json ? print_json : print_text)(all, statistics_of(all), to);
}
}
