// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The calls of the system about pages, counted, and refused on request.
#pragma once

#include <memory_pool/os/page_mapping.hpp>

#include <cstddef>

namespace test
{
/// What has happened, and what is to happen.
struct page_calls_state
{
    std::size_t calls = 0;              ///< Of any kind.
    std::size_t refused_call = 0;       ///< The one of these that is refused; 0: none.
    bool refuses_unmap = false;         ///< Each call.
    bool refuses_populate = false;      ///< Each call.
    bool has_reserved_pages = false;    ///< Normal pages are given for huge ones, as if the system had some.
    std::size_t mapped = 0;             ///< Bytes that are mapped now.
    std::size_t populated = 0;          ///< Bytes that were asked to be backed.
    std::size_t maps_of_huge_pages = 0; ///< Calls.
};

/// While it lives, calls about pages go through it. One at a time, and in one thread.
class page_calls
{
public:
    using kind = memory_pool::os::page_kind;

    page_calls() { memory_pool::os::detail::current_page_calls = &table; }
    page_calls(const page_calls&) = delete;
    page_calls& operator=(const page_calls&) = delete;
    ~page_calls()
    {
        memory_pool::os::detail::current_page_calls = &real;
        state = {};
    }

    page_calls_state* operator->() { return &state; }

private:
    static constexpr const memory_pool::os::detail::page_calls& real = memory_pool::os::detail::calls_of_the_system;

    static bool is_refused() { return ++state.calls == state.refused_call; }

    static void* map(std::size_t bytes, kind pages) noexcept
    {
        state.maps_of_huge_pages += pages == kind::huge;
        if (is_refused())
            return nullptr;
        void* const memory = real.map(bytes, state.has_reserved_pages ? kind::normal : pages);
        if (memory != nullptr)
            state.mapped += bytes;
        return memory;
    }

    static bool unmap(void* memory, std::size_t bytes) noexcept
    {
        if (is_refused() || state.refuses_unmap || !real.unmap(memory, bytes))
            return false;
        state.mapped -= bytes;
        return true;
    }

    static bool populate(void* memory, std::size_t bytes) noexcept
    {
        if (is_refused() || state.refuses_populate)
            return false;
        state.populated += bytes;
        return real.populate(memory, bytes);
    }

    static inline page_calls_state state;
    static constexpr memory_pool::os::detail::page_calls table{&map, &unmap, &populate};
};
} // namespace test
