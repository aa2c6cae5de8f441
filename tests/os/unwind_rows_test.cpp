// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/unwind_rows.hpp>
#include <memory_pool/os/call_stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace os = memory_pool::detail::os;

#if MEMORY_POOL_OS_HAS_UNWIND_ROWS && MEMORY_POOL_OS_HAS_CALL_STACKS
namespace {
using stack = os::basic_call_stack<256>;

int compared = 0;

/// Compares both walks in one call, without the frames that are their own.
MEMORY_POOL_NOINLINE void compare()
{
    const stack by_unwinder = stack::of_this_thread();
    const stack by_rows = stack::of_this_thread_by_rows(os::unwind_rows::unloads());
    const std::vector<const void*> expected(by_unwinder.begin(), by_unwinder.end());
    const std::vector<const void*> found(by_rows.begin(), by_rows.end());
    ASSERT_GT(expected.size(), 5U);
    ASSERT_LT(expected.size(), stack::most);
    // From the outermost frame to those of the callers of this function.
    const auto differ = std::mismatch(expected.rbegin(), expected.rend(), found.rbegin(), found.rend());
    EXPECT_LE(expected.rend() - differ.first, 4);
    EXPECT_LE(found.rend() - differ.second, 4);
    ++compared;
}

MEMORY_POOL_NOINLINE int deep(int depth)
{
    if (depth == 0)
        compare();
    else
        deep(depth - 1);
    return depth + compared; // Not a tail call.
}

MEMORY_POOL_NOINLINE int with_frame_pointer(std::size_t bytes)
{
    auto* const memory = static_cast<char*>(__builtin_alloca(bytes)); // Has it use the frame pointer.
    std::memset(memory, 1, bytes);
    const int result = deep(3);
    return memory[bytes / 2] + result;
}

MEMORY_POOL_NOINLINE int with_many_registers(const int* of)
{
    int a = of[0], b = of[1], c = of[2], d = of[3], e = of[4], f = of[5], g = of[6], h = of[7];
    const int result = with_frame_pointer(static_cast<std::size_t>(a + b + 50)) + deep(2);
    return result + a * b + c * d + e * f + g * h + a * h + c * f;
}

struct alignas(64) aligned_value
{
    std::array<char, 64> bytes;
};

MEMORY_POOL_NOINLINE int with_aligned_stack(aligned_value* to)
{
    aligned_value here{};
    std::memcpy(&here, to, sizeof here);
    const int result = deep(2);
    std::memcpy(to, &here, sizeof here);
    return result;
}

TEST(unwind_rows, finds_the_callers_that_the_unwinder_finds)
{
    const std::array<int, 8> numbers{1, 2, 3, 4, 5, 6, 7, 8};
    compared = 0;
    for (int times = 0; times != 3; ++times) {
        for (int depth = 5; depth != 40; ++depth)
            deep(depth);
        for (const std::size_t bytes : {1U, 100U, 5000U})
            with_frame_pointer(bytes);
        with_many_registers(numbers.data());
        aligned_value value{};
        with_aligned_stack(&value);
    }
    EXPECT_EQ(compared, 3 * (35 + 3 + 2 + 1));
}

/// Calls the walk from a function that aligns its stack, which GCC describes by expressions.
MEMORY_POOL_NOINLINE std::size_t walk_with_aligned_stack(aligned_value* to)
{
    aligned_value here{};
    std::memcpy(&here, to, sizeof here);
    std::array<const void*, 64> addresses{};
    const std::size_t count = os::unwind_rows::walk(addresses.data(), addresses.size(), os::unwind_rows::unloads());
    std::memcpy(to, &here, sizeof here);
    return count;
}

TEST(unwind_rows, needs_no_unwinder_for_functions_that_align_the_stack)
{
    aligned_value value{};
    EXPECT_GT(walk_with_aligned_stack(&value), 3U);
    EXPECT_GT(walk_with_aligned_stack(&value), 3U) << "the rows are known";
}

TEST(unwind_rows, finds_the_callers_in_functions_of_libraries)
{
    compared = 0;
    std::array<int, 100> numbers{};
    for (std::size_t i = 0; i != numbers.size(); ++i)
        numbers[i] = static_cast<int>(i * 37 % 100);
    std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* one, const void* other) {
        deep(2);
        return *static_cast<const int*>(one) - *static_cast<const int*>(other);
    });
    EXPECT_GT(compared, 100);
}

TEST(unwind_rows, ends_where_a_thread_begins)
{
    std::size_t count = 0;
    std::thread([&count] {
        std::array<const void*, 64> addresses;
        count = os::unwind_rows::walk(addresses.data(), addresses.size(), os::unwind_rows::unloads());
    }).join();
    EXPECT_GT(count, 1U);
    EXPECT_LT(count, 20U);
}

TEST(unwind_rows, stores_no_more_frames_than_there_is_room_for)
{
    std::array<const void*, 3> addresses{};
    EXPECT_EQ(os::unwind_rows::walk(addresses.data(), 2, os::unwind_rows::unloads()), 2U);
    EXPECT_NE(addresses[1], nullptr);
    EXPECT_EQ(addresses[2], nullptr);
}
} // namespace
#endif
