// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The job of the tour whose nodes refer to others that may be gone: the entity system of examples/entities.cpp. It has
/// the functions that jobs.hpp lists.
///
///     text     | 200,000 words         | word | word | ...
///                  |                      |      |
///     world    an entity for each,     frame: some end, each of which the next word replaces; frame: ...
#pragma once

#include "../entities/world.hpp"
#include "entity_sides.hpp"
#include "jobs.hpp"
#include "lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tour {
/// `Entities` is one of those in entity_sides.hpp.
template <template <class> class Entities>
class entity_system
{
public:
    explicit entity_system(std::string_view text) : text_(text), tokens_(text), world_(most_entities) {}

    void build()
    {
        spawn(most_entities);
        for (int i = 0; i != frames; ++i)
            spawn(world_.frame());
    }

    /// Does not depend on the order in which the side iterates over its entities.
    std::uint64_t read()
    {
        std::uint64_t sum = mixed(world_.hits(), mixed(world_.lost(), world_.wrong()));
        world_.all().for_each([&sum](const entity& each) {
            sum += mixed(mixed(each.serial, each.serial_of_target), static_cast<std::uint64_t>(each.health));
        });
        return sum;
    }

    node_tally tally() const
    {
        const std::size_t alive = world_.all().size();
        return {world_.spawned(), world_.spawned() - alive, alive * bytes_of_entity, world_.all().bytes_held()};
    }

    void tear_down() { world_.end(); }

private:
    using world = entities::world<Entities>;
    using entity = typename world::entity;

    static constexpr std::size_t most_entities = 200'000;
    static constexpr int frames = 20;
    /// The same for all sides, whatever their handles take.
    static constexpr std::size_t bytes_of_entity = sizeof(entities::entity<handle_pool_entities>);

    /// Makes an entity for each of the next `count` words, as far as there are that many.
    void spawn(std::size_t count)
    {
        for (; count != 0; --count) {
            const token found = tokens_.next_word();
            if (found.kind != token_kind::word)
                return;
            world_.spawn(hash_of(text_.substr(found.offset, found.length)));
        }
    }

    std::string_view text_;
    lexer tokens_;
    world world_;
};
} // namespace tour
