// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A counting filter that rules out most blocks as samples.
///
///     address / 64, modulo 262,144  ->  | 0 | 0 | 1 | 0 | 2 | ... |      samples that have that number
///
/// Adjacent blocks have adjacent counts, so freeing many touches few cache lines.
///
/// Thread safety: any thread; the allocation of a block happens before its free.
#pragma once

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

    void add(const void* block) noexcept { change(block, 1); }

    /// Preconditions: it was added.
    void remove(const void* block) noexcept { change(block, -1); }

private:
    static constexpr std::size_t places = std::size_t{1} << 18U;
    static constexpr std::uint8_t most = 255; ///< Saturated: never decremented.

    using count_type = std::atomic<std::uint8_t>;
    static_assert(sizeof(count_type) == 1 && count_type::is_always_lock_free);

    static count_type& count_of(unsigned char& byte) noexcept { return reinterpret_cast<count_type&>(byte); }
    static const count_type& count_of(const unsigned char& byte) noexcept
    {
        return reinterpret_cast<const count_type&>(byte);
    }

    static std::size_t place_of(const void* block) noexcept
    {
        return (reinterpret_cast<std::uintptr_t>(block) >> 6U) % places;
    }

    void change(const void* block, int by) noexcept
    {
        count_type& count = count_of(counts_[place_of(block)]);
        std::uint8_t known = count.load(std::memory_order_relaxed);
        while (known != most &&
               !count.compare_exchange_weak(known, static_cast<std::uint8_t>(known + by), std::memory_order_relaxed))
            continue;
    }

    /// Not an array of atomics: those would be initialized one by one, by the compiler or at startup.
    std::array<unsigned char, places> counts_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
