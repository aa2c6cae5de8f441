// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A memory resource that injects failures, for tests of out-of-memory handling.
///
///     allocation   1    2    3    4   ...
///     fail_at(3)   |    |    X    |        X: std::bad_alloc, and upstream is not asked
///
///     calls = failures + allocations that upstream was asked for
///
/// Thread safety: any thread, if upstream is for any thread; otherwise one thread at a time.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/resource_adaptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// How likely each allocation is to fail.
struct failure_chance
{
    /// From 0, never, to 1, always.
    double probability = 0;

    /// The same seed makes the same allocations fail, on every platform: the decision on the n-th depends on this and
    /// n.
    std::uint64_t seed = 0;
};

/// Makes chosen allocations fail. Deallocations pass.
class failing_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: makes a resource whose allocation number `call`, counted from 1, fails; or none, if that is 0.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit failing_resource(std::uint64_t call,
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream), calls_until_failure_(call)
    {
    }

    /// A probability is no number of a call: see the constructor below.
    template <class Number, std::enable_if_t<std::is_floating_point_v<Number>, bool> = true>
    explicit failing_resource(Number, std::pmr::memory_resource* = nullptr) = delete;

    /// Effects: makes a resource whose allocations fail by chance: `failing_resource(failure_chance{0.01, seed})`.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr, or the probability is not between 0 and 1.
    explicit failing_resource(const failure_chance& chance,
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream), chance_(checked(chance))
    {
    }

    /// Effects: makes the allocation number `call` from now on, counted from 1, fail, and no other; or none, if that is
    ///   0.
    /// Thread safety: any thread.
    void fail_at(std::uint64_t call) noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        calls_until_failure_ = call;
        chance_ = {};
    }

    /// Effects: makes allocations fail by chance from now on, and no others.
    /// Throws: std::invalid_argument if the probability is not between 0 and 1.
    /// Thread safety: any thread.
    void fail_by_chance(const failure_chance& chance)
    {
        const failure_chance accepted = checked(chance);
        const detail::base::lock_guard lock(mutex_);
        calls_until_failure_ = 0;
        chance_ = accepted;
        calls_since_chance_ = 0;
    }

    /// Effects: makes no allocation fail from now on.
    /// Thread safety: any thread.
    void never_fail() noexcept { fail_at(0); }

    /// Returns: the number of allocations requested.
    /// Thread safety: any thread.
    std::uint64_t calls() const noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        return calls_;
    }

    /// Returns: the number of these calls that failed here.
    /// Thread safety: any thread.
    std::uint64_t failures() const noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        return failures_;
    }

protected:
    /// Throws: out_of_memory, which is a std::bad_alloc, if it was told to; what upstream throws.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        if (const std::uint64_t failed_call = count_call())
            detail::base::throw_out_of_memory(
                detail::base::message("memory_pool: failing_resource: allocation %llu, of %zu bytes, fails on request",
                                      static_cast<unsigned long long>(failed_call), bytes));
        return resource_adaptor::do_allocate(bytes, alignment);
    }

private:
    static failure_chance checked(const failure_chance& chance)
    {
        const bool is_one = chance.probability >= 0 && chance.probability <= 1; // Not a number is neither.
        if (!is_one)
            detail::base::throw_invalid_argument(detail::base::message(
                "memory_pool: failing_resource: the probability %f is not between 0 and 1", chance.probability));
        return chance;
    }

    /// Effects: counts a call.
    /// Returns: its number, if it is to fail, and otherwise 0.
    std::uint64_t count_call()
    {
        const detail::base::lock_guard lock(mutex_);
        ++calls_;
        ++calls_since_chance_;
        if (!is_due() && fraction(chance_.seed, calls_since_chance_) >= chance_.probability)
            return 0;
        ++failures_;
        return calls_;
    }

    /// Effects: counts down to the call that is to fail.
    /// Returns: whether this is it.
    bool is_due() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (calls_until_failure_ == 0)
            return false;
        --calls_until_failure_;
        return calls_until_failure_ == 0;
    }

    /// Returns: a number from 0 to 1, without 1, that looks random: the n-th of the generator SplitMix64 with that
    ///   seed.
    static double fraction(std::uint64_t seed, std::uint64_t n) noexcept
    {
        std::uint64_t bits = seed + n * 0x9E37'79B9'7F4A'7C15;
        bits = (bits ^ (bits >> 30)) * 0xBF58'476D'1CE4'E5B9;
        bits = (bits ^ (bits >> 27)) * 0x94D0'49BB'1331'11EB;
        bits ^= bits >> 31;
        return static_cast<double>(bits >> 11) * 0x1p-53; // A double holds 53 bits.
    }

    mutable detail::base::mutex mutex_; ///< Not held while upstream is called.
    std::uint64_t calls_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::uint64_t failures_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::uint64_t calls_until_failure_ MEMORY_POOL_GUARDED_BY(mutex_) = 0; ///< 0: no call fails by number.
    failure_chance chance_ MEMORY_POOL_GUARDED_BY(mutex_);
    std::uint64_t calls_since_chance_ MEMORY_POOL_GUARDED_BY(mutex_) = 0; ///< Since chance_ was set.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
