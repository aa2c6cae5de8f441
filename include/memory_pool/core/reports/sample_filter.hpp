// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A counting filter that rules out most blocks as samples.
///
///     address / 64, modulo 262,144  ->  | 0 | 0 | 1 | 0 | 2 | ... |      the number of samples at this index
///
/// Adjacent blocks have adjacent counts, so freeing many of them touches few cache lines.
///
/// Thread safety: any thread, if the allocation of a block happens before the block is freed.
#pragma once

#include <memory_pool/base/atomic_bytes.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Counts of samples by address.
class sample_filter : base::immovable<sample_filter>
{
public:
    MEMORY_POOL_ALWAYS_INLINE bool may_have(const void* block) const noexcept
    {
        return count_of(counts_[place_of(block)]).load(std::memory_order_relaxed) != 0;
    }

    void add(const void* block) noexcept
    {
        change(block, [](count_type count) { return ++count; });
    }

    /// Preconditions: the block was added.
    void remove(const void* block) noexcept
    {
        change(block, [](count_type count) { return --count; });
    }

private:
    static constexpr std::size_t places = std::size_t{1} << 18U;
    using count_type = base::small_count;
    using atomic_count = std::atomic<count_type>;
    static_assert(sizeof(atomic_count) == sizeof(count_type));

    static constexpr count_type saturated = 255; ///< Never decremented.

    static atomic_count& count_of(count_type& count) noexcept { return reinterpret_cast<atomic_count&>(count); }
    static const atomic_count& count_of(const count_type& count) noexcept
    {
        return reinterpret_cast<const atomic_count&>(count);
    }

    static std::size_t place_of(const void* block) noexcept
    {
        return (reinterpret_cast<std::uintptr_t>(block) >> 6U) % places;
    }

    template <class F>
    void change(const void* block, F changed) noexcept
    {
        atomic_count& count = count_of(counts_[place_of(block)]);
        count_type known = count.load(std::memory_order_relaxed);
        while (known != saturated && !count.compare_exchange_weak(known, changed(known), std::memory_order_relaxed))
            continue;
    }

    /// Not an array of atomics, whose elements would be initialized one by one, by the compiler or at startup.
    std::array<count_type, places> counts_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
