// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The report and the profile that environment variables request, even for a program that cannot be changed.
///
///     NP_REPORT=/run/server.%p.json     written on SIGUSR1 (NP_REPORT_SIGNAL), and when the process ends
///     NP_PROFILE=/run/server.%p.pb      written on SIGUSR1 (NP_REPORT_SIGNAL), and when the process ends
///
/// Thread safety: one thread at a time.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/replaced_file.hpp>
#include <memory_pool/os/signal_thread.hpp>

#include "../support/internals.hpp"

#include <array>

namespace memory_pool::np {
/// The files that NP_REPORT and NP_PROFILE name.
class requested_report : base::immovable<requested_report>
{
public:
    /// Effects: writes the files whenever the signal arrives, unless `signal` is 0. A path of nullptr means no file;
    ///   `%p` in a path stands for the process number. Reports failures on stderr.
    void start(const char* report_path, const char* profile_path, int signal) noexcept;

    /// Effects: writes both files for the last time.
    void finish() noexcept;

    /// Effects: in the child of a fork, writes only at the end.
    void forget_after_fork() noexcept { thread_.forget_after_fork(); }

private:
    using path = std::array<char, os::replaced_file::max_path_length>; ///< Empty: no file is wanted.

    static void keep(path& kept, const char* wanted, const char* variable) noexcept;

    void write() noexcept;
    void write_report() noexcept;

    path report_path_{};
    path profile_path_{};
    os::signal_thread thread_;
};
} // namespace memory_pool::np
