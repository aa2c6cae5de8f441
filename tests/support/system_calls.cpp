// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Replacements of system calls. The linker redirects calls of `name` to `__wrap_name`; `__real_name` is the original.
#include "system_calls.hpp"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

using test::system_call;
using test::system_calls;

namespace {
// Constants that older headers do not define.
constexpr int fixed_unless_taken = 0x100000; // MAP_FIXED_NOREPLACE
constexpr int populate_for_writing = 23;     // MADV_POPULATE_WRITE
constexpr int install_guard = 102;           // MADV_GUARD_INSTALL
constexpr int remove_guard = 103;            // MADV_GUARD_REMOVE
constexpr long inherit_priority = 6 | 128;   // FUTEX_LOCK_PI_PRIVATE

/// Sets errno to `error` and returns `failed`.
template <class Result>
Result refuse_with(int error, Result failed) noexcept
{
    errno = error;
    return failed;
}

system_call kind_of_advice(int advice) noexcept
{
    if (advice == install_guard)
        return system_call::guard;
    if (advice == MADV_DONTDUMP || advice == MADV_DODUMP)
        return system_call::advise_dumps;
    return advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE ? system_call::advise_huge_pages : system_call::advise;
}

int without_reserved_pages(int flags) noexcept
{
    constexpr int size_of_pages = 63 << 26; // MAP_HUGE_MASK << MAP_HUGE_SHIFT
    return flags & ~(MAP_HUGETLB | size_of_pages);
}
} // namespace

extern "C" {
void* __real_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void* memory, std::size_t bytes);
int __real_mprotect(void* memory, std::size_t bytes, int protection);
int __real_madvise(void* memory, std::size_t bytes, int advice);
void* __real_mremap(void* memory, std::size_t bytes, std::size_t new_bytes, int flags, ...);
int __real_pthread_key_create(pthread_key_t* key, void (*action)(void*));
int __real_pthread_setspecific(pthread_key_t key, const void* value);
int __real_pthread_atfork(void (*prepare)(), void (*in_parent)(), void (*in_child)());
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*action)(void*), void* argument);
long __real_syscall(long number, ...);
ssize_t __real_write(int file, const void* bytes, std::size_t count);
int __real_fcntl(int file, int command, ...);
std::FILE* __real_fopen(const char* name, const char* mode);
int __real_clock_gettime(clockid_t clock, timespec* now);

void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset)
{
    const bool is_of_huge_pages = (flags & MAP_HUGETLB) != 0;
    system_calls::huge_maps += is_of_huge_pages ? 1 : 0;
    if (system_calls::refuses(system_call::map))
        return refuse_with(EAGAIN, MAP_FAILED);
    if (is_of_huge_pages && system_calls::simulates_huge_pages)
        flags = without_reserved_pages(flags);
    if (system_calls::commits_all_memory)
        flags &= ~MAP_NORESERVE;
    void* const memory = __real_mmap(at, bytes, protection, flags, file, offset);
    if (memory != MAP_FAILED && (flags & (MAP_FIXED | fixed_unless_taken)) == 0)
        system_calls::mapped_bytes += bytes;
    return memory;
}

int __wrap_munmap(void* memory, std::size_t bytes)
{
    if (system_calls::refuses(system_call::unmap))
        return refuse_with(ENOMEM, -1);
    const int result = __real_munmap(memory, bytes);
    if (result == 0)
        system_calls::mapped_bytes -= bytes;
    return result;
}

int __wrap_mprotect(void* memory, std::size_t bytes, int protection)
{
    if (system_calls::refuses(protection == PROT_NONE ? system_call::guard : system_call::protect))
        return refuse_with(ENOMEM, -1);
    return __real_mprotect(memory, bytes, protection);
}

int __wrap_madvise(void* memory, std::size_t bytes, int advice)
{
    if (advice != remove_guard && system_calls::refuses(kind_of_advice(advice)))
        return refuse_with(ENOMEM, -1);
    if (system_calls::has_only_mappings && (advice == install_guard || advice == remove_guard))
        return refuse_with(EINVAL, -1);
    if (advice == populate_for_writing)
        system_calls::populated_bytes += bytes;
    return __real_madvise(memory, bytes, advice);
}

/// The library uses two forms of this call: one with a destination, and one that changes nothing (flags are 0).
void* __wrap_mremap(void* memory, std::size_t bytes, std::size_t new_bytes, int flags, ...)
{
    if (flags == 0)
        return __real_mremap(memory, bytes, new_bytes, flags);
    va_list arguments;
    va_start(arguments, flags);
    void* const to = va_arg(arguments, void*);
    va_end(arguments);
    if (void (*const action)() = system_calls::during_move)
        action();
    if (!system_calls::refuses(system_call::move))
        return __real_mremap(memory, bytes, new_bytes, flags, to);
    (void)__real_munmap(to, new_bytes);
    if (system_calls::content_of_others != 0) {
        constexpr std::size_t byte = 1; // The system rounds it up to a page.
        (void)__real_mmap(to, byte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        *static_cast<unsigned char*>(to) = system_calls::content_of_others;
    }
    return refuse_with(EFAULT, MAP_FAILED);
}

int __wrap_pthread_key_create(pthread_key_t* key, void (*action)(void*))
{
    return system_calls::refuses(system_call::create_key) ? EAGAIN : __real_pthread_key_create(key, action);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void* value)
{
    return system_calls::refuses(system_call::set_key) ? ENOMEM : __real_pthread_setspecific(key, value);
}

int __wrap_pthread_atfork(void (*prepare)(), void (*in_parent)(), void (*in_child)())
{
    return system_calls::refuses(system_call::register_fork) ? ENOMEM
                                                             : __real_pthread_atfork(prepare, in_parent, in_child);
}

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*action)(void*), void* argument)
{
    return system_calls::refuses(system_call::make_thread)
               ? EAGAIN
               : __real_pthread_create(thread, attributes, action, argument);
}

/// Refuses only membarrier, getrandom and futex. No system call has more than six arguments; forwarding unused ones is
/// harmless.
long __wrap_syscall(long number, ...)
{
    std::array<long, 6> values{};
    va_list arguments;
    va_start(arguments, number);
    for (long& each : values)
        each = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_membarrier && system_calls::refuses(system_call::barrier))
        return refuse_with(EPERM, -1L);
    if (number == SYS_getrandom && system_calls::refuses(system_call::random))
        return refuse_with(EAGAIN, -1L);
    if (number == SYS_futex && values[1] == inherit_priority && system_calls::refuses(system_call::inherit))
        return refuse_with(ENOSYS, -1L);
    if (number == SYS_sched_getscheduler && system_calls::are_real_time)
        return SCHED_FIFO;
    return __real_syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

ssize_t __wrap_write(int file, const void* bytes, std::size_t count)
{
    if (system_calls::refuses(system_call::write))
        return refuse_with(EIO, ssize_t{-1});
    return __real_write(file, bytes, count);
}

int __wrap_fcntl(int file, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    const auto argument = va_arg(arguments, std::intptr_t);
    va_end(arguments);
    if (system_calls::refuses(system_call::duplicate))
        return refuse_with(EMFILE, -1);
    return __real_fcntl(file, command, argument);
}

std::FILE* __wrap_fopen(const char* name, const char* mode)
{
    return system_calls::refuses(system_call::open_file) ? refuse_with<std::FILE*>(EMFILE, nullptr)
                                                         : __real_fopen(name, mode);
}

int __wrap_clock_gettime(clockid_t clock, timespec* now)
{
    if (clock == CLOCK_MONOTONIC && system_calls::refuses(system_call::read_clock))
        return refuse_with(EPERM, -1);
    if (clock == CLOCK_MONOTONIC && test::first_touch_costs::is_set) {
        constexpr std::uint64_t second = 1'000'000'000;
        const std::uint64_t read = test::first_touch_costs::now();
        *now = {static_cast<time_t>(read / second), static_cast<long>(read % second)};
        return 0;
    }
    return __real_clock_gettime(clock, now);
}
}
