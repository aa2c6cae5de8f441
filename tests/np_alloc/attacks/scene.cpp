// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "attacks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace attacks {
namespace {
/// Creates the heap of the thread, so that the thread adopts no parked heap later. Creates a slab for batches, so that
/// no batch takes the place of a freed block.
void begin_thread()
{
    (void)np_alloc(batch_bytes - 8);
}

/// Returns: the distance between adjacent blocks.
std::size_t distance_of_blocks(std::size_t bytes)
{
    std::array<std::byte*, 16> blocks{};
    for (std::byte*& each : blocks)
        each = static_cast<std::byte*>(np_alloc(bytes));
    std::sort(blocks.begin(), blocks.end());
    std::ptrdiff_t min_distance = blocks[1] - blocks[0];
    for (std::size_t i = 2; i != blocks.size(); ++i)
        min_distance = std::min(min_distance, blocks[i] - blocks[i - 1]);
    for (std::byte* each : blocks)
        np_free(each);
    np_trim();
    return static_cast<std::size_t>(min_distance);
}

void write_to(void* block, std::size_t bytes)
{
    std::memset(block, 0x5A, std::min<std::size_t>(bytes, 64));
}
} // namespace

scene::scene(notes& written, std::size_t bytes, owner block_owner)
    : notes_(written), bytes_(bytes), block_owner_(block_owner)
{
    constexpr std::size_t max_kept = 40'000;
    kept_.reserve(max_kept); // So that the vector does not allocate during an attack.
    third_.does([this] {
        begin_thread();
        if (may_be_in_slab(bytes_))
            stride_ = distance_of_blocks(bytes_);
    });
    if (block_owner == owner::attacker)
        return;
    owner_ = std::make_unique<test::lasting_thread>();
    owner_->does(&begin_thread);
}

void scene::play(const attack& committed)
{
    test::in_a_thread([&] {
        begin_thread();
        committed.commit(*this);
        go_on();
        settle();
    });
}

/// Calls `action(i)` in each thread of the scene.
template <class Action>
void scene::by_all(Action&& action)
{
    action(0);
    third_.does([&] { action(1); });
    if (owner_ != nullptr)
        owner_->does([&] { action(2); });
}

std::byte* scene::block(std::size_t bytes)
{
    std::byte* made = nullptr;
    by_owner([&] { made = static_cast<std::byte*>(np_alloc(bytes)); });
    write_to(made, bytes);
    is_about(made);
    return made;
}

std::vector<std::byte*> scene::blocks_that_stay(std::size_t count)
{
    std::vector<std::byte*> made(count);
    by_owner([&] {
        for (std::byte*& each : made)
            each = static_cast<std::byte*>(np_alloc(bytes_));
    });
    for (std::byte* each : made) {
        write_to(each, bytes_);
        keep(each);
    }
    is_about(made.back());
    return made;
}

void scene::by_owner(const std::function<void()>& action)
{
    if (owner_ != nullptr)
        owner_->does(action);
    else
        action();
}

void scene::begin_attack(const void* address)
{
    if (block_owner_ == owner::ended)
        owner_.reset();
    notes_.address = address;
    notes_.now = stage::attacked;
}

void scene::go_on()
{
    notes_.now = stage::gone_on;
    if (block_owner_ == owner::ended) // A new thread adopts the parked heap of the ended thread.
        owner_ = std::make_unique<test::lasting_thread>();
    const std::size_t count = bytes_ > std::size_t{100} * 1024 ? 4 : many;
    std::array<some_blocks, 3> of_threads{};
    by_all([&](std::size_t thread) {
        for (std::size_t i = 0; i != count; ++i) {
            of_threads[thread][i] = np_alloc(bytes_);
            write_to(of_threads[thread][i], bytes_);
        }
    });

    std::array<void*, 3 * many> all{};
    auto end = all.begin();
    for (const some_blocks& blocks : of_threads)
        end = std::remove_copy(blocks.begin(), blocks.end(), end, nullptr);
    std::sort(all.begin(), end);
    notes_.is_given_twice = std::adjacent_find(all.begin(), end) != end;

    by_all([&](std::size_t thread) {
        for (void* block : of_threads[thread])
            np_free(block);
    });
}

void scene::drain_all()
{
    for (int times = 0; times != 2; ++times) // The second round drains the remote frees of the first round.
        by_all([](std::size_t) { np_trim(); });
}

void scene::settle()
{
    notes_.now = stage::settled;
    for (void* block : kept_)
        np_free(block);
    drain_all();
    notes_.is_in_order = is_in_order();
    notes_.now = stage::ended;
}
} // namespace attacks
