// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/unwind_rows.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/loaded_code.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace os = memory_pool::detail::os;

#if MEMORY_POOL_OS_HAS_UNWIND_ROWS && MEMORY_POOL_OS_HAS_CALL_STACKS
namespace {
using stack = os::basic_call_stack<256>;

int compared = 0;

std::uintptr_t unloads()
{
    const os::load_counts counts =
        os::for_each_loaded_code([](const os::load_counts&) { return false; }, [](const os::loaded_code&) {});
    return static_cast<std::uintptr_t>(counts.unloads);
}

/// Compares both walks in one call, without the frames that are their own.
MEMORY_POOL_NOINLINE void compare()
{
    const stack by_unwinder = stack::of_this_thread();
    const stack by_rows = stack::of_this_thread_by_rows(unloads());
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
    const std::size_t count = os::unwind_rows::walk(addresses.data(), addresses.size(), unloads());
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
        count = os::unwind_rows::walk(addresses.data(), addresses.size(), unloads());
    }).join();
    EXPECT_GT(count, 1U);
    EXPECT_LT(count, 20U);
}

// Without rows, as from an assembler or a compiler at run time.
extern "C" void memory_pool_test_calls_without_rows(void (*called)());
__asm__(".text\n"
        ".type memory_pool_test_calls_without_rows, @function\n"
        "memory_pool_test_calls_without_rows:\n"
        "    subq $8, %rsp\n"
        "    call *%rdi\n"
        "    addq $8, %rsp\n"
        "    ret\n"
        ".size memory_pool_test_calls_without_rows, . - memory_pool_test_calls_without_rows\n");

TEST(unwind_rows, leave_it_to_the_unwinder_if_a_function_has_none)
{
    static std::size_t by_rows = 0;
    static stack found;
    memory_pool_test_calls_without_rows([] {
        std::array<const void*, 64> addresses{};
        by_rows = os::unwind_rows::walk(addresses.data(), addresses.size(), unloads());
        found = stack::of_this_thread_by_rows(unloads());
    });
    EXPECT_EQ(by_rows, 0U);
    EXPECT_GT(found.end() - found.begin(), 0);
}

#ifndef _LIBCPP_VERSION // With libc++ comes the unwinder of LLVM, which keeps what is registered to itself.
extern "C" void __register_frame(void* first);
extern "C" void __deregister_frame(void* first);

using bytes = std::vector<unsigned char>;

template <class Number>
void append(bytes& to, Number number)
{
    const std::size_t before = to.size();
    to.resize(before + sizeof number);
    std::memcpy(to.data() + before, &number, sizeof number);
}

/// What the functions of a compilation have in common.
struct common_part
{
    unsigned char version = 1;
    bytes augmentation{'z', 'R', 0};
    unsigned char returns_by = 16;
    bytes data{1, 0}; ///< Behind its length: addresses are absolute.
};

/// Returns: the row at a place in a function that has those instructions, and before them, as all have: the stack
///   pointer was 8 bytes higher before the call, and the return address is there.
os::unwind_row row_of(const bytes& instructions, std::size_t place = 0, const common_part& common = {})
{
    static const std::array<unsigned char, 1024> function{};
    bytes frames;
    const auto end_part = [&frames](std::size_t begin) {
        frames.resize((frames.size() + 7) / 8 * 8 + 4); // By nops.
        const auto length = static_cast<std::uint32_t>(frames.size() - begin - 4);
        std::memcpy(frames.data() + begin, &length, sizeof length);
    };
    append(frames, std::uint32_t{0});
    append(frames, std::uint32_t{0});
    frames.push_back(common.version);
    frames.insert(frames.end(), common.augmentation.begin(), common.augmentation.end());
    append(frames, std::array<unsigned char, 3>{0x01, 0x78, common.returns_by}); // Factors: 1 and -8.
    frames.insert(frames.end(), common.data.begin(), common.data.end());
    append(frames, std::array<unsigned char, 5>{0x0C, 7, 8, 0x90, 1});
    end_part(0);
    const std::size_t begin = frames.size();
    append(frames, std::uint32_t{0});
    append(frames, static_cast<std::uint32_t>(begin + 4));
    append(frames, function.data());
    append(frames, function.size());
    if (common.augmentation.size() > 1)
        frames.push_back(0); // No data.
    frames.insert(frames.end(), instructions.begin(), instructions.end());
    end_part(begin);
    append(frames, std::uint32_t{0});

    __register_frame(frames.data());
    const os::unwind_row row = os::unwind_reader::row_at(reinterpret_cast<std::uintptr_t>(function.data() + place));
    __deregister_frame(frames.data());
    return row;
}

constexpr auto not_understood = os::unwind_row::none;

TEST(unwind_reader, finds_the_row_of_a_place)
{
    EXPECT_EQ(row_of({}).of, os::unwind_row::from_stack);
    EXPECT_EQ(row_of({}).offset, 8);
    const bytes after_100{0x04, 100, 0, 0, 0, 0x0E, 16, 0x03, 0x2C, 0x01, 0x0E, 24, 0x02, 100, 0x0E, 32};
    EXPECT_EQ(row_of(after_100, 99).offset, 8);
    EXPECT_EQ(row_of(after_100, 100).offset, 16);
    EXPECT_EQ(row_of(after_100, 400).offset, 24);
    EXPECT_EQ(row_of(after_100, 500).offset, 32);
    EXPECT_EQ(row_of({0x41, 0x0E, 16}, 1).offset, 16);
    EXPECT_EQ(row_of({0x2E, 16}).offset, 8) << "the size of arguments tells nothing";
    EXPECT_EQ(row_of({0x3F, 0}).of, not_understood);
    EXPECT_EQ(os::unwind_reader::row_at(16).of, not_understood) << "there is no function";
}

TEST(unwind_reader, finds_where_the_frame_pointer_is_saved)
{
    for (const bytes& saved : {bytes{0x86, 2}, bytes{0x05, 6, 2}, bytes{0x11, 6, 2}, bytes{0x11, 6, 0x82, 0}}) {
        EXPECT_TRUE(row_of(saved).saves_frame);
        EXPECT_EQ(row_of(saved).frame_at, -16);
    }
    EXPECT_EQ(row_of({0x11, 6, 0x7E}).of, not_understood) << "above the stack pointer of the caller";
    EXPECT_FALSE(row_of({0x86, 2, 0xC6}).saves_frame);
    EXPECT_FALSE(row_of({0x86, 2, 0x06, 6}).saves_frame);
    EXPECT_EQ(row_of({0x07, 6}).of, not_understood) << "it is lost";
}

TEST(unwind_reader, understands_expressions_as_functions_that_align_the_stack_have_them)
{
    const bytes aligned{0x0F, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0};
    EXPECT_EQ(row_of(aligned).of, os::unwind_row::in_frame);
    EXPECT_EQ(row_of(aligned).offset, 8);
    EXPECT_TRUE(row_of(aligned).saves_frame);
    EXPECT_EQ(row_of(aligned).frame_at, 0);
    EXPECT_EQ(row_of({0x0F, 2, 0x76, 0x78}).of, not_understood);
    EXPECT_EQ(row_of({0x0F, 3, 0x77, 0x08, 0x06}).of, not_understood) << "by the stack pointer";
    EXPECT_EQ(row_of({0x10, 6, 1, 0x30}).of, not_understood);
    EXPECT_EQ(row_of({0x10, 6, 2, 0x76, 0}).of, not_understood) << "only one of both is in the frame";
}

TEST(unwind_reader, takes_no_notice_of_registers_that_do_not_matter)
{
    for (const bytes& of_rbx : {bytes{0x10, 3, 1, 0x30}, bytes{0x16, 3, 1, 0x30}, bytes{0x07, 3}, bytes{0x83, 2}})
        EXPECT_EQ(row_of(of_rbx).of, os::unwind_row::from_stack);
    EXPECT_EQ(row_of({0x16, 6, 1, 0x30}).of, not_understood);
    EXPECT_EQ(row_of({0x87, 2}).of, not_understood) << "the stack pointer";
    EXPECT_EQ(row_of({0x90, 2}).of, not_understood) << "the return address is elsewhere";
    EXPECT_EQ(row_of({0x0D, 3}).of, not_understood) << "the base is another register";
}

TEST(unwind_reader, finds_that_a_function_has_no_caller)
{
    EXPECT_EQ(row_of({0x07, 16}).of, os::unwind_row::outermost);
}

TEST(unwind_reader, remembers_four_states)
{
    EXPECT_EQ(row_of({0x0A, 0x0E, 16, 0x0A, 0x0A, 0x0A, 0x0B, 0x0B, 0x0B}).offset, 16);
    EXPECT_EQ(row_of({0x0A, 0x0E, 16, 0x0B}).offset, 8);
    EXPECT_EQ(row_of({0x0A, 0x0A, 0x0A, 0x0A, 0x0A}).of, not_understood);
    EXPECT_EQ(row_of({0x0B}).of, not_understood);
}

TEST(unwind_reader, understands_what_compilers_write_about_a_compilation)
{
    const auto row_with = [](const common_part& common) { return row_of({}, 0, common).of; };
    EXPECT_EQ(row_with({3, {'z', 'R', 0}, 16, {1, 0}}), os::unwind_row::from_stack);
    EXPECT_EQ(row_with({1, {'z', 'R', 0}, 16, {1, 4}}), os::unwind_row::from_stack);
    EXPECT_EQ(row_with({1, {'z', 'P', 'L', 'R', 0}, 16, {7, 3, 0, 0, 0, 0, 0x1B, 0}}), os::unwind_row::from_stack);
    EXPECT_EQ(row_with({1, {'z', 'P', 'R', 0}, 16, {3, 1, 5, 0}}), not_understood) << "a pointer of any length";
    EXPECT_EQ(row_with({2, {'z', 'R', 0}, 16, {1, 0}}), not_understood) << "a version that there was never";
    EXPECT_EQ(row_with({1, {'z', 'R', 0}, 15, {1, 0}}), not_understood) << "the return address is in another register";
    EXPECT_EQ(row_with({1, {'z', 'R', 'S', 0}, 16, {1, 0}}), not_understood) << "a frame of a signal";
    EXPECT_EQ(row_with({1, {0}, 16, {}}), not_understood) << "as compilers wrote it before 2000";
}

#endif

TEST(unwind_rows, stores_no_more_frames_than_there_is_room_for)
{
    std::array<const void*, 3> addresses{};
    EXPECT_EQ(os::unwind_rows::walk(addresses.data(), 2, unloads()), 2U);
    EXPECT_NE(addresses[1], nullptr);
    EXPECT_EQ(addresses[2], nullptr);
}
} // namespace
#endif
