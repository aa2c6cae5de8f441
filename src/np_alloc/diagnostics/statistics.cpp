// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The statistics by their public names, and their text and JSON forms.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../slices/size_classes.hpp"
#include "../support/arguments.hpp"
#include "../support/build_variant.hpp"
#include "../support/output.hpp"
#include "process_statistics.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;

namespace {
np_statistics statistics_of(const np::process_statistics& all) noexcept
{
    np_statistics statistics{};
    statistics.bytes_in_use = all.bytes_in_use();
    statistics.bytes_cached = all.bytes_cached();
    statistics.bytes_in_transit = all.bytes_in_transit();
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
    statistics.bytes_committed = all.bytes_committed();
    statistics.bytes_free_in_slabs = all.bytes_free_in_slabs();
    statistics.bytes_never_carved = all.bytes_never_carved();
    statistics.bytes_of_metadata = all.metadata;
    statistics.bytes_of_slack = all.bytes_of_slack();
    statistics.pressure = np::registry().maintenance().pressure().state();
    const np::pressure_statistics pressure = np::registry().maintenance().pressure().statistics();
    statistics.pressure_signals = pressure.signals;
    statistics.pressure_trims = pressure.answers;
    statistics.bytes_purged_under_pressure = pressure.bytes_returned;
    statistics.samples = np::registry().rate_of_samples().taken();
    statistics.samples_skipped = np::registry().rate_of_samples().skipped();
    return statistics;
}

/// A value and its names in both forms.
struct named_statistic
{
    const char* key;
    const char* text; ///< nullptr for pressure, whose value is a word.
    std::size_t np_statistics::* value;
};

/// In the text, values whose names begin with spaces are parts of the preceding value.
constexpr std::array<named_statistic, 27> named_statistics{{
    {"bytes_committed", "bytes committed, the sum of", &np_statistics::bytes_committed},
    {"bytes_in_use", "  in use", &np_statistics::bytes_in_use},
    {"bytes_cached", "  cached by threads", &np_statistics::bytes_cached},
    {"bytes_in_transit", "  in transit to their heap", &np_statistics::bytes_in_transit},
    {"bytes_free_in_slabs", "  free in slabs", &np_statistics::bytes_free_in_slabs},
    {"bytes_never_carved", "  never carved from slabs", &np_statistics::bytes_never_carved},
    {"bytes_dirty", "  free runs, not returned", &np_statistics::bytes_dirty},
    {"bytes_of_metadata", "  metadata", &np_statistics::bytes_of_metadata},
    {"bytes_of_slack", np::is_checked ? "bytes of slack" : "bytes of slack, about", &np_statistics::bytes_of_slack},
    {"bytes_reserved", "bytes reserved", &np_statistics::bytes_reserved},
    {"peak_bytes_reserved", "  peak", &np_statistics::peak_bytes_reserved},
    {"bytes_purged", "bytes purged so far", &np_statistics::bytes_purged},
    {"large_blocks", "large blocks", &np_statistics::large_blocks},
    {"bytes_large", "  bytes of these", &np_statistics::bytes_large},
    {"slabs", "slabs", &np_statistics::slabs},
    {"thread_heaps", "thread heaps", &np_statistics::thread_heaps},
    {"parked_heaps", "  without a thread", &np_statistics::parked_heaps},
    {"heaps", "heaps of the program", &np_statistics::heaps},
    {"misuse_reports", "reports of misuse", &np_statistics::misuse_reports},
    {"bytes_of_call_sites", "bytes of call sites", &np_statistics::bytes_of_call_sites},
    {"size_mismatches", "blocks freed with a wrong size", &np_statistics::size_mismatches},
    {"pressure", nullptr, &np_statistics::pressure},
    {"pressure_signals", "  signals from the system", &np_statistics::pressure_signals},
    {"pressure_trims", "  trims in response", &np_statistics::pressure_trims},
    {"bytes_purged_under_pressure", "  bytes purged by these", &np_statistics::bytes_purged_under_pressure},
    {"samples", "guarded samples", &np_statistics::samples},
    {"samples_skipped", "  due, but skipped", &np_statistics::samples_skipped},
}};
static_assert(sizeof(np_statistics) == named_statistics.size() * sizeof(std::size_t), "each value is printed");

constexpr const char* resident_key = "bytes_resident";

/// The printed data.
struct report
{
    np::process_statistics all = np::take_statistics(np::registry());
    np_statistics statistics = statistics_of(all);
    std::size_t resident = np_resident_bytes();

    /// Effects: calls `print(const class_statistics&)` for each class that has slabs.
    template <class Print>
    void for_each_class(Print&& print) const
    {
        for (const np::class_statistics& each : all.classes)
            if (each.slab_bytes != 0)
                print(each);
    }
};

const char* name_of_pressure(std::size_t pressure)
{
    switch (pressure) {
    case np_pressure_unknown: return "cannot be watched";
    case np_pressure_none: return "none";
    case np_pressure_some: return "some";
    default: return "not watched";
    }
}

void print_text(const report& data, const np::output& to)
{
    to.print(base::message("np_alloc:\n"));
    for (const named_statistic& each : named_statistics)
        to.print(each.text != nullptr
                     ? base::message("  %-30s%20zu\n", each.text, data.statistics.*each.value)
                     : base::message("  %-30s%20s\n", "memory pressure", name_of_pressure(data.statistics.pressure)));
    to.print(data.resident != 0 ? base::message("  %-30s%20zu\n", "bytes resident", data.resident)
                                : base::message("  %-30s%20s\n", "bytes resident", "unknown"));
    to.print(base::message("  blocks of up to %zu bytes, by size (never carved: bytes)\n", np::largest_in_slab));
    to.print(base::message("  %10s%12s%16s%12s%12s%12s%16s\n", "size", "in use", "bytes of these", "cached",
                           "in transit", "free", "never carved"));
    data.for_each_class([&to](const np::class_statistics& of) {
        to.print(base::message("  %10zu%12zu%16zu%12zu%12zu%12zu%16zu\n", of.block_bytes, of.in_use(),
                               of.in_use() * of.block_bytes, of.cached, std::size_t{of.in_transit},
                               of.free_bytes() / of.block_bytes, of.never_carved()));
    });
}

void print_json(const report& data, const np::output& to)
{
    const char* before = "{";
    for (const named_statistic& each : named_statistics) {
        to.print(base::message("%s\n  \"%s\": %zu", before, each.key, data.statistics.*each.value));
        before = ",";
    }
    to.print(data.resident != 0 ? base::message(",\n  \"%s\": %zu", resident_key, data.resident)
                                : base::message(",\n  \"%s\": null", resident_key));
    to.print(base::message(",\n  \"classes\": ["));
    before = "";
    data.for_each_class([&](const np::class_statistics& of) {
        to.print(base::message("%s\n    {\"block_bytes\": %zu, \"outstanding\": %zu, \"cached\": %zu", before,
                               of.block_bytes, of.outstanding(), of.cached));
        to.print(base::message(R"(, "in_use": %zu, "in_transit": %zu, "free": %zu)", of.in_use(),
                               std::size_t{of.in_transit}, of.free_bytes() / of.block_bytes));
        to.print(base::message(R"(, "bytes_never_carved": %zu, "slab_bytes": %zu})", of.never_carved(), of.slab_bytes));
        before = ",";
    });
    to.print(base::message("\n  ]\n}\n"));
}
} // namespace

extern "C" {
void np_get_statistics_sized(np_statistics* statistics, size_t bytes) noexcept
{
    np::write_sized(statistics, bytes, statistics_of(np::take_statistics(np::registry())));
}

size_t np_resident_bytes(void) noexcept
{
    return np::resident_bytes(np::registry());
}

MEMORY_POOL_VISIBLE int np_statistics_by_name(const char* name, size_t* value) noexcept
{
    if (name == nullptr || value == nullptr)
        return EINVAL;
    if (std::strcmp(resident_key, name) == 0) {
        *value = np::resident_bytes(np::registry());
        return 0;
    }
    for (const named_statistic& each : named_statistics)
        if (std::strcmp(each.key, name) == 0) {
            *value = statistics_of(np::take_statistics(np::registry())).*each.value;
            return 0;
        }
    return EINVAL;
}

void np_statistics_print(np_format format, void (*write)(const char* text, size_t length, void* argument),
                         void* argument)
{
    const report all;
    (format == np_format_json ? print_json : print_text)(all, np::output(write, argument));
}
}
