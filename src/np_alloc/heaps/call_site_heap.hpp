// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A shared heap whose blocks have call sites. There are a few such heaps, assigned to threads in turn, so that threads
/// seldom wait for each other.
///
///     slabs and large blocks of a shared heap        call sites: block -> file, line, ...
///
///     blocks with a call site <= outstanding blocks
///
/// Thread safety: any thread.
#pragma once

#include "../page_heap/page_heap.hpp"
#include "../support/call_sites.hpp"
#include "shared_heap.hpp"

#include <cstddef>

namespace memory_pool::np {
/// The number of call-site heaps.
inline constexpr std::size_t call_site_heap_count = 4;

/// A heap and the call sites of its blocks.
class call_site_heap : public shared_heap
{
public:
    constexpr explicit call_site_heap(page_heap& from) noexcept : shared_heap(from, &sites_) {}

    call_sites& sites() noexcept { return sites_; }

private:
    call_sites sites_;
};
} // namespace memory_pool::np
