// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Saturating reference counts, for one thread and for many.
///
///     0        1                     quarter                 half                                      max
///     | gone   | in use ...          | not in use            | saturated: stays for ever ...           |
///
/// A count that reaches the half has saturated: it is set back to three quarters whenever it moves, so that no number
/// of threads can overflow it. The object is never released then, which is a leak, but no use after free. (Linux's
/// refcount_t does so.) Before something is in use, and while it ends, its count stands at a quarter, so that
/// references added and dropped in its constructor and destructor do not release it.
///
/// Thread safety: of plain_reference_count none, of atomic_reference_count any thread.
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
    one_too_many ///< There was none.
};

/// The zones above.
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

    /// Effects: sets the count, whatever it was.
    void write(Integer value) noexcept { value_ = value; }

    /// Effects: from now on, it is in use, and has one reference beside those that were added.
    MEMORY_POOL_ALWAYS_INLINE void begin() noexcept { value_ = static_cast<Integer>(value_ - (zones::idle - 1)); }

    /// Effects: what is ending is in use again, if references were added that are still there.
    /// Returns: how many those are.
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

    /// Acquire: the thread that drops the last reference sees what others did before they dropped theirs.
    MEMORY_POOL_ALWAYS_INLINE dropped drop() noexcept
    {
        // The owner of the only reference owns it exclusively: no other thread can add one. That saves most counts
        // their second locked instruction.
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
        // No other thread can count now, unless a reference was passed to it, which adds one.
        if (MEMORY_POOL_LIKELY(value_.load(std::memory_order_acquire) == zones::idle))
            write(1);
        else
            value_.fetch_sub(zones::idle - 1, std::memory_order_acq_rel);
    }

    /// Acquire: sees what others did before they dropped theirs.
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
