// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of one type that are referred to by handles of 8 bytes, for one thread. A handle becomes stale when its
/// object is destroyed, and stays so if another object reuses its place or its memory.
///
///     create(arguments...)  ->  handle          get(handle)  ->  T*, or nullptr if the object is gone
///     destroy(handle)       ->  was it alive?   for (T& object : pool)
///
/// Thread safety: none of its own: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/basic_handle_pool.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/objects/local_places.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pool_handle.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A pool of objects of type `T` with handles, which is also a range of the objects that are alive. See policies.hpp
/// for `Policy`, and basic_handle_pool for what else it can do.
template <class T, class Policy>
class handle_pool : public basic_handle_pool<T, basic_block_pool<Policy>, detail::core::local_places>
{
    using base = basic_handle_pool<T, basic_block_pool<Policy>, detail::core::local_places>;

    using places_type = detail::core::local_places;

    template <bool IsConst>
    class iterator_of;

public:
    using typename base::handle;
    using typename base::value_type;

    using base::base;

    /// Effects: as the first, with default options.
    handle_pool() = default;

    /// Rejects wrong arguments, such as a number of objects, which is an option.
    template <class Given, class... More, class Reason = detail::core::if_no_options<handle_pool, Given, More...>>
    explicit handle_pool(const Given&, const More&...) = delete;

    handle_pool(const handle_pool&, detail::core::hold_it_by_a_std_unique_ptr* = nullptr) = delete;

    /// An iterator over the objects that are alive, in the order of their places. It is valid until its object is
    /// destroyed; others may be created and destroyed meanwhile.
    using iterator = iterator_of<false>;
    /// The same, for objects that are not changed.
    using const_iterator = iterator_of<true>;

    /// Returns: an iterator to the first object, or `end()`.
    /// Complexity: linear in free places before the first object.
    iterator begin() noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as the other.
    const_iterator begin() const noexcept
    {
        this->note_visit();
        return {this, {}};
    }
    /// Returns: as the other.
    const_iterator cbegin() const noexcept { return begin(); }

    /// Returns: the iterator behind the last object, which stays the same.
    /// Complexity: O(1).
    iterator end() noexcept { return {}; }
    /// Returns: as the other.
    const_iterator end() const noexcept { return {}; }
    /// Returns: as the other.
    const_iterator cend() const noexcept { return end(); }

    /// Effects: destroys the object at `position`.
    /// Returns: an iterator to the next one, or `end()`.
    /// Preconditions: the object is alive.
    /// Complexity: as `destroy`, and linear in free places up to the next object.
    iterator erase(const_iterator position) noexcept
    {
        (void)this->destroy(position.handle());
        // Not before: the destructor may destroy the next one.
        return {this, position.walk_};
    }

private:
    /// An iterator.
    template <bool IsConst>
    class iterator_of
    {
        using pool_type = std::conditional_t<IsConst, const handle_pool, handle_pool>;

    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = std::remove_cv_t<typename base::value_type>;
        using difference_type = std::ptrdiff_t;
        using pointer = std::conditional_t<IsConst, const typename base::value_type*, typename base::value_type*>;
        using reference = std::conditional_t<IsConst, const typename base::value_type&, typename base::value_type&>;

        /// Effects: makes an iterator that may only be assigned to.
        iterator_of() noexcept = default;

        /// Effects: makes a const_iterator from an iterator.
        template <bool IsOtherConst, class = std::enable_if_t<IsConst && !IsOtherConst>>
        iterator_of(iterator_of<IsOtherConst> other) noexcept : pool_(other.pool_), walk_(other.walk_)
        {
        }

        /// Returns: the object.
        reference operator*() const noexcept { return *operator->(); }
        pointer operator->() const noexcept { return base::object_in(walk_.place().object); }

        /// Returns: the handle of the object.
        typename base::handle handle() const noexcept { return {walk_.index(), walk_.place().generation}; }

        /// Effects: goes on to the next object.
        iterator_of& operator++() noexcept
        {
            go_on();
            return *this;
        }
        iterator_of operator++(int) noexcept
        {
            const iterator_of before = *this;
            ++*this;
            return before;
        }

        /// Returns: whether both are at the same object of the same pool.
        friend bool operator==(const iterator_of& a, const iterator_of& b) noexcept { return a.index() == b.index(); }
        friend bool operator!=(const iterator_of& a, const iterator_of& b) noexcept { return a.index() != b.index(); }

    private:
        friend handle_pool;
        template <bool>
        friend class iterator_of;

        /// At the first object behind `walk`.
        iterator_of(pool_type* pool, places_type::walk walk) noexcept : pool_(pool), walk_(walk) { go_on(); }

        void go_on() noexcept
        {
            if (!walk_.next_alive(pool_->places()))
                walk_ = {};
        }

        std::uint32_t index() const noexcept { return walk_.index(); }

        pool_type* pool_ = nullptr;
        places_type::walk walk_; ///< At the end, before the first place.
    };
};
}} // namespace memory_pool::MEMORY_POOL_ABI
