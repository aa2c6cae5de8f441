// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A descriptor that becomes readable when an event is signalled. (Linux: eventfd. Other systems: not available.)
///
/// A program may close all of its descriptors and open others with the same numbers, so the descriptor is verified
/// before each use. All eventfds share one inode, but each has its own number in /proc/self/fdinfo.
///
/// Thread safety: as documented for each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/descriptor.hpp>

#include "small_file.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// An eventfd.
class event_counter : base::immovable<event_counter>
{
public:
#if defined(__linux__)
    static constexpr bool is_supported = true;
#else
    static constexpr bool is_supported = false;
#endif

    /// Effects: opens the descriptor, with a high number, unless it is open.
    /// Returns: whether the descriptor is open. If not, errno is set.
    /// Thread safety: one thread at a time.
    bool open() noexcept
    {
#if defined(__linux__)
        if (is_valid())
            return true;
        const int opened = moved_up(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        identity_ = identity_of(opened);
        number_.store(opened, std::memory_order_release);
        return opened != -1;
#else
        return false;
#endif
    }

    /// Thread safety: one thread at a time.
    void close() noexcept
    {
#if defined(__linux__)
        if (is_valid())
            (void)::close(number());
        number_.store(-1, std::memory_order_relaxed);
#endif
    }

    /// Returns: the descriptor; -1 if it is not open.
    /// Thread safety: any thread.
    int number() const noexcept { return number_.load(std::memory_order_acquire); }

    /// Effects: makes the descriptor readable, if it is open. errno is preserved.
    /// Thread safety: any thread.
    void signal() const noexcept
    {
#if defined(__linux__)
        const int error_before = errno;
        const std::uint64_t one = 1;
        if (is_valid())
            (void)!::write(number(), &one, sizeof one);
        errno = error_before;
#endif
    }

    /// Returns: whether the descriptor still refers to the eventfd that was opened.
    /// Thread safety: any thread, except during open().
    bool is_valid() const noexcept
    {
#if defined(__linux__)
        const int error_before = errno;
        const bool is_same = number() != -1 && identity_of(number()) == identity_;
        errno = error_before;
        return is_same;
#else
        return false;
#endif
    }

    /// Effects: waits until the descriptor is readable, `other` has an exceptional condition (POLLPRI), or the timeout
    ///   expires; then resets the descriptor. If the descriptor is not open, waits only for `other` and the timeout.
    /// Thread safety: only the thread that opens the descriptor.
    void wait([[maybe_unused]] int other, [[maybe_unused]] int milliseconds) const noexcept
    {
#if defined(__linux__)
        const bool is_there = is_valid();
        ::pollfd both[] = {{is_there ? number() : -1, POLLIN, 0}, {other, POLLPRI, 0}}; // poll ignores -1.
        (void)::poll(both, 2, milliseconds);
        std::uint64_t count = 0;
        if (is_there && is_valid())
            (void)!::read(number(), &count, sizeof count);
#endif
    }

private:
#if defined(__linux__)
    struct identity
    {
        file_identity file;
        std::uint64_t number = 0; ///< The eventfd's number; 0 if unknown.

        friend bool operator==(const identity& one, const identity& other) noexcept
        {
            return one.file == other.file && one.number == other.number;
        }
    };

    static identity identity_of(int opened) noexcept
    {
        std::array<char, 64> name{};
        (void)std::snprintf(name.data(), name.size(), "/proc/self/fdinfo/%d", opened);
        small_file file;
        file.read(::open(name.data(), O_RDONLY | O_CLOEXEC), true);
        return {os::identity_of(opened), file.number_behind("eventfd-id:").value_or(0)};
    }

    identity identity_;
#endif
    std::atomic<int> number_{-1};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
