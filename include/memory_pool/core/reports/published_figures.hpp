// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The publication of figures by the thread that owns a pool.
///
///     owner:    writes the copy that is not current | version + 1        on slow paths only
///     reader:   version, copy of that version, version: again, unless both versions are the same
///
/// There are two copies, so a writer that was lost in a fork leaves a whole one. (A seqlock, as the seqcount_latch_t of
/// Linux.)
///
/// (Hans Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012.)
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/report_figures.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Figures that one thread writes and others read.
class published_figures : base::immovable<published_figures>
{
public:
    /// Effects: replaces the figures; `when` is in milliseconds of os::coarse_milliseconds().
    /// Thread safety: one thread at a time.
    void write(const report_figures& figures, std::uint64_t when) noexcept
    {
        const std::uint64_t next = version_.load(std::memory_order_relaxed) + 1;
        copy& to = copies_[next % copies_.size()];
        words given{};
        std::memcpy(given.data(), &figures, sizeof figures);
        for (std::size_t i = 0; i != count; ++i)
            to.words[i].store(given[i], std::memory_order_release); // Not before the version that was current.
        to.when.store(when, std::memory_order_release);
        version_.store(next, std::memory_order_release);
    }

    /// Effects: reads the figures that were written last.
    /// Returns: when they were written; 0: never.
    /// Complexity: constant; again for each time that figures are written meanwhile.
    /// Thread safety: any thread.
    std::uint64_t read(report_figures& figures) const noexcept
    {
        words read{};
        std::uint64_t when = 0;
        std::uint64_t version = 0;
        do {
            version = version_.load(std::memory_order_acquire);
            const copy& from = copies_[version % copies_.size()];
            for (std::size_t i = 0; i != count; ++i)
                read[i] = from.words[i].load(std::memory_order_acquire); // Not after the version is read again.
            when = from.when.load(std::memory_order_acquire);
        } while (version != version_.load(std::memory_order_relaxed));
        std::memcpy(static_cast<void*>(&figures), read.data(), sizeof figures);
        return when;
    }

private:
    static constexpr std::size_t count = sizeof(report_figures) / sizeof(std::uint64_t);
    static_assert(std::is_trivially_copyable_v<report_figures> && sizeof(report_figures) % sizeof(std::uint64_t) == 0);
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
