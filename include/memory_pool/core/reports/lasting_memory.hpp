// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Memory for entries that never move and are never freed.
///
///     | entry | entry | entry | rest |        in chunks of pages
///
/// Thread safety: none; the owner has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A bump allocator. Pages provides the chunks: see system_pages.
template <class Pages>
class lasting_memory : base::immovable<lasting_memory<Pages>>
{
public:
    /// Returns: room for `bytes`, at most 64 KiB, aligned to 8 bytes; nullptr on OOM. The room is not taken until
    ///   `take`.
    std::byte* peek(std::size_t bytes) noexcept
    {
        if (bytes <= left_)
            return next_;
        auto* const chunk = static_cast<std::byte*>(Pages::take(chunk_bytes));
        if (chunk == nullptr)
            return nullptr;
        next_ = chunk;
        left_ = chunk_bytes;
        return chunk;
    }

    /// Effects: takes the first `bytes` of the room that `peek` returned.
    void take(std::size_t bytes) noexcept
    {
        const std::size_t taken = base::round_up(bytes, std::size_t{8});
        next_ += taken;
        left_ -= taken;
    }

private:
    static constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;

    std::byte* next_ = nullptr; ///< The first free byte, in the last chunk.
    std::size_t left_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
