// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The publication of figures by the thread that owns a pool.
///
///     owner:    version odd | figures | version even        on slow paths only
///     reader:   version, figures, version: again, unless both versions are the same and even
///
/// (Hans Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012.)
///
/// Thread safety: as documented at each function.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/report/report_figures.hpp>

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
        // Odd already, if the last writer was lost in a fork.
        const std::uint64_t odd = version_.load(std::memory_order_relaxed) | 1;
        version_.store(odd, std::memory_order_relaxed);
        words given{};
        std::memcpy(given.data(), &figures, sizeof figures);
        for (std::size_t i = 0; i != count; ++i)
            words_[i].store(given[i], std::memory_order_release); // Not before the version.
        when_.store(when, std::memory_order_release);
        version_.store(odd + 1, std::memory_order_release);
    }

    /// Returns: when they were written; 0: never.
    /// Effects: reads the figures. They may be inconsistent if the writer interferes with a thousand attempts in a row,
    ///   or was lost in a fork.
    /// Thread safety: any thread.
    std::uint64_t read(report_figures& figures) const noexcept
    {
        words read{};
        std::uint64_t when = 0;
        for (int attempts = 1000; attempts != 0; --attempts) {
            const std::uint64_t version = version_.load(std::memory_order_acquire);
            for (std::size_t i = 0; i != count; ++i)
                read[i] = words_[i].load(std::memory_order_acquire); // Not after the version is read again.
            when = when_.load(std::memory_order_acquire);
            if (version % 2 == 0 && version == version_.load(std::memory_order_relaxed))
                break;
        }
        std::memcpy(static_cast<void*>(&figures), read.data(), sizeof figures);
        return when;
    }

private:
    static constexpr std::size_t count = sizeof(report_figures) / sizeof(std::uint64_t);
    static_assert(std::is_trivially_copyable_v<report_figures> && sizeof(report_figures) % sizeof(std::uint64_t) == 0);
    using words = std::array<std::uint64_t, count>;

    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::uint64_t> when_{0};
    std::array<std::atomic<std::uint64_t>, count> words_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
