// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Accesses to memory that the system refuses.
///
///     instruction -> SIGSEGV, SIGBUS -> the watcher -> the previous handler, or the end of the process
///
/// (POSIX: sigaction. Windows: nobody can watch.) A program that sets another handler later, which does not call the
/// one before, has nobody told but itself.
///
/// Thread safety: one thread at a time begins or stops to watch; faults are told in the thread that they are of.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cerrno>

#if !defined(_WIN32)
#include <csignal>
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// Is told the address that was to be accessed. May do what a handler of a signal may.
using fault_watcher = void (*)(const void* address);

#if defined(_WIN32)
inline bool watch_faults(fault_watcher) noexcept
{
    return false;
}

inline void stop_watching_faults() noexcept {}
#else
namespace detail
{
/// What is done about one signal.
class fault_signal
{
public:
    constexpr explicit fault_signal(int number) noexcept : number_(number) {}

    bool is(int number) const noexcept { return number_ == number; }

    /// Effects: has `handle` called from now on, as the handler would have been called that was called before: with its
    ///   mask, on its stack, and with the same system calls going on afterwards. If there was none, few calls are cut
    ///   short, and a full stack is no obstacle where there is another one.
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

    /// Effects: has everything as it was before, if nobody has changed it since.
    void stop(void (*handle)(int, siginfo_t*, void*)) noexcept
    {
        struct sigaction now = {};
        if (::sigaction(number_, nullptr, &now) == 0 && is_watched_by(handle, now))
            (void)::sigaction(number_, &before_, nullptr);
    }

    /// Effects: does with a signal what would have been done if nobody watched.
    void pass_on(siginfo_t* about, void* context) const noexcept
    {
        const bool is_of_an_instruction = about->si_code > 0;
        if ((before_.sa_flags & static_cast<int>(SA_RESETHAND)) != 0)
            // With that flag, the system calls a handler once: so it need not end the process itself.
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

    /// Effects: ends the process by the signal. The instruction that has caused it comes again when the handler
    ///   returns, so that what is written down of the process shows it.
    void end_process(bool comes_again) const noexcept
    {
        have_process_end();
        if (!comes_again)
            (void)::raise(number_);
    }

    /// Effects: has the signal end the process when it comes again.
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

inline void handle_fault(int number, siginfo_t* about, void* context)
{
    const int error_before = errno;
    const fault_watcher watcher = watcher_of_faults.load(std::memory_order_acquire);
    if (watcher != nullptr && about->si_code > 0)
        watcher(about->si_addr);
    errno = error_before;
    for (const fault_signal& each : fault_signals)
        if (each.is(number))
            each.pass_on(about, context);
}
} // namespace detail

/// Effects: has `watcher` told of faults from now on, before whoever was to be told of them until now.
/// Returns: whether the system can do that.
/// Complexity: some system calls.
inline bool watch_faults(fault_watcher watcher) noexcept
{
    detail::watcher_of_faults.store(watcher, std::memory_order_release);
    bool is_watched = true;
    for (detail::fault_signal& each : detail::fault_signals)
        is_watched = each.watch(&detail::handle_fault) && is_watched;
    return is_watched;
}

/// Effects: has nobody told any more but who was before; unless somebody has changed that since, who may call what was
///   before that.
/// Complexity: some system calls.
inline void stop_watching_faults() noexcept
{
    detail::watcher_of_faults.store(nullptr, std::memory_order_release);
    for (detail::fault_signal& each : detail::fault_signals)
        each.stop(&detail::handle_fault);
}
#endif
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
