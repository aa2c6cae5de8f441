// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A descriptor that becomes readable when an event is signalled (Linux: eventfd). Elsewhere, there is none.
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../support/internals.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#endif

#include <atomic>

namespace memory_pool::np {
/// An eventfd.
class event_counter : base::immovable<event_counter>
{
public:
#if defined(__linux__)
    static constexpr bool is_supported = true;
#else
    static constexpr bool is_supported = false;
#endif

    /// Effects: opens the descriptor, with a high number, if it is not open yet.
    /// Returns: whether it is open. Otherwise errno is set.
    /// Thread safety: one thread at a time.
    bool open() noexcept
    {
#if defined(__linux__)
        if (number() != -1)
            return true;
        constexpr int out_of_the_way = 200;
        const int low = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (low == -1)
            return false;
        const int high = ::fcntl(low, F_DUPFD_CLOEXEC, out_of_the_way);
        if (high != -1)
            (void)::close(low);
        number_.store(high != -1 ? high : low, std::memory_order_release);
        return true;
#else
        return false;
#endif
    }

    /// Thread safety: one thread at a time.
    void close() noexcept
    {
#if defined(__linux__)
        if (number() != -1)
            (void)::close(number_.exchange(-1, std::memory_order_relaxed));
#endif
    }

    /// Returns: the descriptor; -1 if it is not open.
    /// Thread safety: any thread.
    int number() const noexcept { return number_.load(std::memory_order_acquire); }

    /// Effects: makes the descriptor readable, if it is open. errno is preserved.
    /// Thread safety: any thread.
    void signal() noexcept
    {
#if defined(__linux__)
        const int error_before = errno;
        const std::uint64_t one = 1;
        if (number() != -1)
            (void)!::write(number(), &one, sizeof one);
        errno = error_before;
#endif
    }

    /// Effects: waits until the descriptor is readable, `other` has an exceptional condition (POLLPRI), or the timeout
    ///   has expired. Resets the descriptor.
    /// Preconditions: open() has returned true.
    /// Thread safety: one thread at a time.
    void wait([[maybe_unused]] int other, [[maybe_unused]] int milliseconds) noexcept
    {
#if defined(__linux__)
        ::pollfd both[] = {{number(), POLLIN, 0}, {other, POLLPRI, 0}};
        (void)::poll(both, other != -1 ? 2 : 1, milliseconds);
        std::uint64_t count = 0;
        (void)!::read(number(), &count, sizeof count);
#endif
    }

private:
    std::atomic<int> number_{-1};
};
} // namespace memory_pool::np
