// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools created in a program and used in a library that it loads, and vice versa. The first pool of each module has
/// the same number.
#include "plugin.hpp"

#include <memory_pool/resource_adaptors.hpp>
#include <support/check.hpp>

#include <dlfcn.h>

#include <thread>

namespace {
template <class Function>
Function* function_of(void* library, const char* name)
{
    return reinterpret_cast<Function*>(dlsym(library, name));
}

/// Both pools have the first number of their modules.
void counts_go_to_the_pool_that_is_used(counted_pool& counted, decltype(use_counted_pool)& use_there)
{
    CHECK(use_there(counted));
    CHECK(blocks_are_of(counted));
    CHECK(use_there(counted));
    const memory_pool::pool_statistics statistics = counted.statistics();
    CHECK(statistics.allocations == 3 * blocks_of_a_use && statistics.deallocations == 3 * blocks_of_a_use);
    CHECK(counted.verify());
}

/// Both modules use the arenas of each module, in two threads.
void arenas_cross_the_border(void* library)
{
    auto* const make_theirs = function_of<decltype(make_arenas)>(library, "make_arenas");
    auto* const destroy_theirs = function_of<decltype(destroy_arenas)>(library, "destroy_arenas");
    auto* const use_there = function_of<decltype(use_arenas)>(library, "use_arenas");
    CHECK(make_theirs != nullptr && destroy_theirs != nullptr && use_there != nullptr);
    memory_pool::synchronized_arena_resource mine;
    memory_pool::synchronized_arena_resource* const theirs = make_theirs();
    const auto use_all = [&] {
        for (memory_pool::synchronized_arena_resource* const arenas : {&mine, theirs}) {
            CHECK(blocks_are_of_arenas(*arenas));
            CHECK(use_there(*arenas));
            CHECK(blocks_are_of_arenas(*arenas));
        }
    };
    use_all();
    std::thread(use_all).join();
    CHECK(mine.verify() && theirs->verify());
    destroy_theirs(theirs);
}

/// The destructor of a trimmed object calls the library, which releases the whole pool.
void a_pool_is_cleared_there_while_it_is_trimmed_here(void* library)
{
    auto* const clear_there = function_of<decltype(clear_sessions)>(library, "clear_sessions");
    CHECK(clear_there != nullptr);
    memory_pool::tracking_resource upstream;
    session_pool sessions({}, &upstream);
    bool is_cleared = false;
    sessions.allocate()->at_end = [&] {
        const auto returned = upstream.statistics().deallocations;
        clear_there(sessions);
        CHECK(upstream.statistics().deallocations == returned); // memory being trimmed is not returned yet
        is_cleared = true;
    };
    CHECK(sessions.trim() != 0);
    CHECK(is_cleared && sessions.capacity() == 0 && sessions.verify());
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 2);
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    auto* const make_theirs = function_of<decltype(make_pool)>(library, "make_pool");
    auto* const destroy_theirs = function_of<decltype(destroy_pool)>(library, "destroy_pool");
    auto* const use_there = function_of<decltype(use_pool)>(library, "use_pool");
    auto* const use_counted_there = function_of<decltype(use_counted_pool)>(library, "use_counted_pool");
    CHECK(make_theirs != nullptr && destroy_theirs != nullptr && use_there != nullptr && use_counted_there != nullptr);

    memory_pool::concurrent_block_pool* const theirs = make_theirs(16);
    CHECK(use_there(*theirs));
    {
        counted_pool counted(1024);
        counts_go_to_the_pool_that_is_used(counted, *use_counted_there);
    }
    memory_pool::concurrent_block_pool mine(1024);
    for (int round = 0; round != 2; ++round) {
        CHECK(blocks_are_of(mine));
        CHECK(use_there(*theirs));
        CHECK(blocks_are_of(*theirs));
        CHECK(use_there(mine));
        std::thread([&] {
            CHECK(use_there(mine));
            CHECK(blocks_are_of(*theirs));
            CHECK(use_there(*theirs));
            CHECK(blocks_are_of(mine));
        }).join();
    }
    CHECK(mine.in_use() == 0 && theirs->in_use() == 0);
    CHECK(mine.verify() && theirs->verify());
    destroy_theirs(theirs);
    memory_pool::concurrent_block_pool* const another = make_theirs(16);
    CHECK(blocks_are_of(*another));
    delete another;
    arenas_cross_the_border(library);
    a_pool_is_cleared_there_while_it_is_trimmed_here(library);
}
