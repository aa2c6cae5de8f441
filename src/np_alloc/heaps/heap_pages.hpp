// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Memory for the heaps of threads: separate pages between guards, safe from overflows of blocks.
///
///     | guard | heap, outbox | heap, outbox | ... | not used yet | guard |
///
/// Memory is added for many heaps at a time, because other threads wait during each addition, but in pieces too small
/// for a huge page. If memory or addresses are limited, memory is added for one heap at a time.
///
/// Thread safety: none, except where noted; the owner has a lock.
#pragma once

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../slices/region.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"
#include "heap.hpp"
#include "thread_heap.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace memory_pool::np {
/// Memory for heaps, which never returns to the system.
class heap_pages
{
public:
    /// Returns: zeroed memory for a heap; nullptr if there is none.
    void* take() noexcept
    {
        if (left_ == 0 && !bring_more())
            return nullptr;
        --left_;
        return std::exchange(next_, next_ + in_whole_pages(heap_bytes));
    }

    /// Effects: makes a heap in memory from take().
    /// Thread safety: any thread.
    static thread_heap& make(void* zeros, page_heap& from) noexcept
    {
        auto* const for_others = reinterpret_cast<outbox*>(static_cast<std::byte*>(zeros) + sizeof(thread_heap));
        return *::new (zeros) thread_heap(from, *for_others);
    }

    /// Returns: bytes of memory for heaps that do not exist yet.
    std::size_t bytes_left() const noexcept { return left_ * in_whole_pages(heap_bytes); }

private:
    static constexpr std::size_t heap_bytes = sizeof(thread_heap) + sizeof(outbox);
    static constexpr std::size_t heaps_at_a_time = huge_page_bytes / heap_bytes - 1;

    bool bring_more() noexcept
    {
        const std::size_t heaps = os::commits_are_limited() ? 1 : heaps_at_a_time;
        void* const pages = take_metadata_pages(heaps * in_whole_pages(heap_bytes));
        if (pages == nullptr)
            return false;
        next_ = static_cast<std::byte*>(pages);
        left_ = heaps;
        return true;
    }

    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
};
} // namespace memory_pool::np
