// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes a report to a file each time the process gets a signal.
///
///     report_on_signal(SIGUSR1, "/run/server.%p.json");       kill -USR1 <process>: the file is written, or replaced
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/replaced_file.hpp>
#include <memory_pool/os/signal_thread.hpp>
#include <memory_pool/report/snapshot.hpp>
#include <memory_pool/report/write_report.hpp>

#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::report {
/// Effects: writes a report to a file, which takes the place of the old one when it is complete.
/// Returns: whether it was written.
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
    /// Returns: those of the process. Never destroyed: a signal may come at any time.
    static signalled_reports& get()
    {
        static auto* const all = new signalled_reports;
        return *all;
    }

    bool add(int signal, std::string path, report_format format)
    {
        const base::lock_guard control(control_);
        one& its = find_or_add(signal);
        {
            const base::lock_guard lock(mutex_);
            its.path.swap(path);
            its.format = format;
        }
        return its.thread.is_on() || its.thread.start(signal, &write, &its);
    }

    void remove(int signal)
    {
        const base::lock_guard control(control_);
        for (const std::unique_ptr<one>& each : all_)
            if (each->signal == signal)
                each->thread.stop();
    }

private:
    /// For one signal. Kept when reports on that signal are turned off.
    struct one
    {
        explicit one(int of) noexcept : signal(of) {}

        int signal;
        std::string path;
        report_format format = report_format::json;
        os::signal_thread thread;
    };

    /// A fork takes these locks before those of pools, as a thread that holds them may wait for a report, which takes
    /// those: handlers before a fork run in reverse order of registration.
    signalled_reports()
    {
        (void)core::report_registry::get();
        (void)core::thread_registry::get();
        (void)os::at_fork([]() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { get().lock(); },
                          []() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS { get().unlock(); },
                          []() MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS {
                              for (const std::unique_ptr<one>& each : get().all_)
                                  each->thread.forget_after_fork();
                              get().unlock();
                          });
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
        } catch (const std::exception&) { // Out of memory: no report this time.
            return;
        }
#else
        write_one(*static_cast<const one*>(argument));
#endif
    }

    static void write_one(const one& its)
    {
        std::string path;
        report_format format{};
        {
            const base::lock_guard lock(get().mutex_);
            path = its.path;
            format = its.format;
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
    base::mutex mutex_;   ///< Of paths and formats.
    std::vector<std::unique_ptr<one>> all_ MEMORY_POOL_GUARDED_BY(control_);
};
} // namespace detail::report

/// Effects: from now on, each time the process gets that signal, a report of this moment is written to the file at
///   `path`, in which `%p` stands for the process ID, and `%%` for a percent sign. The report is written
///   beside the file, with `.tmp` behind its name, and then takes its place, so that it is always complete. The handler
///   of the signal only wakes a thread that writes it; it replaces the previous handler. Called again for a
///   signal, it changes the path and the format. Where the file cannot be written, nothing happens. In the child of a
///   fork, the signal is ignored until this is called there.
/// Returns: whether it succeeded; if not, errno says why: the signal cannot be handled, or no thread can be created.
///   False on Windows and Apple systems.
/// Throws: std::bad_alloc.
inline bool report_on_signal(int signal, std::string path, report_format format = report_format::json)
{
    return detail::report::signalled_reports::get().add(signal, std::move(path), format);
}

/// Effects: stops reports on that signal, after a report in progress, and restores the previous handler.
inline void stop_report_on_signal(int signal)
{
    detail::report::signalled_reports::get().remove(signal);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
