// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The layout of options, statistics and reports, as of MEMORY_POOL_ABI_VERSION 0 on 64-bit systems.
///
/// Units compiled against headers of different releases can be linked into one program, and share objects if the
/// version is the same. Once a version is released, a change that fails here requires a new version: update the values
/// here and MEMORY_POOL_ABI_VERSION in base/config.hpp, and document it in CHANGELOG.md. Types outside of
/// MEMORY_POOL_ABI have no version and must not change, except that error kinds and members of the report may be
/// appended.
#include <memory_pool/memory_pool.hpp>

#include <cstddef>
#include <utility>

namespace mp = memory_pool;

static_assert(MEMORY_POOL_ABI_VERSION == 0, "record the layout of this version in tests/abi/layout.cpp");

namespace {
/// Converts to the initial value of any member.
struct anything
{
    template <class T>
    operator T() const; // NOLINT(google-explicit-constructor): of any type
};

template <class T, std::size_t... Indices>
constexpr auto has_members(std::index_sequence<Indices...>, int) -> decltype(T{(void(Indices), anything{})...}, true)
{
    return true;
}
template <class T, std::size_t... Indices>
constexpr bool has_members(std::index_sequence<Indices...>, long)
{
    return false;
}

/// Returns: the number of members of a struct; detects a member added in padding, which does not change the size.
template <class T, std::size_t Count = 1>
constexpr std::size_t members()
{
    if constexpr (has_members<T>(std::make_index_sequence<Count + 1>{}, 0))
        return members<T, Count + 1>();
    else
        return Count;
}
} // namespace

#define LAYOUT_IS(...)                                                                                                 \
    static_assert(__VA_ARGS__, "the layout of a public type has changed: raise MEMORY_POOL_ABI_VERSION in "            \
                               "base/config.hpp, if the version is released, and record it in tests/abi/layout.cpp")

LAYOUT_IS(sizeof(mp::pool_options) == 56 && members<mp::pool_options>() == 7);
LAYOUT_IS(offsetof(mp::pool_options, initial_capacity) == 0 && offsetof(mp::pool_options, max_capacity) == 8);
LAYOUT_IS(offsetof(mp::pool_options, growth_step) == 16 && offsetof(mp::pool_options, max_cached_blocks) == 24);
LAYOUT_IS(offsetof(mp::pool_options, alignment) == 32 && offsetof(mp::pool_options, prefault) == 40);
LAYOUT_IS(offsetof(mp::pool_options, name) == 48);

LAYOUT_IS(sizeof(mp::arena_options) == 40 && members<mp::arena_options>() == 5);
LAYOUT_IS(offsetof(mp::arena_options, arena_count) == 0 && offsetof(mp::arena_options, arena_size) == 8);
LAYOUT_IS(offsetof(mp::arena_options, max_arenas) == 16 && offsetof(mp::arena_options, prefault) == 24);
LAYOUT_IS(offsetof(mp::arena_options, name) == 32);

LAYOUT_IS(sizeof(mp::page_options) == 16 && members<mp::page_options>() == 3);
LAYOUT_IS(offsetof(mp::page_options, huge_pages) == 0 && offsetof(mp::page_options, prefault) == 4);
LAYOUT_IS(offsetof(mp::page_options, name) == 8);

LAYOUT_IS(offsetof(mp::limit_options, limit) == 0 && offsetof(mp::limit_options, soft_limit) == 8);
LAYOUT_IS(offsetof(mp::limit_options, on_soft_limit) == 16 && members<mp::limit_options>() == 4);
LAYOUT_IS(sizeof(mp::limit_options) == 16 + sizeof(std::function<void(mp::limit_resource&)>) + 16 ||
          sizeof(mp::limit_options) == 16 + sizeof(std::function<void(mp::limit_resource&)>) + 8);

LAYOUT_IS(sizeof(mp::failure_chance) == 16 && members<mp::failure_chance>() == 2);
LAYOUT_IS(offsetof(mp::failure_chance, probability) == 0 && offsetof(mp::failure_chance, seed) == 8);

LAYOUT_IS(sizeof(mp::pool_statistics) == 56 && members<mp::pool_statistics>() == 7);
LAYOUT_IS(offsetof(mp::pool_statistics, allocations) == 0 && offsetof(mp::pool_statistics, deallocations) == 8);
LAYOUT_IS(offsetof(mp::pool_statistics, failures) == 16 && offsetof(mp::pool_statistics, in_use) == 24);
LAYOUT_IS(offsetof(mp::pool_statistics, peak_in_use) == 32 && offsetof(mp::pool_statistics, slabs) == 40);
LAYOUT_IS(offsetof(mp::pool_statistics, bytes_reserved) == 48);

LAYOUT_IS(sizeof(mp::resource_statistics) == 56 && members<mp::resource_statistics>() == 7);
LAYOUT_IS(offsetof(mp::resource_statistics, allocations) == 0 && offsetof(mp::resource_statistics, deallocations) == 8);
LAYOUT_IS(offsetof(mp::resource_statistics, failures) == 16 && offsetof(mp::resource_statistics, in_use) == 24);
LAYOUT_IS(offsetof(mp::resource_statistics, peak_in_use) == 32);
LAYOUT_IS(offsetof(mp::resource_statistics, bytes_in_use) == 40);
LAYOUT_IS(offsetof(mp::resource_statistics, peak_bytes_in_use) == 48);

LAYOUT_IS(sizeof(mp::call_site) == 16 && members<mp::call_site>() == 2);
LAYOUT_IS(offsetof(mp::call_site, file) == 0 && offsetof(mp::call_site, line) == 8);

// Outside of MEMORY_POOL_ABI.
LAYOUT_IS(offsetof(mp::error_report, kind) == 0 && offsetof(mp::error_report, address) == 8);
LAYOUT_IS(offsetof(mp::error_report, block_size) == 16 && offsetof(mp::error_report, pool_name) == 24);
LAYOUT_IS(offsetof(mp::error_report, text) == 32);
LAYOUT_IS(int(mp::error_kind::double_free) == 0 && int(mp::error_kind::foreign_pointer) == 1);
LAYOUT_IS(int(mp::error_kind::misaligned_pointer) == 2 && int(mp::error_kind::size_mismatch) == 3);
LAYOUT_IS(int(mp::error_kind::buffer_overflow) == 4 && int(mp::error_kind::write_after_free) == 5 &&
          int(mp::error_kind::leak) == 6);
LAYOUT_IS(int(mp::error_kind::hook_failed) == 7 && int(mp::error_kind::pool_exhausted) == 8 &&
          int(mp::error_kind::size_overflow) == 9);
LAYOUT_IS(int(mp::error_kind::out_of_memory) == 10 && int(mp::error_kind::invalid_argument) == 11);
LAYOUT_IS(sizeof(mp::pool_exhausted) == 480 && sizeof(mp::size_overflow) == 472);
LAYOUT_IS(sizeof(mp::limit_exceeded) == 488 && sizeof(mp::out_of_memory) == 456);
