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
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/replaced_file.hpp>
#include <memory_pool/os/signal_thread.hpp>
#include <memory_pool/report/snapshot.hpp>
#include <memory_pool/report/write_report.hpp>

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
    const core::report_output output([](const char* text, std::size_t length,
                                        void* to) { static_cast<os::replaced_file*>(to)->write(text, length); },
                                     &file);
    write_report(output, format, snapshot());
    return file.finish();
}

/// The reports that signals ask for.
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
        const base::lock_guard lock(mutex_);
        remove_locked(signal);
        auto added = std::make_unique<one>(signal, std::move(path), format);
        all_.push_back(nullptr); // Throws before the thread exists.
        if (!added->thread.start(signal, &write, added.get())) {
            all_.pop_back();
            return false;
        }
        all_.back() = std::move(added);
        return true;
    }

    void remove(int signal)
    {
        const base::lock_guard lock(mutex_);
        remove_locked(signal);
    }

private:
    struct one
    {
        one(int of, std::string to, report_format as) : signal(of), path(std::move(to)), format(as) {}

        int signal;
        std::string path;
        report_format format;
        os::signal_thread thread;
    };

    signalled_reports()
    {
        (void)os::at_fork([]() MEMORY_POOL_ACQUIRE(get().mutex_) { get().mutex_.lock(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().mutex_.unlock(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork_in_child(); });
    }

    void after_fork_in_child() MEMORY_POOL_RELEASE(mutex_)
    {
        for (const std::unique_ptr<one>& each : all_)
            each->thread.forget_after_fork();
        mutex_.unlock();
    }

    static void write(void* argument) noexcept
    {
        const one& its = *static_cast<const one*>(argument);
#if MEMORY_POOL_EXCEPTIONS
        try {
            (void)write_report_file(its.path.c_str(), its.format);
        } catch (const std::exception&) { // There is no memory for a report now.
            return;
        }
#else
        (void)write_report_file(its.path.c_str(), its.format);
#endif
    }

    void remove_locked(int signal) MEMORY_POOL_REQUIRES(mutex_)
    {
        for (std::unique_ptr<one>& each : all_)
            if (each->signal == signal) {
                std::swap(each, all_.back());
                all_.pop_back();
                return;
            }
    }

    base::mutex mutex_;
    std::vector<std::unique_ptr<one>> all_ MEMORY_POOL_GUARDED_BY(mutex_);
};
} // namespace detail::report

/// Effects: from now on, each time the process gets that signal, a report of this moment is written to the file at
///   `path`, in which `%p` stands for the number of the process, and `%%` for a percent sign. The report is written
///   beside the file, with `.tmp` behind its name, and then takes its place, so that it is always complete. The handler
///   of the signal only wakes a thread that writes it; it replaces the handler that there was. Where the file cannot be
///   written, nothing happens. In the child of a fork, the signal is ignored until this is called there.
/// Returns: whether it is so; if not, errno says why: the signal cannot be handled, or the system has no thread. Not on
///   Windows and Apple systems.
/// Throws: std::bad_alloc.
inline bool report_on_signal(int signal, std::string path, report_format format = report_format::json)
{
    return detail::report::signalled_reports::get().add(signal, std::move(path), format);
}

/// Effects: ends that, after a report that is being written, and restores the handler of the signal.
inline void stop_report_on_signal(int signal)
{
    detail::report::signalled_reports::get().remove(signal);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
