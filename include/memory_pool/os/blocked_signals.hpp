// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A scope in which no signal handler interrupts the calling thread.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#if !defined(_WIN32)
#include <csignal>
#include <signal.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
#if defined(_WIN32)
class blocked_signals : base::immovable<blocked_signals>
{
public:
    blocked_signals() noexcept {}
    ~blocked_signals() {}
};
#else
/// Blocks all signals of the calling thread during its lifetime. Threads created in this scope inherit the mask.
class blocked_signals : base::immovable<blocked_signals>
{
public:
    blocked_signals() noexcept
    {
        ::sigset_t all;
        (void)sigfillset(&all); // A macro on some systems.
        (void)::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~blocked_signals() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    ::sigset_t before_;
};
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
