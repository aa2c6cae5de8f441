// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Counts the calls of malloc for reference-counted objects: with std::shared_ptr, with boost::intrusive_ptr, and with
/// each kind of pool. Prints the claimed number for each step, and fails if a count differs. `--faulty` adds a call to
/// each step, to show that the program detects a wrong count where the claim is exact. Built together with
/// tutorial/heap.cpp.
///
///     new ... -> operator new of tutorial/heap.cpp: calls, bytes -> malloc
///
/// Thread safety: one thread.
#include "tutorial/heap.hpp"

#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace {
using tutorial::heap_so_far;
using tutorial::heap_use;
using tutorial::show;

// ---------------------------------------------------------------------------------------------------------------------
// Counting and reporting

int steps = 0;
int broken_claims = 0;
bool is_faulty = false;
heap_use at_begin_of_step{};

/// Returns: the number of heap blocks in use.
std::size_t chunks_held()
{
    const heap_use now = heap_so_far();
    return now.mallocs - now.frees;
}

/// Begins a step.
void step(const char* title, const char* explanation)
{
    std::printf("%d. %s\n   %s\n", ++steps, title, explanation);
    at_begin_of_step = heap_so_far();
}

/// Ends a step. Claims that the step has called malloc `min_count` to `max_count` times.
void claim_mallocs(std::size_t min_count, std::size_t max_count)
{
    if (is_faulty)
        show(std::make_unique<int>(0).get());
    const heap_use now = heap_so_far();
    const std::size_t count = now.mallocs - at_begin_of_step.mallocs;
    const bool is_true = min_count <= count && count <= max_count;
    std::printf("   mallocs: %zu, claimed: ", count);
    if (min_count == max_count)
        std::printf("%zu", min_count);
    else
        std::printf("%zu to %zu", min_count, max_count);
    std::printf(", bytes: %zu%s\n", now.bytes - at_begin_of_step.bytes, is_true ? "" : "  WRONG");
    broken_claims += is_true ? 0 : 1;
}

void claim_mallocs(std::size_t count)
{
    claim_mallocs(count, count);
}

/// Compares another claimed number with the actual number.
void claim(const char* what, std::size_t actual, std::size_t claimed)
{
    std::printf("   %s: %zu, claimed: %zu%s\n", what, actual, claimed, actual == claimed ? "" : "  WRONG");
    broken_claims += actual == claimed ? 0 : 1;
}

// ---------------------------------------------------------------------------------------------------------------------
// The objects

struct message
{
    static inline std::size_t alive = 0;

    message() { ++alive; }
    message(const message&) = delete;
    message& operator=(const message&) = delete;
    ~message() { --alive; }

    std::array<char, 48> text{};
};

/// Contains its reference count. Deleted with the last reference.
struct counted_message : boost::intrusive_ref_counter<counted_message, boost::thread_unsafe_counter>, message
{
};

/// Contains its reference count. Returns to its pool with the last reference.
struct pooled_message : memory_pool::pooled<pooled_message>, message
{
};

/// Constructed once. Keeps its buffer when it returns to the pool.
struct reused_message : memory_pool::pooled<reused_message>, message
{
    void init(std::size_t size) { buffer.resize(size); }
    void destroy() { buffer.clear(); }

    std::vector<char> buffer;
};

constexpr std::size_t many = 100;
constexpr std::size_t max_mallocs_per_pool = 8;

memory_pool::pool_options room_for(std::size_t count)
{
    memory_pool::pool_options options;
    options.initial_capacity = count;
    return options;
}

template <class Pointers>
void let_go(Pointers& pointers)
{
    for (auto& pointer : pointers)
        pointer.reset();
}

// ---------------------------------------------------------------------------------------------------------------------
// The steps

void without_pools()
{
    step("std::shared_ptr<message>(new message)", "One for the object, one for the control block with the counts.");
    const std::shared_ptr<message> shared(new message); // NOLINT(modernize-make-shared): the next step
    show(shared.get());
    claim_mallocs(2);

    step("std::make_shared<message>()", "One for both the object and the control block.");
    const std::shared_ptr<message> made = std::make_shared<message>();
    show(made.get());
    claim_mallocs(1);

    step("boost::intrusive_ptr<message>(new message)", "The object contains the count, so there is no control block.");
    const boost::intrusive_ptr<counted_message> intrusive(new counted_message);
    show(intrusive.get());
    claim_mallocs(1);

    step("a copy of each pointer", "Copies only increment counts.");
    const auto copies = std::tuple(shared, made, intrusive);
    show(&copies);
    claim_mallocs(0);
}

void with_an_intrusive_pool()
{
    step("intrusive_pool<message>, with room for 100", "All memory at once. No message is constructed yet.");
    memory_pool::intrusive_pool<pooled_message> pool(room_for(many));
    claim_mallocs(1, max_mallocs_per_pool);
    claim("messages alive", message::alive, 0);

    step("100 messages from it", "They are constructed in existing memory. The thread gets a cache.");
    std::array<boost::intrusive_ptr<pooled_message>, many> messages;
    for (auto& pointer : messages)
        pointer = pool.make();
    claim_mallocs(1);
    claim("messages in use", pool.in_use(), many);

    step("their last pointers go", "The messages are destroyed, and their blocks return to the pool.");
    let_go(messages);
    claim_mallocs(0);
    claim("messages alive", message::alive, 0);
    claim("messages in use", pool.in_use(), 0);

    step("100 more", "New messages in the same blocks.");
    for (auto& pointer : messages)
        pointer = pool.make();
    claim_mallocs(0);
}

void with_a_recycling_pool()
{
    step("recycling_pool<message>, with room for 100", "All memory at once, in which all messages are constructed.");
    memory_pool::recycling_pool<reused_message> pool(memory_pool::recycle::call_destroy, room_for(many));
    claim_mallocs(1, max_mallocs_per_pool);
    claim("messages alive", message::alive, many);

    step("100 messages from it", "init() allocates a buffer for each. The thread gets a cache.");
    std::array<boost::intrusive_ptr<reused_message>, many> messages;
    for (auto& pointer : messages)
        pointer = pool.allocate_through_init(std::size_t{1000});
    claim_mallocs(many + 1);

    step("their last pointers go", "The pool calls destroy(), not the destructor. The messages keep their buffers.");
    let_go(messages);
    claim_mallocs(0);
    claim("messages alive", message::alive, many);
    claim("messages in use", pool.in_use(), 0);

    step("100 more", "The same messages. init() reuses their buffers.");
    for (auto& pointer : messages)
        pointer = pool.allocate_through_init(std::size_t{1000});
    claim_mallocs(0);
}

void with_a_shared_pool()
{
    step("shared_pool<message>, with room for 100", "For any class. Blocks have room for a control block.");
    memory_pool::shared_pool<message> pool(room_for(many));
    claim_mallocs(1, max_mallocs_per_pool);

    step("100 std::shared_ptr and std::weak_ptr from it",
         "Message and control block share a block. The thread gets a cache.");
    std::array<std::shared_ptr<message>, many> messages;
    std::array<std::weak_ptr<message>, many> observers;
    for (std::size_t i = 0; i != many; ++i)
        observers[i] = messages[i] = pool.make();
    claim_mallocs(1);

    step("the last std::shared_ptr go", "The messages are destroyed. Weak pointers still need the control blocks.");
    let_go(messages);
    claim_mallocs(0);
    claim("messages alive", message::alive, 0);
    claim("blocks in use", pool.in_use(), many);

    step("the last std::weak_ptr go", "Now the blocks return to the pool.");
    let_go(observers);
    claim_mallocs(0);
    claim("blocks in use", pool.in_use(), 0);
}

void with_a_limit()
{
    memory_pool::pool_options options = room_for(2);
    options.max_capacity = 2;
    memory_pool::intrusive_pool<pooled_message> pool(options);

    step("three messages from a pool that is bounded to two", "try_make() returns nullptr; make() would throw.");
    std::array<boost::intrusive_ptr<pooled_message>, 3> messages;
    for (auto& pointer : messages)
        pointer = pool.try_make();
    claim_mallocs(1); // For the thread's cache.
    claim("messages in use", pool.in_use(), 2);
    claim("pointers that are null", messages[2] == nullptr ? 1 : 0, 1);

    step("one returns, and the third is requested again", "There is room as soon as one has returned.");
    messages[0].reset();
    messages[2] = pool.try_make();
    claim_mallocs(0);
    claim("messages in use", pool.in_use(), 2);
}

void with_a_message_that_outlives_its_pool()
{
    const std::size_t held_before = chunks_held();
    std::optional<memory_pool::intrusive_pool<pooled_message>> pool;
    pool.emplace(room_for(many));
    boost::intrusive_ptr<pooled_message> survivor = pool->make();

    step("a pool ends before one of its messages", "The memory stays as long as a message is in use.");
    pool.reset();
    survivor->text = {"still here"};
    claim_mallocs(0);
    claim("messages alive", message::alive, 1);

    step("the last pointer goes", "The remaining memory of the pool is freed.");
    survivor.reset();
    claim_mallocs(0);
    claim("chunks of memory held", chunks_held() - held_before, 0);
}
} // namespace

int main(int argc, char** argv)
{
    is_faulty = argc > 1 && std::strcmp(argv[1], "--faulty") == 0;
    const std::size_t held_before = chunks_held();

    std::printf("How often is malloc called? A message has %zu bytes.\n\n", sizeof(message));
    without_pools();
    with_an_intrusive_pool();
    with_a_recycling_pool();
    with_a_shared_pool();
    with_a_limit();
    with_a_message_that_outlives_its_pool();

    const std::size_t held = chunks_held() - held_before;
    std::printf("\nAt the end: chunks of memory held: %zu, claims that were wrong: %d\n", held, broken_claims);
    return held == 0 && broken_claims == 0 && std::fflush(stdout) == 0 ? 0 : 1;
}
