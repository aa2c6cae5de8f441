// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The profile of pools whose policy samples blocks.
///
///     allocate:     count the bytes                        ->  sample is due: call stack   ->  profile, filter
///     deallocate:   filter: may this block be a sample?    ->  yes                         ->  profile, filter
///
/// Lock order: the lock of the profile comes after the locks of pools, because a pool may call the profile with its
/// lock held: see thread_registry.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/allocation_profile.hpp>
#include <memory_pool/core/reports/byte_sampler.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/sample_filter.hpp>
#include <memory_pool/core/reports/system_pages.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/environment.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Mean bytes between samples; 0: no sampling. If NP_PROFILE_BYTES is set, the constructor of the profile sets the
/// mean.
MEMORY_POOL_CONSTINIT inline std::atomic<std::size_t> mean_of_pool_profile{std::size_t{512} * 1024};

MEMORY_POOL_CONSTINIT inline sample_filter filter_of_pool_profile;

/// The sampling state of a thread.
struct sampling_thread
{
    byte_sampler sampler;
    bool is_sampling = false; ///< The thread is capturing its call stack, which may allocate.
};

inline thread_local sampling_thread this_sampling_thread{};

/// The samples of pools.
class pool_profile : base::immovable<pool_profile>
{
public:
    using taken = taken_profile<system_pages>;

    /// Returns: the profile of the process. Never destroyed: pools may outlive static destructors.
    static pool_profile& get() noexcept
    {
        alignas(pool_profile) static std::byte memory[sizeof(pool_profile)];
        static auto* const profile = ::new (static_cast<void*>(memory)) pool_profile;
        return *profile;
    }

    /// Effects: sets the mean bytes between samples; 0: no sampling.
    static void set_mean(std::size_t mean) noexcept
    {
        (void)get(); // Reads the environment first, so that `mean` overrides it.
        mean_of_pool_profile.store(mean, std::memory_order_relaxed);
        this_sampling_thread.sampler.notice_mean();
    }

    /// Effects: counts an allocated block, and samples it if a sample is due.
    MEMORY_POOL_ALWAYS_INLINE static void allocated(const char* pool_name, const void* block,
                                                    std::size_t bytes) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(this_sampling_thread.sampler.may_be_due(bytes)))
            sample(pool_name, block, bytes);
    }

    /// Effects: removes a freed block from the samples in use, if it is one.
    MEMORY_POOL_ALWAYS_INLINE static void freed(const void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(filter_of_pool_profile.may_have(block)))
            get().forget(block);
    }

    /// Effects: copies the profile to `to`, which is empty.
    /// Returns: false on OOM.
    bool take(taken& to) noexcept { return profile_.take(to); }

    /// Returns: as allocation_profile::modules.
    const code_module* modules() noexcept { return profile_.modules(); }

    /// Effects: as `take`, restricted to samples in use among the blocks that `for_each(visit)` visits.
    /// Returns: false on OOM.
    template <class ForEach>
    bool take_in_use(taken& to, ForEach&& for_each) noexcept
    {
        // Not the address of the pool, which a later pool may have, too.
        const auto* const mark = reinterpret_cast<const void*>(marks_.fetch_add(1, std::memory_order_relaxed) + 1);
        for_each([&](const void* block) {
            if (filter_of_pool_profile.may_have(block))
                profile_.set_home(block, mark);
        });
        return profile_.take_in_use_of(mark, to);
    }

    /// Effects: removes the lock of the profile from the fork handlers.
    static void leave_forks() noexcept { thread_registry::get().remove_inner_lock(for_forks()); }

private:
    static constexpr std::size_t max_name_length = 127; ///< As in reports.

    /// A thread notices a new mean after at most this number of bytes.
    static constexpr std::int64_t max_unnoticed = std::int64_t{64} * 1024;

    /// Disables sampling in this thread while it captures its call stack: the unwinder may allocate.
    class sampling_scope : base::immovable<sampling_scope>
    {
    public:
        sampling_scope() noexcept { this_sampling_thread.is_sampling = true; }
        ~sampling_scope() { this_sampling_thread.is_sampling = false; }
    };

    pool_profile() noexcept
    {
        if (const std::size_t wanted = os::number_in_environment("NP_PROFILE_BYTES"))
            mean_of_pool_profile.store(wanted, std::memory_order_relaxed);
        thread_registry::get().set_inner_lock(for_forks());
    }

    static const thread_registry::inner_lock& for_forks() noexcept
    {
        static constexpr thread_registry::inner_lock lock{&lock_for_fork, &unlock_after_fork, &unlock_in_child};
        return lock;
    }

    static void lock_for_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        get().profile_.gate().close();
        get().profile_.mutex().lock();
    }

    static void unlock_after_fork() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        get().profile_.mutex().unlock();
        get().profile_.gate().open();
    }

    static void unlock_in_child() noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
    {
        get().profile_.mutex().unlock();
        get().profile_.gate().reset();
    }

    // Not inlined: samples omit the frames from this function inwards.
    MEMORY_POOL_NOINLINE static void sample(const char* pool_name, const void* block, std::size_t bytes) noexcept
    {
        pool_profile& all = get();
        const std::size_t mean = mean_of_pool_profile.load(std::memory_order_relaxed);
        sampling_thread& thread = this_sampling_thread;
        if (thread.is_sampling || !thread.sampler.is_due_slowly(bytes, mean, max_unnoticed))
            return;
        const sampling_scope scope;
        const sampled_stack calls = all.profile_.take_stack();
        const void* const caller = static_cast<const char*>(os::caller_of_this_function()) - 1;
        const void* const* const first = std::find(calls.begin(), calls.end(), caller);
        all.add(block, bytes, mean,
                {first != calls.end() ? first : calls.begin(), calls.end(),
                 std::string_view(pool_name).substr(0, max_name_length), is_truncated(calls)});
    }

    void add(const void* block, std::size_t bytes, std::size_t mean, const sampled_calls& calls) noexcept
    {
        if (profile_.add(block, bytes, mean, calls, nullptr))
            filter_of_pool_profile.add(block);
    }

    MEMORY_POOL_NOINLINE void forget(const void* block) noexcept
    {
        if (profile_.forget(block))
            filter_of_pool_profile.remove(block);
    }

    allocation_profile<base::mutex, system_pages> profile_;
    std::atomic<std::uintptr_t> marks_{0};
};

/// Constructs the profile at startup, so that fork handlers of the program may use pools. Removes it from the fork
/// handlers when its library is unloaded, because the registry may be in another library.
struct profile_in_forks : base::immovable<profile_in_forks>
{
    profile_in_forks() noexcept { (void)pool_profile::get(); }
    ~profile_in_forks() { pool_profile::leave_forks(); }
};
inline const profile_in_forks pool_profile_is_prepared;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
