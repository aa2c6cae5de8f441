// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports: the statistics of all named pools and resources of the program.
///
///     object_pool<order> orders(pool_options{}.with_name("orders"));      in snapshot() until the pool is destroyed
///
/// Shared pools are read under their lock. Single-threaded pools publish their statistics when they exchange a batch of
/// blocks with a slab, grow, or are trimmed or cleared. report_entry::age is the time since the last publication.
///
/// A report contains a snapshot(). It also contains the statistics of np_alloc if the program is linked with np_alloc,
/// or libnp_malloc.so is preloaded:
///
///     write_report(std::cout, report_format::text);
///
///     text         a table
///     json         see docs/report.schema.json
///     prometheus   the text format of Prometheus; pools with equal kind, name and block size are added up
///
/// A report on each signal:
///
///     report_on_signal(SIGUSR1, "/run/server.%p.json");       kill -USR1 <process>: writes or replaces the file
///
/// Thread safety: any thread, while other threads allocate, and create and destroy pools; also in the child of a fork.
/// The upstream of a shared pool must not call these functions, because the pool calls upstream with its lock held.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/np_alloc.h>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/replaced_file.hpp>
#include <memory_pool/os/signal_thread.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ios>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: calls `each(view, bytes, argument)` for each named heap of np_alloc. `view` is a report_view of size
///   `bytes`.
MEMORY_POOL_WEAK void memory_pool_np_visit_heaps(void (*each)(const void* view, std::size_t bytes, void* argument),
                                                 void* argument);
}
#else
#include <memory_pool/core/threads/thread_registry.hpp>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool or resource in a report.
struct report_entry
{
    /// The class: "object_pool", "synchronized_arena_resource", ... A pool resource has an entry for each block size
    /// used so far, and an entry with block size 0 for its large blocks.
    std::string kind;

    /// The first 127 characters of the name.
    std::string name;

    report_statistics statistics; ///< The current statistics, or the statistics last published by the owner.

    /// The time since the owner published the statistics; nullopt: they are current.
    std::optional<std::chrono::milliseconds> age;

    /// True in the child of a fork if the thread that created the pool does not exist there. Until the child uses the
    /// pool, the statistics are those last published, or 0.
    bool is_of_lost_thread = false;
};

/// The statistics of all named pools and resources, read at about the same time.
struct report_snapshot
{
    std::chrono::system_clock::time_point time; ///< The time of the snapshot.
    long process = 0;                           ///< The process ID; 0 where the system has none.
    std::vector<report_entry> entries;          ///< In the order of construction, heaps of np_alloc last.

    /// The number of named pools that are missing because there was no memory to list them.
    std::size_t left_out = 0;

    /// Returns: the sums over the entries.
    report_totals totals() const noexcept
    {
        report_totals sums;
        for (const report_entry& each : entries)
            sums.add(each.statistics);
        return sums;
    }
};

namespace detail::report {
inline void add_entry(const core::report_view& seen, report_snapshot& taken)
{
    report_entry entry{seen.kind.data(), seen.name.data(), seen.statistics, std::nullopt, seen.is_of_lost_thread};
    if (seen.is_published)
        entry.age = std::chrono::milliseconds(seen.age_ms);
    taken.entries.push_back(std::move(entry));
}

/// Adds the named heaps of np_alloc, if np_alloc is in the process. Skips views of another size, which are from another
/// version.
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

/// Returns: the statistics of all named pools and resources, in the order of construction, followed by the named heaps
///   of np_alloc.
/// Throws: std::bad_alloc.
/// Complexity: linear in pools, times the complexity of their `in_use` and `bytes_in_use`.
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

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Aliases of np_get_statistics_sized and np_statistics_print, because weak references to these would not link them
/// from an archive. Also a function that writes a comma and the member `slabs` of a report, if np_option_report_slabs
/// is set.
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
/// Reads the statistics of np_alloc. Returns whether np_alloc is in the process.
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

/// Writes the statistics of np_alloc, or `otherwise` if np_alloc is not in the process.
inline void write_np_alloc(core::report_output& to, [[maybe_unused]] np_format format, std::string_view otherwise)
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_print_statistics != nullptr) {
        memory_pool_np_print_statistics(format, to.write(), to.argument());
        if (format == np_format_json && memory_pool_np_print_slabs != nullptr)
            memory_pool_np_print_slabs(to.write(), to.argument());
        return;
    }
#endif
    to << otherwise;
}

inline core::report_view view_of(const report_entry& entry) noexcept
{
    core::report_view view{};
    entry.kind.copy(view.kind.data(), view.kind.size() - 1);
    entry.name.copy(view.name.data(), view.name.size() - 1);
    view.statistics = entry.statistics;
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

/// Writes metrics in the text format of Prometheus, version 0.0.4.
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
    /// The labels of a time series (kind, name, block size), which must be unique.
    using labels = std::tuple<std::string, std::string, std::uint64_t>;

    struct metric
    {
        std::string_view name;
        std::string_view type;
        std::string_view help;
        std::uint64_t report_statistics::* value;
        bool is_counted; ///< Only some policies count this value.
    };

    static constexpr std::array<metric, 11> metrics{{
        {"memory_pool_capacity_blocks", "gauge", "Blocks for which the pool has memory.", &report_statistics::capacity,
         false},
        {"memory_pool_in_use_blocks", "gauge", "Blocks in use.", &report_statistics::in_use, false},
        {"memory_pool_peak_in_use_blocks", "gauge", "Peak of blocks in use.", &report_statistics::peak_in_use, true},
        {"memory_pool_slabs", "gauge", "Slabs.", &report_statistics::slabs, false},
        {"memory_pool_reserved_bytes", "gauge", "Bytes held from upstream.", &report_statistics::bytes_reserved, false},
        {"memory_pool_in_use_bytes", "gauge", "Bytes of blocks in use.", &report_statistics::bytes_in_use, false},
        {"memory_pool_cached_bytes", "gauge", "Bytes of free blocks in caches.", &report_statistics::bytes_cached,
         false},
        {"memory_pool_slack_bytes", "gauge", "Bytes lost between blocks in use.", &report_statistics::bytes_of_slack,
         false},
        {"memory_pool_limit", "gauge", "The limit, in blocks, or in bytes where block_size is 0.",
         &report_statistics::limit, false},
        {"memory_pool_allocations_total", "counter", "Allocated blocks.", &report_statistics::allocations, true},
        {"memory_pool_failures_total", "counter", "Failed allocations.", &report_statistics::failures, true},
    }};

    void add(const report_entry& entry)
    {
        const auto [place, is_new] = series_.try_emplace(
            labels(label(entry.kind), label(entry.name), entry.statistics.block_size), entry.statistics);
        if (is_new)
            return;
        report_statistics& sum = place->second;
        const bool is_limited =
            sum.limit != report_statistics::unlimited && entry.statistics.limit != report_statistics::unlimited;
        const std::uint64_t limit = is_limited ? sum.limit + entry.statistics.limit : report_statistics::unlimited;
        for (const metric& each : metrics)
            sum.*each.value += entry.statistics.*each.value;
        sum.limit = limit;
        sum.counts = std::min(sum.counts, entry.statistics.counts);
    }

    void write(const metric& written)
    {
        bool has_begun = false;
        for (const auto& [labels_of_one, statistics] : series_) {
            const bool is_known = !written.is_counted || statistics.counts != 0;
            if (!is_known ||
                (written.value == &report_statistics::limit && statistics.limit == report_statistics::unlimited))
                continue;
            if (!has_begun)
                write_head(written.name, written.type, written.help);
            has_begun = true;
            to_ << written.name << "{kind=\"";
            to_ << std::get<0>(labels_of_one) << "\",name=\"" << std::get<1>(labels_of_one) << "\",block_size=\""
                << std::get<2>(labels_of_one) << "\"} " << statistics.*written.value << "\n";
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
        write_head("np_alloc_committed_bytes", "gauge", "Committed memory of np_alloc, by part.");
        for (const part& each : parts)
            to_ << "np_alloc_committed_bytes{part=\"" << each.name << "\"} " << statistics.*each.value << "\n";
        write_head("np_alloc_slack_bytes", "gauge", "Bytes of blocks in use beyond the requests.");
        to_ << "np_alloc_slack_bytes " << statistics.bytes_of_slack << "\n";
        write_head("np_alloc_purged_bytes_total", "counter", "Bytes returned to the OS.");
        to_ << "np_alloc_purged_bytes_total " << statistics.bytes_purged << "\n";
        write_head("np_alloc_misuse_reports_total", "counter", "Reports of misuse.");
        to_ << "np_alloc_misuse_reports_total " << statistics.misuse_reports << "\n";
    }

    void write_head(std::string_view name, std::string_view type, std::string_view help)
    {
        to_ << "# HELP " << name << " " << help << "\n# TYPE " << name << " " << type << "\n";
    }

    /// Escapes a label value. Labels are compared after escaping, because different texts may become equal.
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
    std::map<labels, report_statistics> series_;
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

/// Effects: writes a report of the snapshot `taken`, with the current statistics of np_alloc.
/// Throws: what the stream throws; std::bad_alloc.
inline void write_report(std::ostream& to, report_format format, const report_snapshot& taken)
{
    const auto write = [](const char* text, std::size_t length, void* stream) {
        static_cast<std::ostream*>(stream)->write(text, static_cast<std::streamsize>(length));
    };
    detail::report::write_report(detail::core::report_output(write, &to), format, taken);
}

/// Effects: writes a report of a new snapshot.
/// Throws: what the stream throws; std::bad_alloc.
inline void write_report(std::ostream& to, report_format format)
{
    write_report(to, format, snapshot());
}

namespace detail::report {
/// Writes a report to a temporary file, which then replaces the file at `path`. Returns whether both succeeded.
inline bool write_report_file(const char* path, report_format format)
{
    os::replaced_file file(path);
    write_report(core::report_output(&os::replaced_file::write_to, &file), format, snapshot());
    return file.finish();
}

/// The reports that signals request.
class signalled_reports : base::immovable<signalled_reports>
{
public:
    /// The instance of the process. Never destroyed, because a signal may arrive at any time.
    static signalled_reports& get()
    {
        static auto* const all = new signalled_reports;
        return *all;
    }

    bool add(int signal, std::string path, report_format format)
    {
        const base::lock_guard control(control_);
        one& entry = find_or_add(signal);
        {
            const base::lock_guard lock(mutex_);
            entry.path.swap(path);
            entry.format = format;
        }
        return entry.thread.is_on() || entry.thread.start(signal, &write, &entry);
    }

    void remove(int signal)
    {
        const base::lock_guard control(control_);
        for (const std::unique_ptr<one>& each : all_)
            if (each->signal == signal)
                each->thread.stop();
    }

private:
    /// The report of one signal. Kept when reports on that signal are stopped.
    struct one
    {
        explicit one(int of) noexcept : signal(of) {}

        int signal;
        std::string path;
        report_format format = report_format::json;
        os::signal_thread thread;
    };

    /// A fork must take these locks before the locks of pools: a thread that holds `control_` may wait for a report,
    /// which takes locks of pools. Handlers before a fork run in reverse order of registration, so pools register their
    /// handlers first.
    signalled_reports()
    {
        (void)core::report_registry::get();
        call_if_there(&core::prepare_forks_of_pools);
        (void)os::at_fork([]() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { get().lock(); },
                          []() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { get().unlock(); },
                          []() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS {
                              for (const std::unique_ptr<one>& each : get().all_)
                                  each->thread.forget_after_fork();
                              get().unlock();
                          });
    }

    static void call_if_there(void (*function)() noexcept) noexcept
    {
        if (function != nullptr)
            function();
    }

    void lock() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        control_.lock();
        mutex_.lock();
    }

    void unlock() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        mutex_.unlock();
        control_.unlock();
    }

    static void write(void* argument) noexcept
    {
#if MEMORY_POOL_EXCEPTIONS
        try {
            write_one(*static_cast<const one*>(argument));
        } catch (const std::exception&) { // Out of memory: skip this report.
            return;
        }
#else
        write_one(*static_cast<const one*>(argument));
#endif
    }

    static void write_one(const one& entry)
    {
        std::string path;
        report_format format{};
        {
            const base::lock_guard lock(get().mutex_);
            path = entry.path;
            format = entry.format;
        }
        if (!write_report_file(path.c_str(), format))
            base::print(
                base::message("memory_pool: the report of report_on_signal cannot be written to %.300s (error %d)",
                              path.c_str(), errno)
                    .c_str());
    }

    one& find_or_add(int signal) MEMORY_POOL_REQUIRES(control_)
    {
        for (const std::unique_ptr<one>& each : all_)
            if (each->signal == signal)
                return *each;
        all_.push_back(std::make_unique<one>(signal));
        return *all_.back();
    }

    base::mutex control_; ///< Held while threads are started and stopped.
    base::mutex mutex_;   ///< Protects paths and formats.
    std::vector<std::unique_ptr<one>> all_ MEMORY_POOL_GUARDED_BY(control_);
};
} // namespace detail::report

/// Effects: starts writing a report to the file at `path` each time the process receives `signal`. In `path`, `%p`
///   stands for the process ID, and `%%` for a percent sign. The report is written to a temporary file, with `.tmp`
///   appended to the name. The temporary file then replaces the file, so the file is always complete. If the file
///   cannot be written, a message is printed on stderr. The signal handler replaces the previous handler. It only wakes
///   the thread that writes the report. A further call for the same signal changes the path and the format. In the
///   child of a fork, the signal is ignored until the child calls this function.
/// Returns: whether reports were started. On failure, errno has the reason: the signal cannot be handled, or no thread
///   can be created. Always false on Windows and Apple systems.
/// Throws: std::bad_alloc.
inline bool report_on_signal(int signal, std::string path, report_format format = report_format::json)
{
    return detail::report::signalled_reports::get().add(signal, std::move(path), format);
}

/// Effects: stops reports on `signal`, after any report in progress is complete, and restores the previous handler.
inline void stop_report_on_signal(int signal)
{
    detail::report::signalled_reports::get().remove(signal);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
