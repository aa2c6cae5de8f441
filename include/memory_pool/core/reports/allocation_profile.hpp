// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Allocations and memory in use by call stack, estimated from samples.
///
///     sample:   address -> bytes, weight, home, call stack          while the block is in use
///                                                |
///     stack:                                     frames with their modules, blocks and bytes allocated
///
/// The owner decides which allocations to sample (byte_sampler.hpp), and notifies the profile when a block that may be
/// a sample is freed. Blocks and bytes in use are summed up on request.
///
/// Recording is best effort: on OOM a sample is dropped.
///
/// The profile records the loaded modules when it captures the stack of a sample, before any of them can be unloaded,
/// and when it is copied. Lock order: the loader's lock before the profile's lock.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/core/reports/byte_sampler.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/hash_table.hpp>
#include <memory_pool/core/reports/loader_gate.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/stack_table.hpp>
#include <memory_pool/os/loaded_code.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A copy of a profile, sorted by bytes in use in descending order.
template <class Pages>
class taken_profile : base::immovable<taken_profile<Pages>>
{
public:
    taken_profile() noexcept = default;
    ~taken_profile() { Pages::give(samples_, places_ * sizeof(profile_sample)); }

    const profile_sample* begin() const noexcept { return samples_; }
    const profile_sample* end() const noexcept { return samples_ + count_; }

private:
    template <class, class>
    friend class allocation_profile;

    bool make_room(std::size_t places) noexcept
    {
        samples_ = static_cast<profile_sample*>(Pages::take(places * sizeof(profile_sample)));
        places_ = samples_ != nullptr ? places : 0;
        return samples_ != nullptr;
    }

    profile_sample* samples_ = nullptr;
    std::size_t places_ = 0;
    std::size_t count_ = 0;
};

/// The samples of a process, in memory from Pages: see system_pages.
template <class Mutex, class Pages>
class allocation_profile : base::immovable<allocation_profile<Mutex, Pages>>
{
public:
    constexpr allocation_profile() noexcept = default;

    /// Effects: sets the mean bytes between samples; 0 disables sampling.
    void set_mean_bytes(std::size_t bytes) noexcept { mean_bytes_.store(bytes, std::memory_order_relaxed); }
    std::size_t mean_bytes() const noexcept { return mean_bytes_.load(std::memory_order_relaxed); }

    /// Returns: the call stack of this thread.
    MEMORY_POOL_ALWAYS_INLINE sampled_stack take_stack() noexcept
    {
        note_modules();
        return sampled_stack::of_this_thread();
    }

    /// Effects: adds a block as a sample. `bytes`: the requested size, at least 1. `home`: see forget_all_of.
    /// Returns: whether the caller must call forget when the block is freed; false on OOM.
    bool add(const void* block, std::size_t bytes, std::size_t mean, const sampled_calls& calls,
             const void* home) noexcept
    {
        const double weight = weight_of_sample(bytes, mean);
        std::array<code_frame, profile_sample::max_frames> frames;
        code_frame* const end = frames.data() + (calls.end - calls.begin);
        const base::lock_guard lock(mutex_);
        modules_.find(calls.begin, calls.end, frames.data());
        if (calls.are_truncated)
            end[-1] = {};
        stack_entry* const by = stacks_.find_or_add({frames.data(), end, calls.pool});
        if (by != nullptr) {
            by->allocated_blocks += weight;
            by->allocated_bytes += weight * static_cast<double>(bytes);
        }
        if (sample* const known = find(block)) // The previous block was freed without a call to forget.
            remove(known);
        if (by == nullptr || !samples_.has_room())
            return false;
        (void)samples_.add({reinterpret_cast<std::uintptr_t>(block), bytes, weight, by, home});
        note_count();
        return true;
    }

    /// Effects: removes a block that is about to be freed, if it is a sample.
    /// Returns: whether the block was a sample.
    bool forget(const void* block) noexcept
    {
        if (MEMORY_POOL_LIKELY(count_.load(std::memory_order_relaxed) == 0))
            return false;
        const base::lock_guard lock(mutex_);
        sample* const known = find(block);
        if (known != nullptr)
            remove(known);
        return known != nullptr;
    }

    /// Effects: changes the home of a block, if it is a sample.
    void set_home(const void* block, const void* home) noexcept
    {
        const base::lock_guard lock(mutex_);
        if (sample* const known = find(block))
            known->home = home;
    }

    /// Effects: removes all samples with this home.
    /// Complexity: linear in samples.
    void forget_all_of(const void* home) noexcept
    {
        const base::lock_guard lock(mutex_);
        samples_.remove_if([home](const sample& each) { return each.home == home; });
        note_count();
    }

    /// Effects: records the new address of a block, if it is a sample.
    void move(const void* from, const void* to) noexcept
    {
        if (MEMORY_POOL_LIKELY(count_.load(std::memory_order_relaxed) == 0))
            return;
        const base::lock_guard lock(mutex_);
        sample* const known = find(from);
        if (known == nullptr)
            return;
        sample moved = *known;
        moved.address = reinterpret_cast<std::uintptr_t>(to);
        samples_.remove(known);
        (void)samples_.add(moved); // There is room: a sample has just been removed.
    }

    /// Effects: records the new size of a block, if it is a sample.
    void resize(const void* block, std::size_t bytes) noexcept
    {
        if (MEMORY_POOL_LIKELY(count_.load(std::memory_order_relaxed) == 0))
            return;
        const base::lock_guard lock(mutex_);
        if (sample* const known = find(block))
            known->bytes = bytes;
    }

    /// Effects: copies the profile to `taken`.
    /// Preconditions: `taken` is empty.
    /// Returns: false on OOM.
    bool take(taken_profile<Pages>& taken) noexcept
    {
        return take_if(taken, [](const sample&) { return true; }, [](const stack_entry&) { return true; });
    }

    /// Effects: as `take`, but counts only samples with this home, and omits stacks without samples in use.
    bool take_in_use_of(const void* home, taken_profile<Pages>& taken) noexcept
    {
        return take_if(
            taken, [home](const sample& each) { return each.home == home; },
            [](const stack_entry& each) { return each.blocks_in_use > 0; });
    }

    /// Returns: the number of samples in use.
    std::size_t samples_in_use() const noexcept { return count_.load(std::memory_order_relaxed); }

    /// Returns: the head of the list of modules; nullptr if there is none.
    /// Preconditions: a profile was taken.
    const code_module* modules() noexcept
    {
        const base::lock_guard lock(mutex_);
        return modules_.first();
    }

    /// For fork handlers, which close the gate before acquiring any lock.
    loader_gate& gate() noexcept { return gate_; }

    /// The lock, for fork handlers: no other lock is acquired while this lock is held.
    Mutex& mutex() noexcept MEMORY_POOL_LOCK_RETURNED(mutex_) { return mutex_; }

private:
    struct sample
    {
        std::uintptr_t address;
        std::size_t bytes;
        double weight;
        stack_entry* by;
        const void* home;

        bool is_there() const noexcept { return address != 0; }
        std::uint64_t hash() const noexcept { return mixed(address); }
        bool is(const sample& other) const noexcept { return address == other.address; }
    };

    static std::uint64_t rounded(double number) noexcept
    {
        // NOLINTNEXTLINE(bugprone-incorrect-roundings): never negative; std::llround would need another library
        return static_cast<std::uint64_t>(number + 0.5);
    }

    static profile_values values_of(const stack_entry& stack) noexcept
    {
        return {rounded(stack.allocated_blocks), rounded(stack.allocated_bytes), rounded(stack.blocks_in_use),
                rounded(stack.bytes_in_use)};
    }

    static bool is_before(const profile_sample& one, const profile_sample& other) noexcept
    {
        if (one.values.bytes_in_use != other.values.bytes_in_use)
            return one.values.bytes_in_use > other.values.bytes_in_use;
        return one.values.allocated_bytes > other.values.allocated_bytes;
    }

    sample* find(const void* block) const noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return samples_.find({reinterpret_cast<std::uintptr_t>(block), 0, 0, nullptr, nullptr});
    }

    void remove(sample* removed) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        samples_.remove(removed);
        note_count();
    }

    void note_count() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        count_.store(samples_.count(), std::memory_order_relaxed);
    }

    template <class IsSampleWanted, class IsStackWanted>
    bool take_if(taken_profile<Pages>& taken, IsSampleWanted&& is_sample_wanted,
                 IsStackWanted&& is_stack_wanted) noexcept
    {
        note_modules();
        {
            const base::lock_guard lock(mutex_);
            sum_up(is_sample_wanted);
            if (stacks_.count() == 0)
                return true;
            if (!taken.make_room(stacks_.count()))
                return false;
            stacks_.for_each([&](const stack_entry& each) {
                if (is_stack_wanted(each))
                    taken.samples_[taken.count_++] = {each.begin(), each.end(), values_of(each), each.pool()};
            });
        }
        std::sort(taken.samples_, taken.samples_ + taken.count_, is_before);
        return true;
    }

    /// Records which modules are loaded, unless a fork is pending.
    void note_modules() noexcept
    {
        if (!gate_.enter())
            return;
        std::uint64_t walk = 0;
        const os::load_counts counts = os::for_each_loaded_code(
            [&](const os::load_counts& now) {
                const base::lock_guard lock(mutex_);
                walk = modules_.begin(now);
                return walk != 0;
            },
            [&](const os::loaded_code& code) {
                const base::lock_guard lock(mutex_);
                modules_.note(code, walk);
            });
        if (walk != 0) {
            const base::lock_guard lock(mutex_);
            modules_.end(walk, counts);
        }
        gate_.leave();
    }

    template <class IsWanted>
    void sum_up(IsWanted&& is_wanted) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        stacks_.for_each([](stack_entry& each) { each.blocks_in_use = each.bytes_in_use = 0; });
        (void)samples_.for_each([&is_wanted](const sample& each) {
            if (is_wanted(each)) {
                each.by->blocks_in_use += each.weight;
                each.by->bytes_in_use += each.weight * static_cast<double>(each.bytes);
            }
            return true;
        });
    }

    std::atomic<std::size_t> mean_bytes_{0};
    std::atomic<std::size_t> count_{0}; ///< The number of entries in samples_.
    loader_gate gate_;
    Mutex mutex_;
    code_modules<Pages> modules_ MEMORY_POOL_GUARDED_BY(mutex_);
    stack_table<Pages> stacks_ MEMORY_POOL_GUARDED_BY(mutex_);
    hash_table<sample, Pages> samples_ MEMORY_POOL_GUARDED_BY(mutex_);
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
