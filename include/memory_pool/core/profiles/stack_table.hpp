// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The call stacks of a profile, each once, with what was allocated there.
///
///     hash -> entry -> | blocks, bytes | frames | address, address, ... | name of a pool |      in pages of the table
///
/// An entry stays where it is as long as the process runs.
///
/// Thread safety: none, the owner has a lock; but what an entry does not count may be read by any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/profiles/hash_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A call stack, innermost frame first, and estimates of what was allocated there, from one pool if it names one.
struct stack_entry
{
    double allocated_blocks;
    double allocated_bytes;
    double blocks_in_use; ///< Summed up when a profile is taken.
    double bytes_in_use;
    std::size_t frames;
    std::size_t name_length;

    const void* const* begin() const noexcept { return reinterpret_cast<const void* const*>(this + 1); }
    const void* const* end() const noexcept { return begin() + frames; }
    const void** begin() noexcept { return reinterpret_cast<const void**>(this + 1); }
    std::string_view pool() const noexcept { return {reinterpret_cast<const char*>(end()), name_length}; }
};

/// The frames of a call stack that may be in a table.
struct stack_frames
{
    const void* const* begin;
    const void* const* end;
    // NOLINTNEXTLINE(readability-redundant-member-init): or GCC warns where it is left out
    std::string_view pool{}; ///< Its name.

    std::size_t count() const noexcept { return static_cast<std::size_t>(end - begin); }

    std::uint64_t hash() const noexcept
    {
        std::uint64_t sum = count() + 1;
        for (const void* const* each = begin; each != end; ++each)
            sum = mixed(sum ^ reinterpret_cast<std::uintptr_t>(*each));
        for (const char each : pool)
            sum = mixed(sum ^ static_cast<unsigned char>(each));
        return sum;
    }
};

/// Entries by their frames.
template <class Pages>
class stack_table : base::immovable<stack_table<Pages>>
{
public:
    /// Returns: the entry of that stack, a new one if there was none; nullptr on OOM.
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

    /// Effects: calls `visit(stack_entry&)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        (void)places_.for_each([&](const place& each) { return visit(*each.entry), true; });
    }

private:
    /// An entry, or frames that one is looked for by.
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

    static constexpr std::size_t chunk_bytes = std::size_t{64} * 1024;

    /// Returns: a new entry of those frames; nullptr on OOM.
    stack_entry* take_entry(const stack_frames& frames) noexcept
    {
        const std::size_t bytes = base::round_up(
            sizeof(stack_entry) + frames.count() * sizeof(void*) + frames.pool.size(), alignof(stack_entry));
        if (bytes > left_) {
            auto* const chunk = static_cast<std::byte*>(Pages::take(chunk_bytes));
            if (chunk == nullptr)
                return nullptr;
            next_ = chunk;
            left_ = chunk_bytes;
        }
        auto* const taken = ::new (static_cast<void*>(next_)) stack_entry{};
        taken->frames = frames.count();
        taken->name_length = frames.pool.size();
        std::copy(frames.begin, frames.end, taken->begin());
        std::copy(frames.pool.begin(), frames.pool.end(), reinterpret_cast<char*>(taken->begin() + taken->frames));
        next_ += bytes;
        left_ -= bytes;
        return taken;
    }

    hash_table<place, Pages> places_;
    std::byte* next_ = nullptr; ///< In the last chunk.
    std::size_t left_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
