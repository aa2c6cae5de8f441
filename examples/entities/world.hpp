// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A world of entities that target each other. Targets may end at any time. No notification is needed: handles to them
/// become stale, even if another entity reuses the memory.
///
///     frame:  entities with a target damage it, others look for a target; entities without health end
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace entities {
/// `Pool` is memory_pool::handle_pool, or a template with the members used here.
template <template <class> class Pool>
struct entity
{
    using pool = Pool<entity>;

    int health;
    typename pool::handle target;
    std::uint64_t serial;           ///< Identifies the entity, so that `world` can check what handles find.
    std::uint64_t serial_of_target; ///< 0 if there is no target.
};

template <template <class> class Pool>
class world
{
public:
    using entity = entities::entity<Pool>;
    using pool = typename entity::pool;

    /// Constructs an empty world for `count` entities.
    explicit world(std::size_t count) : known_(count) {}

    /// `random` determines the health of the entity.
    void spawn(std::uint64_t random)
    {
        const int health = 1 + static_cast<int>(random % 8);
        known_[serials_ % known_.size()] = entities_.create(entity{health, {}, serials_ + 1, 0});
        ++serials_;
    }

    /// Returns: the number of entities that ended in this frame.
    std::size_t frame()
    {
        ++frames_;
        entities_.for_each([this](entity& each) { act(each); });
        return erase_if(entities_, [](const entity& each) { return each.health <= 0; });
    }

    /// Ends all entities.
    void end()
    {
        erase_if(entities_, [](const entity&) { return true; });
    }

    const pool& all() const { return entities_; }
    pool& all() { return entities_; }

    std::uint64_t spawned() const { return serials_; }
    std::size_t hits() const { return hits_; }
    std::size_t lost() const { return lost_; }
    std::size_t wrong() const { return wrong_; }

private:
    void act(entity& acting)
    {
        if (entity* const target = entities_.get(acting.target)) {
            wrong_ += target->serial == acting.serial_of_target ? 0 : 1;
            --target->health;
            ++hits_;
            return;
        }
        if (acting.serial_of_target != 0)
            ++lost_; // The target is gone. The stale handle detects it, so there is no use after free.
        look_for_target(acting);
    }

    void look_for_target(entity& looking)
    {
        const std::uint64_t dice = looking.serial * 0x9E37'79B9'7F4A'7C15 + frames_ * 0xD1B5'4A32'D192'ED03;
        const typename pool::handle& found = known_[(dice >> 32) % known_.size()];
        const entity* const target = entities_.get(found);
        looking.target = found;
        looking.serial_of_target = target != nullptr ? target->serial : 0;
    }

    pool entities_;
    std::vector<typename pool::handle> known_; ///< Possible targets. Some of the handles are stale.
    std::uint64_t serials_ = 0;
    std::uint64_t frames_ = 0;
    std::size_t hits_ = 0;
    std::size_t lost_ = 0;
    std::size_t wrong_ = 0;
};
} // namespace entities
