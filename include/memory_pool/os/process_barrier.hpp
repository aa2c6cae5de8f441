// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A memory barrier for all threads of the process at once, issued by one of them.
///
///     thread A, often:   store x; compiler barrier; load y           no instruction for the barrier
///     thread B, rarely:  store y; process_barrier(); load x          a system call
///
///     A sees B's store of y, or B sees A's store of x.
///
/// The frequent side of an asymmetric handshake pays nothing for the barrier, and the rare side pays for both. (Linux:
/// membarrier(2) with MEMBARRIER_CMD_PRIVATE_EXPEDITED, since 4.14; Windows: FlushProcessWriteBuffers, except in Wine,
/// where it may be a no-op.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#if defined(__linux__)
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(_WIN32)
// Declared here, because windows.h would define thousands of macros.
extern "C" {
struct HINSTANCE__;
__declspec(dllimport) void __stdcall FlushProcessWriteBuffers(void);
__declspec(dllimport) HINSTANCE__* __stdcall GetModuleHandleA(const char*);
__declspec(dllimport) long long(__stdcall* __stdcall GetProcAddress(HINSTANCE__*, const char*))();
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
namespace platform {
/// For tests: simulates a system without such a barrier.
inline std::atomic<bool> process_barrier_is_hidden{false};

#if defined(__linux__) && defined(SYS_membarrier)
enum class membarrier_command : int
{
    private_expedited = 1 << 3,
    register_private_expedited = 1 << 4
};

inline bool membarrier(membarrier_command command) noexcept
{
    const int error_before = errno;
    const bool succeeded = ::syscall(SYS_membarrier, static_cast<int>(command), 0, 0) == 0;
    errno = error_before;
    return succeeded;
}
#endif

inline bool register_process_barrier() noexcept
{
#if defined(__linux__) && defined(SYS_membarrier)
    return membarrier(membarrier_command::register_private_expedited);
#elif defined(_WIN32)
    HINSTANCE__* const system = ::GetModuleHandleA("ntdll.dll");
    return system != nullptr && ::GetProcAddress(system, "wine_get_version") == nullptr;
#else
    return false;
#endif
}
} // namespace platform

/// Returns: whether `process_barrier` may be called. If not, both sides of a handshake must use sequentially consistent
///   operations.
/// Complexity: O(1); a system call the first time.
inline bool has_process_barrier() noexcept
{
    static const bool is_registered = platform::register_process_barrier();
    return is_registered && !platform::process_barrier_is_hidden.load(std::memory_order_relaxed);
}

/// Effects: acts as if every running thread of the process executed a full memory barrier between two instructions.
/// Preconditions: has_process_barrier().
/// Complexity: a system call that interrupts the other processors, and takes microseconds.
inline void process_barrier() noexcept
{
#if defined(__linux__) && defined(SYS_membarrier)
    if (!platform::membarrier(platform::membarrier_command::private_expedited)) {
        // A forked process may have to register again. If the call still fails, a seccomp filter now forbids it, and
        // without the barrier, two threads could come to own one block.
        (void)platform::register_process_barrier();
        if (!platform::membarrier(platform::membarrier_command::private_expedited)) {
            std::fputs("memory_pool: membarrier() was there when the first pool was made, and fails now\n"
                       "  remedy: allow it in the filter of system calls, or install the filter before\n",
                       stderr);
            std::abort();
        }
    }
#elif defined(_WIN32)
    FlushProcessWriteBuffers();
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
