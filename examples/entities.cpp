// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An entity system: 200,000 entities that refer to each other by handles. In each frame, some entities end and new
/// entities replace them. The system itself is in entities/world.hpp.
///
///     entities [FRAMES]
/// See docs/tasks/entities.md.
#include "entities/world.hpp"

#include <memory_pool/handle_pool.hpp>
#include <memory_pool/pool_options.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace {
template <class T>
using entity_pool = memory_pool::handle_pool<T>;
} // namespace

int main(int argument_count, char** arguments)
{
    constexpr std::size_t count = 200'000;
    const int frames = argument_count > 1 ? std::atoi(arguments[1]) : 20;
    if (frames <= 0) {
        std::fprintf(stderr, "entities: '%s' is not a number of frames; usage: entities [FRAMES]\n", arguments[1]);
        return 2;
    }

    std::mt19937 random(1);
    entities::world<entity_pool> world(count);
    const auto spawn = [&](std::size_t missing) {
        for (; missing != 0; --missing)
            world.spawn(random());
    };
    world.all().reserve(count);
    spawn(count);
    for (int i = 0; i != frames; ++i)
        spawn(world.frame());

    const std::size_t ended = world.spawned() - world.all().size();
    std::printf("%zu entities in %zu KiB, %d frames: %zu hits, %zu ended, %zu lost their target, %zu met another\n",
                world.all().size(), world.all().bytes_reserved() / 1024, frames, world.hits(), ended, world.lost(),
                world.wrong());
    const bool is_right = world.all().size() == count && world.wrong() == 0 && world.hits() != 0 &&
                          (frames < 10 || (world.lost() != 0 && ended != 0));
    if (is_right)
        return 0;
    std::fprintf(stderr, "entities: entities were lost, or a stale handle found another entity\n");
    return 1;
}
