// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A re-implementation of earlier intrusive pools, as a baseline: objects with a virtual destructor return through a
/// reference-counted pointer to their pool.
///
///     allocate:      pop(item)  ->  dynamic_cast<T>  ->  item refers to the counted pool  ->  enlarge if last
///     last release:  pool->recycle(item), virtual  ->  dynamic_cast<T>  ->  recycle function, if any  ->  push(item)
///
/// The free list is intrusive. Objects are constructed when the pool grows, in arrays, by new[], and reused. The pool
/// grows as soon as its last free object is allocated.
///
/// Thread safety: one thread at a time.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace virtual_recycle {
class item;

/// The interface through which objects return to their pool.
class home
{
public:
    home() = default;
    home(const home&) = delete;
    home& operator=(const home&) = delete;
    virtual ~home() = default;

    virtual void recycle(item* returned) = 0;

    friend void intrusive_ptr_add_ref(home* counted) noexcept { ++counted->references_; }
    friend void intrusive_ptr_release(home* counted) noexcept
    {
        if (--counted->references_ == 0)
            delete counted;
    }

private:
    std::uint32_t references_ = 0;
};

/// The base of the objects.
class item
{
public:
    item() noexcept = default;
    item(const item&) = delete;
    item& operator=(const item&) = delete;
    virtual ~item() = default;

    friend void intrusive_ptr_add_ref(item* object) noexcept { ++object->references_; }
    friend void intrusive_ptr_release(item* object) noexcept
    {
        if (--object->references_ == 0) {
            const boost::intrusive_ptr<home> origin = std::move(object->origin_);
            origin->recycle(object);
        }
    }

private:
    template <class T>
    friend class objects;

    std::uint32_t references_ = 0;
    item* next_ = nullptr;
    boost::intrusive_ptr<home> origin_;
};

/// The objects of a pool. They live as long as the pool exists or any of them is in use.
template <class T>
class objects : public home
{
public:
    explicit objects(std::size_t step) : step_(step) { enlarge(); }

    T* take()
    {
        item* const taken = free_;
        free_ = taken->next_;
        --free_count_;
        taken->next_ = nullptr;
        taken->origin_ = this;
        if (free_ == nullptr)
            enlarge();
        return dynamic_cast<T*>(taken);
    }

    void recycle(item* returned) override
    {
        T* const object = dynamic_cast<T*>(returned);
        if (object == nullptr)
            return;
        if (function_)
            function_(*object);
        push(returned);
    }

private:
    void push(item* returned)
    {
        returned->next_ = free_;
        free_ = returned;
        ++free_count_;
    }

    void enlarge()
    {
        // Not std::make_unique, which would zero-initialise the objects.
        arrays_.push_back(std::unique_ptr<T[]>(new T[step_])); // NOLINT(modernize-make-unique)
        for (std::size_t i = step_; i-- != 0;)
            push(&arrays_.back()[i]);
    }

    std::size_t step_;
    std::vector<std::unique_ptr<T[]>> arrays_;
    item* free_ = nullptr;
    std::size_t free_count_ = 0;
    std::function<void(T&)> function_;
};

/// A pool of objects of type `T`, which derives from `item`. It grows by `step` objects.
template <class T>
class pool
{
public:
    using pointer = boost::intrusive_ptr<T>;

    explicit pool(std::size_t step) : objects_(new objects<T>(step)) {}

    pointer allocate() { return pointer(objects_->take()); }

private:
    boost::intrusive_ptr<objects<T>> objects_;
};
} // namespace virtual_recycle
