// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The sides of the job in entities.hpp. Each side owns entities, which refer to each other by the type `handle` of the
/// side. A side has these functions:
///
///     create(entity)         ->  a handle to the new entity
///     get(handle)            ->  the entity, or nullptr if it was destroyed
///     for_each(visit)        ->  calls visit(entity&) for each entity
///     erase_if(side, which)  ->  the number of erased entities
///     size()                 ->  the number of entities
///     bytes_held()           ->  the bytes that the side holds now, bookkeeping included, if known
#pragma once

#include <memory_pool/handle_pool.hpp>
#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tour {
/// References that detect destroyed objects, by std::weak_ptr.
template <class T>
class shared_ptr_entities
{
public:
    using handle = std::weak_ptr<T>;

    handle create(T made) { return entities_.emplace_back(std::make_shared<T>(std::move(made))); }

    T* get(const handle& of) const { return of.lock().get(); }

    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for (const std::shared_ptr<T>& each : entities_)
            visit(*each);
    }

    template <class Condition>
    friend std::size_t erase_if(shared_ptr_entities& from, Condition&& condition)
    {
        std::vector<std::shared_ptr<T>>& all = from.entities_;
        const auto is_ended = [&](const std::shared_ptr<T>& each) { return condition(*each); };
        const auto end = std::remove_if(all.begin(), all.end(), is_ended);
        const auto ended = static_cast<std::size_t>(all.end() - end);
        all.erase(end, all.end());
        return ended;
    }

    std::size_t size() const { return entities_.size(); }
    std::optional<std::size_t> bytes_held() const { return std::nullopt; }

private:
    std::vector<std::shared_ptr<T>> entities_;
};

/// References that detect destroyed objects, by handles.
template <class T>
class handle_pool_entities : public memory_pool::handle_pool<T>
{
    using pool = memory_pool::handle_pool<T>;

public:
    handle_pool_entities() : pool(memory_pool::pool_options{}.with_name("nodes of the job")) {}

    std::optional<std::size_t> bytes_held() const { return pool::bytes_reserved(); }
};

/// Corrupts some entities, to show that the tour detects it: see --faulty.
template <class T>
class faulty_entities : public shared_ptr_entities<T>
{
public:
    typename shared_ptr_entities<T>::handle create(T made)
    {
        if (made.serial % 10 == 9)
            --made.serial;
        return shared_ptr_entities<T>::create(std::move(made));
    }
};
} // namespace tour
