// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The report that the user asks for in the environment, of a program that need not know of it.
///
///     NP_REPORT=/run/server.%p.json           written on SIGUSR1 (NP_REPORT_SIGNAL), and when the process ends
///
/// Thread safety: one thread at a time.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/replaced_file.hpp>
#include <memory_pool/os/signal_thread.hpp>

#include "../support/internals.hpp"

#include <array>

namespace memory_pool::np {
/// The file that NP_REPORT names.
class requested_report : base::immovable<requested_report>
{
public:
    /// Effects: if `path` is not nullptr, has a report written there, in which `%p` stands for the process, when the
    ///   signal arrives, unless that is 0. What is impossible is said on stderr.
    void start(const char* path, int signal) noexcept;

    /// Effects: writes the report a last time.
    void finish() noexcept;

    /// Effects: in the child of a fork: only writes a report at the end.
    void forget_after_fork() noexcept { thread_.forget_after_fork(); }

private:
    void write() noexcept;

    std::array<char, os::replaced_file::longest_path> path_{}; ///< Empty: none is wanted.
    os::signal_thread thread_;
};
} // namespace memory_pool::np
