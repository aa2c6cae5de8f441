// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An entity system: 200,000 entities that refer to each other by handles. Entities target others, which may end at any
/// time: those that target it need not be notified, as their handles become stale, also if another entity has reused
/// its memory.
///
///     entities [FRAMES]
///
/// Each frame, entities that have a target damage it, those that have lost it look for another, and those without
/// health end, and as many are created.
#include <memory_pool/handle_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {
struct entity
{
    using pool = memory_pool::handle_pool<entity>;

    int health;
    pool::handle target;
    std::uint64_t serial; ///< Which entity it is, so that this program can check what handles find.
    std::uint64_t serial_of_target;
};

class world
{
public:
    explicit world(std::size_t count)
    {
        entities_.reserve(count);
        while (entities_.size() != count)
            known_.push_back(spawn());
    }

    void frame()
    {
        for (entity& each : entities_)
            act(each);
        const std::size_t ended = erase_if(entities_, [](const entity& each) { return each.health <= 0; });
        for (std::size_t i = 0; i != ended; ++i)
            (void)spawn();
        ended_ += ended;
    }

    std::size_t size() const { return entities_.size(); }
    std::size_t hits() const { return hits_; }
    std::size_t lost() const { return lost_; }
    std::size_t ended() const { return ended_; }
    std::size_t wrong() const { return wrong_; }
    std::size_t bytes() const { return entities_.bytes_reserved(); }

private:
    entity::pool::handle spawn()
    {
        const int health = 1 + static_cast<int>(random_() % 8);
        return entities_.create(entity{health, {}, ++serials_, 0});
    }

    void act(entity& acting)
    {
        if (entity* const target = entities_.get(acting.target)) {
            wrong_ += target->serial == acting.serial_of_target ? 0 : 1;
            --target->health;
            ++hits_;
            return;
        }
        if (!acting.target.is_null())
            ++lost_; // It is gone: no use after free, and nothing that the target had to do when it ended.
        entity::pool::handle& found = known_[random_() % known_.size()];
        if (!entities_.contains(found))
            found = entities_.handle_of(&acting);
        acting.target = found;
        acting.serial_of_target = entities_.get(found)->serial;
    }

    entity::pool entities_;
    std::vector<entity::pool::handle> known_; ///< Where entities look for targets. Some of them are gone.
    std::mt19937 random_{1};
    std::uint64_t serials_ = 0;
    std::size_t hits_ = 0;
    std::size_t lost_ = 0;
    std::size_t ended_ = 0;
    std::size_t wrong_ = 0;
};
} // namespace

int main(int argument_count, char** arguments)
{
    constexpr std::size_t count = 200'000;
    const int frames = argument_count > 1 ? std::atoi(arguments[1]) : 20;
    if (frames <= 0) {
        std::fprintf(stderr, "entities: '%s' is not a number of frames; usage: entities [FRAMES]\n", arguments[1]);
        return 2;
    }
    world entities(count);
    for (int i = 0; i != frames; ++i)
        entities.frame();
    std::printf("%zu entities in %zu KiB, %d frames: %zu hits, %zu ended, %zu lost their target, %zu met another\n",
                entities.size(), entities.bytes() / 1024, frames, entities.hits(), entities.ended(), entities.lost(),
                entities.wrong());
    const bool is_right = entities.size() == count && entities.wrong() == 0 && entities.hits() != 0 &&
                          entities.lost() != 0 && entities.ended() != 0;
    return is_right ? 0 : 1;
}
