// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// stack_orders publishing|weak_push|weak_pop|weak_both: hands payloads from one thread to another through a
// tagged_stack with these memory orders. ThreadSanitizer must report a data race in each but the first: a positive
// control.
#include <memory_pool/core/threads/tagged_stack.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace core = memory_pool::detail::core;

namespace {
template <std::memory_order Push, std::memory_order Pop>
struct orders
{
    static constexpr std::memory_order push = Push;
    static constexpr std::memory_order pop = Pop;
};

struct node : core::stack_node
{
    std::uint64_t payload = 0;
};

template <class Orders>
int hand_off()
{
    constexpr std::uint32_t count = 1000;
    static std::array<node, count> nodes;
    static core::tagged_stack<Orders> stack;
    const auto at = [](std::uint32_t number) -> core::stack_node& { return nodes[number]; };

    std::thread giver([&at] {
        for (std::uint32_t number = 0; number != count; ++number) {
            nodes[number].payload = number;
            stack.push(number, at);
        }
    });
    std::uint64_t sum = 0;
    for (std::uint32_t taken = 0; taken != count;) {
        std::uint32_t number = 0;
        if (stack.pop(number, at)) {
            sum += nodes[number].payload;
            ++taken;
        } else {
            std::this_thread::yield();
        }
    }
    giver.join();
    std::printf("%u payloads, %s\n", count,
                sum == std::uint64_t{count} * (count - 1) / 2 ? "all seen" : "not all seen");
    return sum == std::uint64_t{count} * (count - 1) / 2 ? 0 : 1;
}
} // namespace

int main(int argc, char** argv)
{
    constexpr std::memory_order relaxed = std::memory_order_relaxed;
    const char* const which = argc == 2 ? argv[1] : "";
    if (std::strcmp(which, "publishing") == 0)
        return hand_off<core::publishing_orders>();
    if (std::strcmp(which, "weak_push") == 0)
        return hand_off<orders<relaxed, core::publishing_orders::pop>>();
    if (std::strcmp(which, "weak_pop") == 0)
        return hand_off<orders<core::publishing_orders::push, relaxed>>();
    if (std::strcmp(which, "weak_both") == 0)
        return hand_off<orders<relaxed, relaxed>>();
    std::fputs("usage: stack_orders publishing|weak_push|weak_pop|weak_both\n", stderr);
    return 2;
}
