// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The distinct call stacks of a profile, with the blocks and bytes allocated by each.
///
///     hash -> entry -> | blocks, bytes | frames | frame, frame, ... | name of a pool |      in pages of the table
///
/// Entries never move and are never freed.
///
/// Thread safety: none; the owner has a lock. Any thread may read the frames and the pool of an entry.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/hash_table.hpp>
#include <memory_pool/core/reports/lasting_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A call stack, innermost frame first, with estimates of its allocations (from one pool, if the entry names a pool).
struct stack_entry
{
    double allocated_blocks;
    double allocated_bytes;
    double blocks_in_use; ///< This and bytes_in_use are updated when a profile is taken.
    double bytes_in_use;
    std::size_t frames;
    std::size_t name_length;

    const code_frame* begin() const noexcept { return reinterpret_cast<const code_frame*>(this + 1); }
    const code_frame* end() const noexcept { return begin() + frames; }
    code_frame* begin() noexcept { return reinterpret_cast<code_frame*>(this + 1); }
    std::string_view pool() const noexcept { return {reinterpret_cast<const char*>(end()), name_length}; }
};

/// The key of an entry: the frames of a call stack.
struct stack_frames
{
    const code_frame* begin;
    const code_frame* end;
    // NOLINTNEXTLINE(readability-redundant-member-init): otherwise GCC warns about initializers that omit it
    std::string_view pool{}; ///< The name of the pool, if any.

    std::size_t count() const noexcept { return static_cast<std::size_t>(end - begin); }

    std::uint64_t hash() const noexcept
    {
        std::uint64_t sum = count() + 1;
        for (const code_frame* each = begin; each != end; ++each)
            sum = mixed(mixed(sum ^ each->offset) ^ (each->module != nullptr ? each->module->number : 0));
        for (const char each : pool)
            sum = mixed(sum ^ static_cast<unsigned char>(each));
        return sum;
    }
};

/// Map from frames to entries.
template <class Pages>
class stack_table : base::immovable<stack_table<Pages>>
{
public:
    /// Returns: the entry of the stack, added if there was none; nullptr on OOM.
    stack_entry* find_or_add(const stack_frames& frames) noexcept
    {
        const std::uint64_t hash = frames.hash();
        if (const place* const known = places_.find({nullptr, &frames, hash}))
            return known->entry;
        stack_entry* const added = places_.has_room() ? take_entry(frames) : nullptr;
        if (added != nullptr)
            (void)places_.add({added, nullptr, hash});
        return added;
    }

    std::size_t count() const noexcept { return places_.count(); }

    /// Effects: calls `visit(stack_entry&)` for each entry.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        (void)places_.for_each([&](const place& each) { return visit(*each.entry), true; });
    }

private:
    /// An entry, or the frames to look up.
    struct place
    {
        stack_entry* entry;
        const stack_frames* wanted;
        std::uint64_t hash_of_frames;

        bool is_there() const noexcept { return entry != nullptr; }
        std::uint64_t hash() const noexcept { return hash_of_frames; }
        bool is(const place& other) const noexcept
        {
            if (other.wanted == nullptr)
                return entry == other.entry;
            return hash_of_frames == other.hash_of_frames && entry->pool() == other.wanted->pool &&
                   std::equal(entry->begin(), entry->begin() + entry->frames, other.wanted->begin, other.wanted->end);
        }
    };

    /// Returns a new entry with these frames; nullptr on OOM.
    stack_entry* take_entry(const stack_frames& frames) noexcept
    {
        const std::size_t bytes = sizeof(stack_entry) + frames.count() * sizeof(code_frame) + frames.pool.size();
        std::byte* const memory = memory_.peek(bytes);
        if (memory == nullptr)
            return nullptr;
        memory_.take(bytes);
        auto* const taken = ::new (memory) stack_entry{};
        taken->frames = frames.count();
        taken->name_length = frames.pool.size();
        std::copy(frames.begin, frames.end, taken->begin());
        std::copy(frames.pool.begin(), frames.pool.end(), reinterpret_cast<char*>(taken->begin() + taken->frames));
        return taken;
    }

    hash_table<place, Pages> places_;
    lasting_memory<Pages> memory_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
