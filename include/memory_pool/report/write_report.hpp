// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes a report: what snapshot() returns, and beside it the statistics of np_alloc, if the program is linked with it
/// or has libnp_malloc.so preloaded.
///
///     write_report(std::cout, report_format::text);
///
///     text         a table
///     json         docs/report.schema.json describes it
///     prometheus   metrics for Prometheus, in its text format; pools with the same kind, name and block size together
///
/// Thread safety: any thread, as snapshot().
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/report/report_figures.hpp>
#include <memory_pool/report/snapshot.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: as np_get_statistics_sized and np_statistics_print; the last writes the member `slabs` of a report, and a
///   comma before it, if np_option_report_slabs is set. By other names, as a weak reference to those would not have
///   them linked from an archive.
MEMORY_POOL_WEAK void memory_pool_np_get_statistics(np_statistics* statistics, std::size_t bytes) noexcept;
MEMORY_POOL_WEAK void memory_pool_np_print_statistics(
    np_format format, void (*write)(const char* text, std::size_t length, void* argument), void* argument);
MEMORY_POOL_WEAK void memory_pool_np_print_slabs(void (*write)(const char* text, std::size_t length, void* argument),
                                                 void* argument);
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The formats of a report.
enum class report_format
{
    text,
    json,
    prometheus,
};

namespace detail::report {
/// Returns: whether np_alloc is in the process, and its statistics if it is.
inline bool read_np_alloc([[maybe_unused]] np_statistics& statistics) noexcept
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_get_statistics != nullptr) {
        memory_pool_np_get_statistics(&statistics, sizeof statistics);
        return true;
    }
#endif
    return false;
}

/// Effects: writes the statistics of np_alloc, or `nothing` if it is not in the process.
inline void write_np_alloc(core::report_output& to, [[maybe_unused]] np_format format, std::string_view nothing)
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_print_statistics != nullptr) {
        memory_pool_np_print_statistics(format, to.write(), to.argument());
        if (format == np_format_json && memory_pool_np_print_slabs != nullptr)
            memory_pool_np_print_slabs(to.write(), to.argument());
        return;
    }
#endif
    to << nothing;
}

inline core::report_view view_of(const report_entry& entry) noexcept
{
    core::report_view view{};
    entry.kind.copy(view.kind.data(), view.kind.size() - 1);
    entry.name.copy(view.name.data(), view.name.size() - 1);
    view.figures = entry.figures;
    view.is_published = entry.age.has_value();
    view.age_ms = view.is_published ? static_cast<std::uint64_t>(entry.age->count()) : 0;
    view.is_of_lost_thread = entry.is_of_lost_thread;
    return view;
}

template <class Report>
void write(const report_snapshot& taken, core::report_output to, np_format format, std::string_view without_np_alloc)
{
    Report report(to);
    const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(taken.time.time_since_epoch());
    report.begin(static_cast<std::uint64_t>(since_1970.count()), taken.process);
    for (const report_entry& each : taken.entries)
        report.entry(view_of(each));
    report.end(taken.left_out, taken.totals(),
               [&](core::report_output& end) { write_np_alloc(end, format, without_np_alloc); });
}

/// Writes metrics in Prometheus' text format, version 0.0.4.
class prometheus_report
{
public:
    explicit prometheus_report(core::report_output to) noexcept : to_(to) {}

    void write(const report_snapshot& taken)
    {
        for (const report_entry& each : taken.entries)
            add(each);
        for (const metric& each : metrics)
            write(each);
        write_np_alloc();
    }

private:
    /// Labels of a time series, which must not occur twice.
    using labels = std::tuple<std::string, std::string, std::uint64_t>;

    struct metric
    {
        std::string_view name;
        std::string_view type;
        std::string_view help;
        std::uint64_t report_figures::* value;
        bool is_counted; ///< By some policies only.
    };

    static constexpr std::array<metric, 11> metrics{{
        {"memory_pool_capacity_blocks", "gauge", "Blocks for which there is memory.", &report_figures::capacity, false},
        {"memory_pool_in_use_blocks", "gauge", "Blocks in use.", &report_figures::in_use, false},
        {"memory_pool_peak_in_use_blocks", "gauge", "The maximum of blocks in use.", &report_figures::peak_in_use,
         true},
        {"memory_pool_slabs", "gauge", "Slabs.", &report_figures::slabs, false},
        {"memory_pool_reserved_bytes", "gauge", "Bytes held from upstream.", &report_figures::bytes_reserved, false},
        {"memory_pool_in_use_bytes", "gauge", "Bytes of blocks in use.", &report_figures::bytes_in_use, false},
        {"memory_pool_cached_bytes", "gauge", "Bytes of free blocks in caches.", &report_figures::bytes_cached, false},
        {"memory_pool_slack_bytes", "gauge", "Bytes lost between blocks in use.", &report_figures::bytes_of_slack,
         false},
        {"memory_pool_limit", "gauge", "The limit, in blocks, or in bytes where block_size is 0.",
         &report_figures::limit, false},
        {"memory_pool_allocations_total", "counter", "Blocks handed out.", &report_figures::allocations, true},
        {"memory_pool_failures_total", "counter", "Failed allocations.", &report_figures::failures, true},
    }};

    void add(const report_entry& entry)
    {
        const auto [place, is_new] =
            series_.try_emplace(labels(label(entry.kind), label(entry.name), entry.figures.block_size), entry.figures);
        if (is_new)
            return;
        report_figures& sum = place->second;
        const bool is_limited =
            sum.limit != report_figures::unlimited && entry.figures.limit != report_figures::unlimited;
        const std::uint64_t limit = is_limited ? sum.limit + entry.figures.limit : report_figures::unlimited;
        for (const metric& each : metrics)
            sum.*each.value += entry.figures.*each.value;
        sum.limit = limit;
        sum.counts = std::min(sum.counts, entry.figures.counts);
    }

    void write(const metric& its)
    {
        bool has_begun = false;
        for (const auto& [labels_of_one, figures] : series_) {
            const bool is_known = !its.is_counted || figures.counts != 0;
            if (!is_known || (its.value == &report_figures::limit && figures.limit == report_figures::unlimited))
                continue;
            if (!has_begun)
                write_head(its.name, its.type, its.help);
            has_begun = true;
            to_ << its.name << "{kind=\"";
            to_ << std::get<0>(labels_of_one) << "\",name=\"" << std::get<1>(labels_of_one) << "\",block_size=\""
                << std::get<2>(labels_of_one) << "\"} " << figures.*its.value << "\n";
        }
    }

    void write_np_alloc()
    {
        struct part
        {
            std::string_view name;
            std::size_t np_statistics::* value;
        };
        constexpr std::array<part, 7> parts{{
            {"in_use", &np_statistics::bytes_in_use},
            {"cached", &np_statistics::bytes_cached},
            {"in_transit", &np_statistics::bytes_in_transit},
            {"free_in_slabs", &np_statistics::bytes_free_in_slabs},
            {"never_carved", &np_statistics::bytes_never_carved},
            {"free_runs", &np_statistics::bytes_dirty},
            {"metadata", &np_statistics::bytes_of_metadata},
        }};
        np_statistics statistics{};
        if (!read_np_alloc(statistics))
            return;
        write_head("np_alloc_committed_bytes", "gauge", "Committed memory of np_alloc; the sum of all parts.");
        for (const part& each : parts)
            to_ << "np_alloc_committed_bytes{part=\"" << each.name << "\"} " << statistics.*each.value << "\n";
        write_head("np_alloc_slack_bytes", "gauge", "Of those in use: not asked for.");
        to_ << "np_alloc_slack_bytes " << statistics.bytes_of_slack << "\n";
        write_head("np_alloc_purged_bytes_total", "counter", "Bytes returned to the system.");
        to_ << "np_alloc_purged_bytes_total " << statistics.bytes_purged << "\n";
        write_head("np_alloc_misuse_reports_total", "counter", "Reports of misuse.");
        to_ << "np_alloc_misuse_reports_total " << statistics.misuse_reports << "\n";
    }

    void write_head(std::string_view name, std::string_view type, std::string_view help)
    {
        to_ << "# HELP " << name << " " << help << "\n# TYPE " << name << " " << type << "\n";
    }

    /// Returns: a text, escaped for use between quotes. Texts are compared after that: different ones may become the
    ///   same.
    static std::string label(std::string_view value)
    {
        std::string text;
        core::report_output to([](const char* piece, std::size_t length,
                                  void* whole) { static_cast<std::string*>(whole)->append(piece, length); },
                               &text);
        core::write_escaped(to, value, [](std::string_view each) -> std::string_view {
            if (each == "\\")
                return "\\\\";
            if (each == "\"")
                return "\\\"";
            return each == "\n" ? std::string_view("\\n") : std::string_view();
        });
        return text;
    }

    core::report_output to_;
    std::map<labels, report_figures> series_;
};
inline void write_report(core::report_output to, report_format format, const report_snapshot& taken)
{
    switch (format) {
    case report_format::text: write<core::text_report>(taken, to, np_format_text, {}); break;
    case report_format::json: write<core::json_report>(taken, to, np_format_json, "null"); break;
    case report_format::prometheus: prometheus_report(to).write(taken); break;
    }
}
} // namespace detail::report

/// Effects: writes a report of the snapshot `taken`, and of the current statistics of np_alloc.
/// Throws: what the stream throws; std::bad_alloc.
inline void write_report(std::ostream& to, report_format format, const report_snapshot& taken)
{
    const auto write = [](const char* text, std::size_t length, void* stream) {
        static_cast<std::ostream*>(stream)->write(text, static_cast<std::streamsize>(length));
    };
    detail::report::write_report(detail::core::report_output(write, &to), format, taken);
}

/// Effects: writes a report of this moment.
/// Throws: what the stream throws; std::bad_alloc.
inline void write_report(std::ostream& to, report_format format)
{
    write_report(to, format, snapshot());
}
}} // namespace memory_pool::MEMORY_POOL_ABI
