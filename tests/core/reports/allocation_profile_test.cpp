// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/allocation_profile.hpp>

#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/system_pages.hpp>
#include <memory_pool/os/call_stack.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;

namespace {
const void* at(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

using profile_of_test = core::allocation_profile<base::mutex, core::system_pages>;

struct allocation_profile : testing::Test
{
    // The profile never frees its pages: in a program, it is never destroyed.
    const std::unique_ptr<profile_of_test> owner = std::make_unique<profile_of_test>();
    profile_of_test& profile = *owner;
    std::array<const void*, 2> parse{at(1), at(9)};
    std::array<const void*, 2> print{at(2), at(9)};

    static core::sampled_calls calls(const std::array<const void*, 2>& stack)
    {
        return {stack.data(), stack.data() + stack.size(), {}, false};
    }

    /// Adds a block that is sampled with certainty.
    void add(std::uintptr_t block, std::size_t bytes, const std::array<const void*, 2>& stack,
             const void* home = nullptr)
    {
        EXPECT_TRUE(profile.add(at(block), bytes, 1, calls(stack), home));
    }

    struct line
    {
        std::vector<const void*> calls;
        std::vector<std::uint64_t> values;

        bool operator==(const line& other) const { return calls == other.calls && values == other.values; }
    };

    static std::vector<const void*> addresses_of(const core::profile_sample& sample)
    {
        std::vector<const void*> addresses;
        for (const core::code_frame* frame = sample.begin; frame != sample.end; ++frame)
            addresses.push_back(at(frame->address()));
        return addresses;
    }

    std::vector<line> lines()
    {
        core::taken_profile<core::system_pages> taken;
        EXPECT_TRUE(profile.take(taken));
        std::vector<line> found;
        for (const core::profile_sample& each : taken)
            found.push_back({addresses_of(each),
                             {each.values.allocated_blocks, each.values.allocated_bytes, each.values.blocks_in_use,
                              each.values.bytes_in_use}});
        return found;
    }
};

TEST_F(allocation_profile, is_empty_initially)
{
    EXPECT_TRUE(lines().empty());
    (void)profile.forget(at(64));
    profile.move(at(64), at(128));
    EXPECT_TRUE(lines().empty());
}

TEST_F(allocation_profile, sums_by_call_stack_and_sorts_by_bytes_in_use)
{
    add(64, 100, parse);
    add(128, 1000, print);
    add(192, 50, parse);
    EXPECT_EQ(lines(), (std::vector<line>{{{at(2), at(9)}, {1, 1000, 1, 1000}}, {{at(1), at(9)}, {2, 150, 2, 150}}}));
}

TEST_F(allocation_profile, keeps_allocated_totals_after_a_free)
{
    add(64, 100, parse);
    EXPECT_TRUE(profile.forget(at(64)));
    EXPECT_FALSE(profile.forget(at(64)));
    EXPECT_EQ(lines(), (std::vector<line>{{{at(1), at(9)}, {1, 100, 0, 0}}}));
    EXPECT_EQ(profile.samples_in_use(), 0U);
}

TEST_F(allocation_profile, weights_samples)
{
    EXPECT_TRUE(profile.add(at(64), 100, 1000, calls(parse), nullptr)); // 1 / (1 - exp(-0.1)) = 10.508
    EXPECT_EQ(lines(), (std::vector<line>{{{at(1), at(9)}, {11, 1051, 11, 1051}}}));
}

TEST_F(allocation_profile, tracks_moved_and_resized_blocks)
{
    add(64, 100, parse);
    profile.move(at(64), at(128));
    profile.resize(at(128), 70);
    profile.resize(at(64), 10);
    EXPECT_EQ(lines()[0].values, (std::vector<std::uint64_t>{1, 100, 1, 70}));
    (void)profile.forget(at(64));
    EXPECT_EQ(profile.samples_in_use(), 1U);
    (void)profile.forget(at(128));
    EXPECT_EQ(profile.samples_in_use(), 0U);
}

TEST_F(allocation_profile, replaces_the_sample_at_a_known_address)
{
    add(64, 100, parse);
    add(64, 20, print);
    EXPECT_EQ(profile.samples_in_use(), 1U);
    EXPECT_EQ(lines()[0], (line{{at(2), at(9)}, {1, 20, 1, 20}}));
}

TEST_F(allocation_profile, forgets_all_blocks_of_a_home)
{
    for (std::uintptr_t block = 1; block != 2001; ++block)
        add(block * 64, 50, parse, block % 2 == 0 ? &parse : nullptr);
    profile.forget_all_of(&parse);
    EXPECT_EQ(profile.samples_in_use(), 1000U);
    EXPECT_EQ(lines()[0].values[3], 50'000U);
}

TEST_F(allocation_profile, distinguishes_stacks_with_a_common_prefix)
{
    for (std::uintptr_t depth = 1; depth <= core::profile_sample::max_frames; ++depth) {
        std::vector<const void*> deep(depth, at(5));
        EXPECT_TRUE(profile.add(at(depth * 64), 1, 1, {deep.data(), deep.data() + depth, {}, false}, nullptr));
    }
    EXPECT_EQ(lines().size(), core::profile_sample::max_frames);
}

MEMORY_POOL_NOINLINE std::size_t sample_at_depth(profile_of_test& profile, std::size_t depth)
{
    if (depth != 0)
        return sample_at_depth(profile, depth - 1) + depth; // Not a tail call.
    const core::sampled_stack stack = profile.take_stack();
    EXPECT_TRUE(profile.add(at(64), 1, 1, {stack.begin(), stack.end(), {}, core::is_truncated(stack)}, nullptr));
    return 0;
}

#if MEMORY_POOL_OS_HAS_CALL_STACKS
TEST_F(allocation_profile, truncates_stacks_of_more_than_64_frames)
{
    (void)sample_at_depth(profile, 100);
    core::taken_profile<core::system_pages> taken;
    ASSERT_TRUE(profile.take(taken));
    ASSERT_EQ(taken.end() - taken.begin(), 1);
    const core::profile_sample& deep = *taken.begin();
    EXPECT_EQ(deep.end - deep.begin, 64 + 1);
    EXPECT_TRUE(deep.end[-1].is_truncation());
    EXPECT_EQ(std::count_if(deep.begin, deep.end, [](const core::code_frame& each) { return each.is_truncation(); }),
              1);
}

TEST_F(allocation_profile, does_not_truncate_shallow_stacks)
{
    (void)sample_at_depth(profile, 3);
    core::taken_profile<core::system_pages> taken;
    ASSERT_TRUE(profile.take(taken));
    const core::profile_sample& flat = *taken.begin();
    EXPECT_GT(flat.end - flat.begin, 4);
    EXPECT_FALSE(flat.end[-1].is_truncation());
}
#endif

#if defined(__linux__)
TEST_F(allocation_profile, resolves_the_modules_of_frames)
{
    (void)sample_at_depth(profile, 3);
    core::taken_profile<core::system_pages> taken;
    ASSERT_TRUE(profile.take(taken));
    ASSERT_NE(profile.modules(), nullptr);
    EXPECT_EQ(taken.begin()->begin->module, profile.modules()) << "the program is the first module";
    EXPECT_TRUE(profile.modules()->is_loaded);
}
#endif

TEST_F(allocation_profile, stores_thousands_of_stacks)
{
    for (std::uintptr_t i = 1; i <= 10'000; ++i) {
        const std::array<const void*, 2> stack{at(i), at(9)};
        add(i * 64, 100 + i, stack);
    }
    const std::vector<line> all = lines();
    ASSERT_EQ(all.size(), 10'000U);
    for (std::uintptr_t i = 0; i != 10'000; ++i)
        ASSERT_EQ(all[i], (line{{at(10'000 - i), at(9)}, {1, 10'100 - i, 1, 10'100 - i}}));
}

TEST_F(allocation_profile, distinguishes_pools_by_name)
{
    std::string name = "orders";
    for (const std::uintptr_t block : {64U, 128U, 192U}) {
        EXPECT_TRUE(profile.add(at(block), 10, 1, {parse.data(), parse.data() + 2, name, false}, nullptr));
        name = block == 64 ? "order" : "orders"; // The profile must have copied the name.
    }
    core::taken_profile<core::system_pages> taken;
    ASSERT_TRUE(profile.take(taken));
    std::vector<std::string> found;
    for (const core::profile_sample& each : taken)
        found.push_back(std::string(each.pool) + " " + std::to_string(each.values.bytes_in_use));
    EXPECT_EQ(found, (std::vector<std::string>{"orders 20", "order 10"}));
}

#if !defined(_WIN32)
TEST(system_pages, return_nullptr_if_the_system_fails)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::protect, 1);
    EXPECT_EQ(core::system_pages::take(1), nullptr);
    EXPECT_EQ(calls.mapped(), 0U);
    calls.refuse(test::system_call::map, 1);
    EXPECT_EQ(core::system_pages::take(1), nullptr);
    void* const pages = core::system_pages::take(1);
    EXPECT_GT(calls.mapped(), 0U);
    core::system_pages::give(pages, 1);
    EXPECT_EQ(calls.mapped(), 0U);
}
#endif

/// Allows `left` allocations, then fails.
struct scarce_pages
{
    static inline std::size_t left = 0;

    static void* take(std::size_t bytes) noexcept
    {
        if (left == 0)
            return nullptr;
        --left;
        return core::system_pages::take(bytes);
    }
    static void give(void* pages, std::size_t bytes) noexcept { core::system_pages::give(pages, bytes); }
};

TEST_F(allocation_profile, drops_samples_without_memory)
{
    using scarce_profile = core::allocation_profile<base::mutex, scarce_pages>;
    const auto scarce = std::make_unique<scarce_profile>();
    const auto is_taken = [&scarce] {
        core::taken_profile<scarce_pages> taken;
        return scarce->take(taken) && taken.end() - taken.begin() == 1;
    };
    std::size_t needed = 0;
    for (;; ++needed) {
        scarce_pages::left = needed;
        if (scarce->add(at(64), 100, 1, calls(parse), nullptr))
            break;
        EXPECT_EQ(scarce->samples_in_use(), 0U);
        ASSERT_LT(needed, 10U);
    }
    EXPECT_GT(needed, 0U);
    scarce_pages::left = 0;
    EXPECT_FALSE(is_taken());
    scarce_pages::left = 1;
    EXPECT_TRUE(is_taken());
}

TEST_F(allocation_profile, ignores_moves_of_blocks_without_a_sample)
{
    add(64, 100, parse);
    profile.move(at(128), at(192));
    EXPECT_FALSE(profile.forget(at(192)));
    EXPECT_TRUE(profile.forget(at(64)));
}

TEST_F(allocation_profile, selects_samples_in_use_by_home)
{
    add(64, 100, parse);
    add(128, 30, parse);
    add(192, 50, print);
    profile.set_home(at(64), this);
    profile.set_home(at(256), this); // The profile has no such sample.
    core::taken_profile<core::system_pages> taken;
    ASSERT_TRUE(profile.take_in_use_of(this, taken));
    ASSERT_EQ(taken.end() - taken.begin(), 1);
    EXPECT_EQ(taken.begin()->values.bytes_in_use, 100U);
    EXPECT_EQ(taken.begin()->values.blocks_in_use, 1U);
    EXPECT_EQ(lines()[0].values[3], 130U) << "all homes again";
}
} // namespace
