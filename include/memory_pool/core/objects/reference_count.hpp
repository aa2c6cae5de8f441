// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Saturating reference counts, for one thread and for many.
///
///     0        1                     quarter                 half                                      max
///     | gone   | in use ...          | not in use            | saturated: never released ...           |
///
/// A count that reaches the half is saturated. Each later change sets it to three quarters, so no number of threads can
/// overflow it. The object is then never released: a leak, but not a use after free. Linux's refcount_t works the same
/// way. Before an object is in use, and while it ends, its count is at a quarter, so that references added and dropped
/// by its constructor and destructor do not release it.
///
/// Thread safety: plain_reference_count: none. atomic_reference_count: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The result of dropping a reference.
enum class dropped
{
    one_of_many,
    the_last,
    one_too_many ///< There was no reference to drop.
};

/// The boundaries of the zones above.
template <class Integer>
struct reference_zones
{
    static_assert(std::is_unsigned_v<Integer>);
    static constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
    static constexpr Integer idle = half / 2;
    static constexpr Integer saturated = half + idle;
};

/// For one thread.
template <class Integer>
class plain_reference_count
{
    using zones = reference_zones<Integer>;

public:
    explicit plain_reference_count(Integer value = zones::idle) noexcept : value_(value) {}

    MEMORY_POOL_ALWAYS_INLINE void add() noexcept
    {
        ++value_;
        if (MEMORY_POOL_UNLIKELY(value_ >= zones::half))
            value_ = zones::saturated;
    }

    MEMORY_POOL_ALWAYS_INLINE dropped drop() noexcept
    {
        --value_;
        if (value_ == 0)
            return dropped::the_last;
        return MEMORY_POOL_LIKELY(value_ < zones::half) ? dropped::one_of_many : saturate();
    }

    Integer read() const noexcept { return value_; }

    /// Effects: sets the count, regardless of its old value.
    void write(Integer value) noexcept { value_ = value; }

    /// Effects: puts the object in use, with one reference in addition to the references added so far.
    MEMORY_POOL_ALWAYS_INLINE void begin() noexcept { value_ = static_cast<Integer>(value_ - (zones::idle - 1)); }

    /// Effects: puts an ending object in use again, if it has new references.
    /// Returns: the number of references.
    Integer resume() noexcept { return value_ = static_cast<Integer>(value_ - zones::idle); }

private:
    MEMORY_POOL_SLOW_PATH dropped saturate() noexcept
    {
        const bool was_none = value_ == std::numeric_limits<Integer>::max();
        value_ = was_none ? Integer{0} : zones::saturated;
        return was_none ? dropped::one_too_many : dropped::one_of_many;
    }

    Integer value_;
};

/// For many threads.
template <class Integer>
class atomic_reference_count
{
    using zones = reference_zones<Integer>;

public:
    explicit atomic_reference_count(Integer value = zones::idle) noexcept : value_(value) {}

    MEMORY_POOL_ALWAYS_INLINE void add() noexcept
    {
        if (MEMORY_POOL_UNLIKELY(value_.fetch_add(1, std::memory_order_relaxed) >= zones::half - 1))
            value_.store(zones::saturated, std::memory_order_relaxed);
    }

    /// Acquire: the thread that drops the last reference sees all writes that preceded other drops.
    MEMORY_POOL_ALWAYS_INLINE dropped drop() noexcept
    {
        // No other thread can add a reference while this thread owns the only one. For most objects this saves the
        // second locked instruction.
        if (value_.load(std::memory_order_acquire) == 1) {
            value_.store(0, std::memory_order_relaxed);
            return dropped::the_last;
        }
        const Integer before = value_.fetch_sub(1, std::memory_order_acq_rel);
        if (before == 1)
            return dropped::the_last;
        return MEMORY_POOL_LIKELY(before != 0 && before < zones::half) ? dropped::one_of_many : saturate(before);
    }

    Integer read() const noexcept { return value_.load(std::memory_order_relaxed); }
    void write(Integer value) noexcept { value_.store(value, std::memory_order_relaxed); }

    MEMORY_POOL_ALWAYS_INLINE void begin() noexcept
    {
        // The count differs if the constructor passed a reference elsewhere. Other threads may then change the count.
        if (MEMORY_POOL_LIKELY(value_.load(std::memory_order_acquire) == zones::idle))
            write(1);
        else
            value_.fetch_sub(zones::idle - 1, std::memory_order_acq_rel);
    }

    /// Acquire: sees all writes that preceded other drops.
    Integer resume() noexcept
    {
        return static_cast<Integer>(value_.fetch_sub(zones::idle, std::memory_order_acq_rel) - zones::idle);
    }

private:
    MEMORY_POOL_SLOW_PATH dropped saturate(Integer before) noexcept
    {
        value_.store(before == 0 ? Integer{0} : zones::saturated, std::memory_order_relaxed);
        return before == 0 ? dropped::one_too_many : dropped::one_of_many;
    }

    std::atomic<Integer> value_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
