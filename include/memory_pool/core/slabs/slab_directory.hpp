// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The chunks of a pool, each represented by its first slab, ordered by address. Any pointer can be looked up safely.
///
///     +--------+--------+--------+-- ... --+--------+
///     | slab a | slab b | slab c |         |  room  |     a < b < c < ...
///     +--------+--------+--------+-- ... --+--------+
///
/// Thread safety: none; the owner of the directory synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/slab.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A sorted array of slabs, the first of each chunk.
class slab_directory : base::immovable<slab_directory> // slabs_ may point to a member.
{
public:
    explicit slab_directory(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}
    ~slab_directory() { clear(); }

    std::size_t size() const noexcept { return size_; }

    /// Returns: bytes allocated from upstream: 0 until the pool has more than 4 chunks.
    std::size_t bytes_reserved() const noexcept { return slabs_ == few_.data() ? 0 : room_ * sizeof(slab*); }

    slab* const* begin() const noexcept { return slabs_; }
    slab* const* end() const noexcept { return slabs_ + size_; }

    /// Effects: ensures room for the next `insert`.
    /// Throws: exceptions of upstream; then, nothing has changed.
    void make_room()
    {
        if (size_ == room_)
            move_to(2 * room_);
    }

    /// Effects: adds `added`.
    /// Preconditions: `make_room` was called since the last insertion.
    void insert(slab* added) noexcept
    {
        slab** const place = std::upper_bound(slabs_, slabs_ + size_, added, base::is_before);
        std::copy_backward(place, slabs_ + size_, slabs_ + size_ + 1);
        *place = added;
        ++size_;
    }

    /// Effects: removes every slab for which `condition` returns true, and calls `dispose` for it.
    template <class Condition, class Dispose>
    void remove_if(Condition&& condition, Dispose&& dispose) noexcept
    {
        slab** kept = slabs_;
        for (slab* const candidate : *this) {
            if (condition(candidate))
                dispose(candidate);
            else
                *kept++ = candidate;
        }
        size_ = static_cast<std::size_t>(kept - slabs_);
    }

    /// Returns: the last slab that begins at or before `address`, or nullptr.
    /// Complexity: logarithmic in slabs.
    slab* last_at_or_before(const void* address) const noexcept
    {
        slab* const* const behind = std::upper_bound(begin(), end(), address, base::is_before);
        return behind == begin() ? nullptr : behind[-1];
    }

    /// Returns: the first slab that begins behind `address`, or nullptr. For walks during which slabs may be inserted.
    /// Complexity: logarithmic in slabs.
    slab* first_behind(const void* address) const noexcept
    {
        slab* const* const behind = std::upper_bound(begin(), end(), address, base::is_before);
        return behind == end() ? nullptr : *behind;
    }

    /// Effects: as `first_behind(address)`; also sets `place` to the index of that slab.
    /// Complexity: O(1) if `place` was the index of the slab before it, else logarithmic in slabs.
    slab* first_behind(const void* address, std::uint32_t& place) const noexcept
    {
        const std::size_t guess = place < size_ ? place + 1 : size_;
        const bool is_right =
            guess < size_ && !base::is_before(address, slabs_[guess - 1]) && base::is_before(address, slabs_[guess]);
        const auto found = is_right ? begin() + guess : std::upper_bound(begin(), end(), address, base::is_before);
        place = static_cast<std::uint32_t>(found - begin());
        return found == end() ? nullptr : *found;
    }

    bool is_sorted() const noexcept { return std::is_sorted(begin(), end(), base::is_before); }

    /// Effects: removes all slabs, and returns the array to upstream. The caller owns the chunks.
    void clear() noexcept
    {
        if (slabs_ != few_.data())
            upstream_->deallocate(slabs_, bytes_reserved(), alignof(slab*));
        slabs_ = few_.data();
        size_ = 0;
        room_ = few_.size();
    }

private:
    void move_to(std::size_t room)
    {
        auto** const larger = static_cast<slab**>(allocate_upstream(upstream_, room * sizeof(slab*), alignof(slab*)));
        const std::size_t kept = size_;
        std::copy(begin(), end(), larger);
        clear();
        slabs_ = larger;
        size_ = kept;
        room_ = room;
    }

    std::array<slab*, 4> few_; ///< The initial array, so that a small pool needs no array from upstream.
    slab** slabs_ = few_.data();
    std::size_t size_ = 0;
    std::size_t room_ = few_.size();
    std::pmr::memory_resource* upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
