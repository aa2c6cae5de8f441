// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An open-addressing hash table in its own pages, for metadata of blocks that cannot be stored in the blocks.
///
///     | entry | gap | entry | entry | gap | ...       linear probing from the place given by an entry's hash
///
///     load factor: at most 3/4; at least 1/8 if there are more than 64 places
///
/// An Entry is a struct that is all zeros if absent, with the members `is_there()`, `hash()` and `is(other)`, which
/// compares keys. An entry to look up needs only its key. Pages provides the memory: see system_pages.
///
/// Thread safety: none; the owner of the table has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
using base::mixed;

/// A set of entries, found by key.
template <class Entry, class Pages>
class hash_table : base::immovable<hash_table<Entry, Pages>>
{
public:
    static_assert(std::is_trivially_copyable_v<Entry>, "entries are copied bytewise");

    // Does not return the pages because process-wide tables are never destroyed: see release().
    ~hash_table() = default;

    /// Effects: returns the pages.
    void release() noexcept
    {
        Pages::give(std::exchange(entries_, nullptr), std::exchange(places_, 0) * sizeof(Entry));
        count_ = 0;
    }

    std::size_t count() const noexcept { return count_; }

    /// Returns: the bytes of the table's pages.
    std::size_t bytes() const noexcept { return Pages::whole(places_ * sizeof(Entry)); }

    /// Effects: makes room for one more entry.
    /// Returns: false on OOM.
    bool has_room() noexcept
    {
        return (count_ + 1) * 4 <= places_ * 3 || move_to(places_ != 0 ? 2 * places_ : min_places);
    }

    /// Returns: the entry with the key of `wanted`, valid until an entry is added or removed; nullptr if there is none.
    Entry* find(const Entry& wanted) const noexcept
    {
        if (count_ == 0)
            return nullptr;
        Entry& found = entries_[place_of(wanted)];
        return found.is_there() ? &found : nullptr;
    }

    /// Effects: adds an entry.
    /// Returns: the entry, valid until an entry is added or removed.
    /// Preconditions: no entry in the table has this key; has_room().
    Entry& add(const Entry& added) noexcept
    {
        ++count_;
        return entries_[place_of(added)] = added;
    }

    /// Effects: removes an entry returned by `find`, and shrinks the table if it is sparse.
    void remove(Entry* removed) noexcept
    {
        take_out(static_cast<std::size_t>(removed - entries_));
        shrink_if_sparse();
    }

    /// Effects: removes each entry for which `is_removed(const Entry&)` returns true, and shrinks the table if it is
    ///   sparse.
    template <class IsRemoved>
    void remove_if(IsRemoved&& is_removed)
    {
        for (std::size_t place = 0; place != places_; ++place)
            while (entries_[place].is_there() && is_removed(static_cast<const Entry&>(entries_[place])))
                take_out(place); // This may move another entry to this place.
        shrink_if_sparse();
    }

    /// Effects: calls `visit(const Entry&)` for each entry, until one call returns false.
    /// Returns: whether all calls returned true.
    template <class Visit>
    bool for_each(Visit&& visit) const
    {
        for (std::size_t place = 0; place != places_; ++place)
            if (entries_[place].is_there() && !visit(static_cast<const Entry&>(entries_[place])))
                return false;
        return true;
    }

    /// Returns: whether each entry can be found, and the number of entries matches the count.
    bool is_valid() const noexcept
    {
        std::size_t found = 0;
        const bool all_are = for_each([&](const Entry& each) { return ++found, find(each) == &each; });
        return all_are && found == count_ && count_ * 4 <= places_ * 3;
    }

private:
    static constexpr std::size_t min_places = 64;

    std::size_t after(std::size_t place) const noexcept { return (place + 1) & (places_ - 1); }
    std::size_t own_place_of(const Entry& entry) const noexcept { return entry.hash() & (places_ - 1); }

    /// Returns: the place of the entry with this key, or the gap to insert it at.
    std::size_t place_of(const Entry& wanted) const noexcept
    {
        std::size_t place = own_place_of(wanted);
        while (entries_[place].is_there() && !entries_[place].is(wanted))
            place = after(place);
        return place;
    }

    void take_out(std::size_t gap) noexcept
    {
        for (std::size_t next = after(gap); entries_[next].is_there(); next = after(next)) {
            // An entry may move to the gap unless the gap precedes the entry's own place (modulo the table size).
            const std::size_t from_own_place = (next - own_place_of(entries_[next])) & (places_ - 1);
            if (from_own_place >= ((next - gap) & (places_ - 1)))
                entries_[std::exchange(gap, next)] = entries_[next];
        }
        entries_[gap] = Entry{};
        --count_;
    }

    void shrink_if_sparse() noexcept
    {
        std::size_t places = places_;
        while (count_ * 8 < places && places > min_places)
            places /= 2;
        if (places != places_)
            (void)move_to(places); // On OOM the table is unchanged.
    }

    /// Effects: moves the entries to a table of `places`, a power of two that leaves gaps.
    /// Returns: false on OOM; the table is then unchanged.
    bool move_to(std::size_t places) noexcept
    {
        auto* const entries = static_cast<Entry*>(Pages::take(places * sizeof(Entry))); // Zeros are gaps.
        if (entries == nullptr)
            return false;
        Entry* const old_entries = std::exchange(entries_, entries);
        const std::size_t old_places = std::exchange(places_, places);
        for (std::size_t place = 0; place != old_places; ++place)
            if (old_entries[place].is_there())
                entries_[place_of(old_entries[place])] = old_entries[place];
        Pages::give(old_entries, old_places * sizeof(Entry));
        return true;
    }

    Entry* entries_ = nullptr;
    std::size_t places_ = 0; ///< A power of two.
    std::size_t count_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
