// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Statistics published by the thread that owns a pool, for readers in other threads.
///
///     owner:    writes the copy that is not current | version + 1        on slow paths only
///     reader:   reads version, the copy of that version, version again; retries if the version has changed
///
/// This is a seqlock with two copies, like Linux's seqcount_latch_t: a writer lost in a fork leaves one copy intact.
///
/// (Hans Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012.)
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Statistics written by one thread and read by others.
class published_statistics : base::immovable<published_statistics>
{
public:
    /// Effects: replaces the statistics. `when` is the time of os::coarse_milliseconds().
    /// Thread safety: one thread at a time.
    void write(const report_statistics& statistics, std::uint64_t when) noexcept
    {
        const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
        copy& to = copies_[next % copies_.size()];
        words given{};
        std::memcpy(given.data(), &statistics, sizeof statistics);
        for (std::size_t i = 0; i != count; ++i)
            to.words[i].store(given[i], std::memory_order_release); // Ordered after the previous version.
        to.when.store(when, std::memory_order_release);
        version_.store(next, std::memory_order_release);
    }

    /// Effects: reads the most recent statistics.
    /// Returns: the time of the write; 0 if there was none.
    /// Complexity: constant, repeated for each concurrent write.
    /// Thread safety: any thread.
    std::uint64_t read(report_statistics& statistics) const noexcept
    {
        words read{};
        std::uint64_t when = 0;
        std::uint64_t version = 0;
        do {
            version = version_.load(std::memory_order_acquire);
            const copy& from = copies_[version % copies_.size()];
            for (std::size_t i = 0; i != count; ++i)
                read[i] = from.words[i].load(std::memory_order_acquire); // Ordered before the second read of version_.
            when = from.when.load(std::memory_order_acquire);
        } while (version != version_.load(std::memory_order_relaxed));
        std::memcpy(static_cast<void*>(&statistics), read.data(), sizeof statistics);
        return when;
    }

private:
    static constexpr std::size_t count = sizeof(report_statistics) / sizeof(std::uint64_t);
    static_assert(std::is_trivially_copyable_v<report_statistics> &&
                  sizeof(report_statistics) % sizeof(std::uint64_t) == 0);
    using words = std::array<std::uint64_t, count>;

    struct copy
    {
        std::array<std::atomic<std::uint64_t>, count> words{};
        std::atomic<std::uint64_t> when{0};
    };

    std::atomic<std::uint64_t> version_{0};
    std::array<copy, 2> copies_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
