// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The job of the tour with references to destroyed nodes: the entity system of examples/entities.cpp. It has the
/// functions listed in jobs.hpp.
///
///     text     | 200,000 words         | word | word | ...
///                  |                      |      |
///     world    an entity for each,     frame: some entities end, the next words replace them; frame: ...
#pragma once

#include "../entities/world.hpp"
#include "entity_sides.hpp"
#include "jobs.hpp"
#include "lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tour {
/// `Entities` is a side from entity_sides.hpp.
template <template <class> class Entities>
class entity_system
{
public:
    explicit entity_system(std::string_view text) : text_(text), tokens_(text), world_(max_entities) {}

    void build()
    {
        spawn(max_entities);
        for (int i = 0; i != frames; ++i)
            spawn(world_.frame());
    }

    /// Returns: a checksum that does not depend on the order of entities.
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

    static constexpr std::size_t max_entities = 200'000;
    static constexpr int frames = 20;
    /// Equal for all sides, regardless of the size of their handles.
    static constexpr std::size_t bytes_of_entity = sizeof(entities::entity<handle_pool_entities>);

    /// Creates an entity for each of the next `count` words, or for all words left.
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
