// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Watches memory faults (SIGSEGV, SIGBUS): calls a function before the previous handler.
///
///     instruction -> SIGSEGV, SIGBUS -> the watcher -> the previous handler, or the end of the process
///
/// (POSIX: sigaction. Windows: not supported.) The watcher is not called if the program later installs a handler that
/// does not call the previous one. Nor is it called on an alternate stack smaller than min_stack_for_watchers: a stack
/// of SIGSTKSZ (8 KiB) has too little room for a report and the registers that the kernel saves there.
///
/// Thread safety: start or stop watching from one thread at a time; the watcher runs in the faulting thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if !defined(_WIN32)
#include <csignal>
#if defined(__linux__)
#include <ucontext.h>
#endif
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The kind of a memory access.
enum class access
{
    unknown,
    read,
    write,
};

/// Called with the faulting address. Must be async-signal-safe.
using fault_watcher = void (*)(const void* address, access how);

#if defined(_WIN32)
inline bool watch_faults(fault_watcher) noexcept
{
    return false;
}

inline void stop_watching_faults() noexcept {}
#else
namespace platform {
/// The handler of one signal.
class fault_signal
{
public:
    constexpr explicit fault_signal(int number) noexcept : number_(number) {}

    bool is(int number) const noexcept { return number_ == number; }

    /// Effects: installs `handle` with the previous handler's mask, and its flags for the alternate stack, the restart
    ///   of system calls, and nesting. If there is no previous handler, uses SA_RESTART and SA_ONSTACK.
    bool watch(void (*handle)(int, siginfo_t*, void*)) noexcept
    {
        struct sigaction now = {};
        if (::sigaction(number_, nullptr, &now) != 0)
            return false;
        if (is_watched_by(handle, now))
            return true;
        before_ = now;
        struct sigaction action = {};
        action.sa_sigaction = handle;
        action.sa_mask = before_.sa_mask;
        action.sa_flags = SA_SIGINFO | (is_handled_before() ? before_.sa_flags & (SA_ONSTACK | SA_RESTART | SA_NODEFER)
                                                            : SA_ONSTACK | SA_RESTART);
        return ::sigaction(number_, &action, nullptr) == 0;
    }

    /// Effects: restores the previous handler, unless another one has been installed since.
    void stop(void (*handle)(int, siginfo_t*, void*)) noexcept
    {
        struct sigaction now = {};
        if (::sigaction(number_, nullptr, &now) == 0 && is_watched_by(handle, now))
            (void)::sigaction(number_, &before_, nullptr);
    }

    /// Effects: passes the signal to the previous handler.
    void pass_on(siginfo_t* about, void* context) const noexcept
    {
        const bool is_of_an_instruction = about->si_code > 0;
        if ((before_.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
            // With that flag, the system calls the handler only once, so the handler need not end the process.
            have_process_end();
        if ((before_.sa_flags & SA_SIGINFO) != 0)
            before_.sa_sigaction(number_, about, context);
        else if (before_.sa_handler == SIG_DFL || (before_.sa_handler == SIG_IGN && is_of_an_instruction))
            end_process(is_of_an_instruction);
        else if (before_.sa_handler != SIG_IGN)
            before_.sa_handler(number_);
    }

private:
    bool is_handled_before() const noexcept
    {
        return (before_.sa_flags & SA_SIGINFO) != 0 || (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN);
    }

    static bool is_watched_by(void (*handle)(int, siginfo_t*, void*), const struct sigaction& now) noexcept
    {
        return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handle;
    }

    /// Effects: terminates the process by the signal. When the handler returns, the faulting instruction runs again, so
    ///   the core dump shows that instruction.
    void end_process(bool comes_again) const noexcept
    {
        have_process_end();
        if (!comes_again)
            (void)::raise(number_);
    }

    /// Effects: restores the default action, which terminates the process at the next signal.
    void have_process_end() const noexcept
    {
        struct sigaction action = {};
        action.sa_handler = SIG_DFL;
        (void)::sigaction(number_, &action, nullptr);
    }

    int number_;
    struct sigaction before_ = {};
};

inline fault_signal fault_signals[] = {fault_signal(SIGSEGV), fault_signal(SIGBUS)};
inline std::atomic<fault_watcher> watcher_of_faults{nullptr};

inline constexpr std::size_t min_stack_for_watchers = std::size_t{16} * 1024;

/// Returns: whether this stack is large enough for a watcher.
inline bool has_stack_for_watchers() noexcept
{
    stack_t now = {};
    return ::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_ONSTACK) == 0 ||
           now.ss_size >= min_stack_for_watchers;
}

/// Returns: the kind of access that raised the signal. (Linux on x86; elsewhere unknown.)
inline access access_in([[maybe_unused]] const void* context) noexcept
{
#if defined(__linux__) && defined(REG_ERR)
    constexpr unsigned long is_write = 2;
    const auto code = static_cast<unsigned long>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR]);
    return (code & is_write) != 0 ? access::write : access::read;
#else
    return access::unknown;
#endif
}

inline void handle_fault(int number, siginfo_t* about, void* context)
{
    const int error_before = errno;
    const fault_watcher watcher = watcher_of_faults.load(std::memory_order_acquire);
    if (watcher != nullptr && about->si_code > 0 && has_stack_for_watchers())
        watcher(about->si_addr, access_in(context));
    errno = error_before;
    for (const fault_signal& each : fault_signals)
        if (each.is(number))
            each.pass_on(about, context);
}
} // namespace platform

/// Effects: from now on, calls `watcher` for each fault, before the previous handler.
/// Returns: whether the system supports watching.
/// Complexity: a few system calls.
inline bool watch_faults(fault_watcher watcher) noexcept
{
    platform::watcher_of_faults.store(watcher, std::memory_order_release);
    bool is_watched = true;
    for (platform::fault_signal& each : platform::fault_signals)
        is_watched = each.watch(&platform::handle_fault) && is_watched;
    return is_watched;
}

/// Effects: restores the previous handlers, except where another handler has been installed since. That handler may
///   still call this library's handler.
/// Complexity: a few system calls.
inline void stop_watching_faults() noexcept
{
    platform::watcher_of_faults.store(nullptr, std::memory_order_release);
    for (platform::fault_signal& each : platform::fault_signals)
        each.stop(&platform::handle_fault);
}
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
