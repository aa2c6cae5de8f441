// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What is to be done when a thread ends, for code that may not allocate when it says so.
///
/// (POSIX: pthread_key_create; Windows: FlsAlloc. A `thread_local` object with a destructor would do the same, but asks malloc
/// for memory in each thread.)
///
/// Thread safety: any thread.
#pragma once

#if defined(_WIN32)
extern "C" {
__declspec(dllimport) unsigned long __stdcall FlsAlloc(void(__stdcall*)(void*));
__declspec(dllimport) int __stdcall FlsSetValue(unsigned long, void*);
}
#else
#include <pthread.h>
#endif

namespace memory_pool::os
{
/// A function that is called at the end of each thread that has asked for it.
class thread_end
{
public:
    constexpr thread_end() noexcept = default;
    thread_end(const thread_end&) = delete;
    thread_end& operator=(const thread_end&) = delete;
    ~thread_end() = default;

    /// Effects: chooses the function.
    /// Returns: whether the system has room for it.
    /// Preconditions: not called before.
#if defined(_WIN32)
    bool start(void(__stdcall* action)(void*)) noexcept
    {
        key_ = ::FlsAlloc(action);
        return is_started_ = key_ != ~0UL;
    }
#else
    bool start(void (*action)(void*)) noexcept { return is_started_ = ::pthread_key_create(&key_, action) == 0; }
#endif

    /// Effects: has the function called with `value`, which is not nullptr, when this thread ends.
    /// Returns: whether it will be.
    bool ask(void* value) const noexcept
    {
#if defined(_WIN32)
        return is_started_ && ::FlsSetValue(key_, value) != 0;
#else
        return is_started_ && ::pthread_setspecific(key_, value) == 0;
#endif
    }

private:
#if defined(_WIN32)
    unsigned long key_ = 0;
#else
    ::pthread_key_t key_ = 0;
#endif
    bool is_started_ = false;
};
} // namespace memory_pool::os
