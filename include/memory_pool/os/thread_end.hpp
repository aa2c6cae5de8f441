// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs a function at the end of each thread that requests it. A request does not allocate.
///
/// (POSIX: pthread_key_create, pthread_key_delete; Windows: FlsAlloc, FlsFree. A `thread_local` object with a
/// destructor would do, too, but its registration calls malloc in each thread. On Apple systems, such an object is
/// needed nonetheless: there, thread-local variables are gone before the destructors of keys run.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/atomic_bytes.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#if defined(_WIN32)
extern "C" {
__declspec(dllimport) unsigned long __stdcall FlsAlloc(void(__stdcall*)(void*));
__declspec(dllimport) int __stdcall FlsSetValue(unsigned long, void*);
__declspec(dllimport) int __stdcall FlsFree(unsigned long);
}
#else
#include <pthread.h>
#endif

#include <atomic>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Do `thread_local` variables live until the last destructor of their thread has run? (Not with GCC for Windows, which
/// emulates thread-local variables: it frees their memory before the first of these destructors runs.)
#if defined(__MINGW32__) && !defined(__clang__)
inline constexpr bool thread_locals_outlive_destructors = false;
#else
inline constexpr bool thread_locals_outlive_destructors = true;
#endif

namespace platform {
/// Calls a function at the end of each thread that has requested it, through a thread-specific key of the system.
class thread_end_by_key : base::immovable<thread_end_by_key>
{
public:
    /// Effects: sets the function to call.
    /// Returns: false if the system has no free key.
    /// Preconditions: !has_started().
#if defined(_WIN32)
    bool start(void(__stdcall* action)(void*)) noexcept
    {
        key_ = ::FlsAlloc(action);
        return note_start(key_ != ~0UL);
    }
#else
    bool start(void (*action)(void*)) noexcept { return note_start(::pthread_key_create(&key_, action) == 0); }
#endif

    bool has_started() const noexcept { return is_started_; }

    /// Effects: requests a call of the function with `value`, which is not nullptr, at the end of this thread.
    /// Returns: whether the request succeeded.
    bool ask(void* value) const noexcept
    {
#if defined(_WIN32)
        return is_started_.load(std::memory_order_acquire) && ::FlsSetValue(key_, value) != 0;
#else
        return is_started_.load(std::memory_order_acquire) && ::pthread_setspecific(key_, value) == 0;
#endif
    }

    /// Effects: cancels all requests. (Windows calls the function now, in this thread, for all threads that have
    ///   requested it.)
    void stop() noexcept
    {
        if (!is_started_.exchange(false, std::memory_order_acq_rel))
            return;
#if defined(_WIN32)
        (void)::FlsFree(key_);
#else
        (void)::pthread_key_delete(key_);
#endif
    }

private:
    bool note_start(bool is_started) noexcept
    {
        is_started_.store(is_started, std::memory_order_release);
        return is_started;
    }

#if defined(_WIN32)
    unsigned long key_ = 0;
#else
    ::pthread_key_t key_ = 0;
#endif
    base::exchanged_bool is_started_{false};
};

#if !defined(_WIN32)
/// Calls a function at the end of a thread in the destructor of a `thread_local` object, which runs before thread-local
/// memory is freed. If there is no memory for the registration, the system terminates the process.
class thread_end_by_destructor : base::immovable<thread_end_by_destructor>
{
public:
    bool start(void (*action)(void*)) noexcept
    {
        action_.store(action, std::memory_order_release);
        return true;
    }

    bool has_started() const noexcept { return action_.load(std::memory_order_acquire) != nullptr; }

    /// Returns: whether the request succeeded. It fails if the object is stopped, the thread has a request to another
    ///   object, or the destructors of the thread have run.
    bool ask(void* value) const noexcept
    {
        request& mine = of_this_thread;
        if (!has_started() || mine.is_over || (mine.to != nullptr && mine.to != this))
            return false;
        thread_local const ending at_end;
        static_cast<void>(&at_end); // Constructs the object.
        mine.to = this;
        mine.value = value;
        return true;
    }

    void stop() noexcept { action_.store(nullptr, std::memory_order_release); }

private:
    /// Trivially destructible, so that it lives until the very end of the thread.
    struct request
    {
        const thread_end_by_destructor* to;
        void* value;
        bool is_over;
    };

    struct ending : base::immovable<ending>
    {
        ~ending()
        {
            of_this_thread.is_over = true;
            if (void (*const action)(void*) = of_this_thread.to->action_.load(std::memory_order_acquire))
                action(of_this_thread.value);
        }
    };

    static inline thread_local request of_this_thread{};

    std::atomic<void (*)(void*)> action_{nullptr};
};
#endif
} // namespace platform

#if defined(__APPLE__)
using thread_end = platform::thread_end_by_destructor;
#else
using thread_end = platform::thread_end_by_key;
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
