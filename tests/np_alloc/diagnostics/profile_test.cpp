// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>
#include <memory_pool/os/call_stack.hpp>
#include <np_alloc/heaps/heap_registry.hpp>
#include <np_alloc/support/allocation_profile.hpp>

#include <support/option_for_now.hpp>
#include <support/pprof_reader.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if MEMORY_POOL_OS_HAS_CALL_STACKS
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

namespace np = memory_pool::np;

namespace {
/// The sums over all call stacks that contain a function.
struct values
{
    double allocated_blocks = 0;
    double allocated_bytes = 0;
    double blocks_in_use = 0;
    double bytes_in_use = 0;
};

void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

std::string profile_as(np_profile_format format)
{
    std::string text;
    EXPECT_EQ(np_profile_write(format, &append, &text), 0);
    return text;
}

values of(const void* function)
{
    const test::pprof_reader profile(profile_as(np_profile_pprof));
    values sum;
    for (const test::pprof_reader::sample& each : profile.samples) {
        if (std::none_of(each.addresses.begin(), each.addresses.end(), [=](std::uint64_t address) {
                return _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(address)) == function;
            }))
            continue;
        sum.allocated_blocks += static_cast<double>(each.values[0]);
        sum.allocated_bytes += static_cast<double>(each.values[1]);
        sum.blocks_in_use += static_cast<double>(each.values[2]);
        sum.bytes_in_use += static_cast<double>(each.values[3]);
    }
    return sum;
}

/// Each test has its own instance of this function.
template <class Test, class Make>
MEMORY_POOL_NOINLINE void* site(const Make& make)
{
    void* const block = make();
    EXPECT_NE(block, nullptr);
    return block;
}

template <class Test, class Make>
const void* site_of(const Make&)
{
    return reinterpret_cast<const void*>(&site<Test, Make>);
}

template <class Test, class Make>
void* in_site(const Make& make)
{
    void* (*volatile const function)(const Make&) = &site<Test, Make>; // Prevents calls of a clone by the compiler.
    return function(make);
}

/// Expects the profile to count `count` blocks of `bytes` bytes while all, half and none of them are in use.
template <class Test, class Make, class Free>
void expect_to_be_counted(std::size_t count, std::size_t bytes, const Make& make, const Free& free)
{
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != count; ++i)
        blocks.push_back(in_site<Test>(make));
    const values all = of(site_of<Test>(make));
    const auto expected = static_cast<double>(count);
    EXPECT_NEAR(all.allocated_blocks / expected, 1, 0.05);
    EXPECT_NEAR(all.blocks_in_use / expected, 1, 0.05);
    EXPECT_NEAR(all.bytes_in_use / expected / static_cast<double>(bytes), 1, 0.05);
    for (std::size_t i = 0; i < count; i += 2)
        free(blocks[i]);
    const values half = of(site_of<Test>(make));
    EXPECT_EQ(half.allocated_blocks, all.allocated_blocks);
    EXPECT_EQ(half.allocated_bytes, all.allocated_bytes);
    EXPECT_NEAR(half.blocks_in_use / expected, 0.5, 0.05);
    EXPECT_NEAR(half.bytes_in_use / expected / static_cast<double>(bytes), 0.5, 0.05);
    for (std::size_t i = 1; i < count; i += 2)
        free(blocks[i]);
    const values none = of(site_of<Test>(make));
    EXPECT_EQ(none.blocks_in_use, 0);
    EXPECT_EQ(none.bytes_in_use, 0);
}

constexpr std::size_t many = 20'000;

/// The tags of `site`.
namespace sites {
struct again;
struct aligned;
struct at;
struct cleared;
struct each;
struct forked;
struct large;
struct large_aligned;
struct large_resized;
struct large_zeroed;
struct medium;
struct moves;
struct of_heap;
struct off;
struct other;
struct resized;
struct small;
struct stays;
struct turned_off;
struct zeroed;
} // namespace sites

TEST(profile, counts_nothing_while_it_is_off)
{
    ASSERT_EQ(np_option_get(np_option_profile_bytes), 0U);
    const auto make = [] { return np_alloc(100); };
    void* const block = in_site<sites::off>(make);
    EXPECT_EQ(of(site_of<sites::off>(make)).allocated_blocks, 0);
    np_free(block);
}

TEST(profile, counts_small_blocks_within_five_percent)
{
    const test::option_for_now profile(np_option_profile_bytes, 200);
    expect_to_be_counted<sites::small>(many, 48, [] { return np_alloc(48); }, &np_free);
}

TEST(profile, counts_each_block_at_a_rate_of_one_byte)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(100); };
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != 1000; ++i)
        blocks.push_back(in_site<sites::each>(make));
    const values all = of(site_of<sites::each>(make));
    EXPECT_EQ(all.allocated_blocks, 1000);
    EXPECT_EQ(all.bytes_in_use, 100'000);
    for (void* const block : blocks)
        np_free(block);
}

TEST(profile, counts_each_reuse_of_a_block)
{
    const test::option_for_now profile(np_option_profile_bytes, 200);
    const auto make = [] { return np_alloc(48); };
    for (std::size_t i = 0; i != 2 * many; ++i)
        np_free(in_site<sites::again>(make));
    const values all = of(site_of<sites::again>(make));
    EXPECT_NEAR(all.allocated_blocks / (2 * many), 1, 0.05);
    EXPECT_EQ(all.blocks_in_use, 0);
}

TEST(profile, counts_blocks_of_every_function)
{
    const test::option_for_now profile(np_option_profile_bytes, 200);
    expect_to_be_counted<sites::zeroed>(many, 60, [] { return np_calloc(3, 20); }, &np_free);
    expect_to_be_counted<sites::aligned>(many, 256, [] { return np_aligned_alloc(256, 256); }, &np_free);
    expect_to_be_counted<sites::medium>(
        many / 4, 5000, [] { return np_alloc(5000); }, [](void* block) { np_free_sized(block, 5000); });
    expect_to_be_counted<sites::at>(many, 72, [] { return np_alloc_at(72, "file", 1); }, &np_free);
    expect_to_be_counted<sites::resized>(many, 90, [] { return np_realloc(nullptr, 90); }, &np_free);
}

TEST(profile, counts_large_blocks)
{
    const test::option_for_now profile(np_option_profile_bytes, 4096);
    expect_to_be_counted<sites::large>(200, 100'000, [] { return np_alloc(100'000); }, &np_free);
    expect_to_be_counted<sites::large_zeroed>(100, 100'000, [] { return np_calloc(1, 100'000); }, &np_free);
    expect_to_be_counted<sites::large_aligned>(
        100, 70'000, [] { return np_aligned_alloc(1U << 17U, 70'000); }, &np_free);
}

TEST(profile, counts_blocks_of_cleared_and_destroyed_heaps)
{
    const test::option_for_now profile(np_option_profile_bytes, 200);
    np_heap* const heap = np_heap_create();
    expect_to_be_counted<sites::of_heap>(
        many, 100, [=] { return np_heap_alloc(heap, 100); }, [=](void* block) { np_heap_free(heap, block); });
    const auto make = [=] { return np_heap_alloc(heap, 100); };
    const auto make_large = [=] { return np_heap_alloc(heap, 100'000); };
    for (int i = 0; i != 100; ++i) {
        (void)in_site<sites::cleared>(make);
        (void)in_site<sites::cleared>(make_large);
    }
    EXPECT_NE(of(site_of<sites::cleared>(make)).blocks_in_use, 0);
    EXPECT_EQ(of(site_of<sites::cleared>(make_large)).blocks_in_use, 100);
    np_heap_clear(heap);
    EXPECT_EQ(of(site_of<sites::cleared>(make)).blocks_in_use, 0);
    EXPECT_EQ(of(site_of<sites::cleared>(make_large)).blocks_in_use, 0);
    (void)in_site<sites::cleared>(make_large);
    np_heap_destroy(heap);
    EXPECT_EQ(of(site_of<sites::cleared>(make_large)).blocks_in_use, 0);
}

TEST(profile, counts_a_block_that_realloc_moves_as_new)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(100); };
    void* const block = in_site<sites::moves>(make);
    const auto grow = [block] { return np_realloc(block, 10'000); };
    void* const moved = in_site<sites::moves>(grow);
    EXPECT_EQ(of(site_of<sites::moves>(make)).blocks_in_use, 0);
    EXPECT_EQ(of(site_of<sites::moves>(grow)).bytes_in_use, 10'000);
    np_free(moved);
    EXPECT_EQ(of(site_of<sites::moves>(grow)).blocks_in_use, 0);
}

TEST(profile, updates_the_size_of_a_small_block_resized_in_place)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(4000); };
    void* const block = in_site<sites::stays>(make);
    ASSERT_EQ(np_realloc(block, 3000), block);
    const values all = of(site_of<sites::stays>(make));
    EXPECT_EQ(all.allocated_bytes, 4000);
    EXPECT_EQ(all.bytes_in_use, 3000);
    np_free(block);
}

TEST(profile, follows_a_block_that_moves_to_a_denser_slab)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const std::size_t before = np::the_profile.samples_in_use();
    std::vector<void*> blocks(20'000);
    for (void*& each : blocks)
        each = np_alloc(100);
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i % 20 != 0)
            np_free(std::exchange(blocks[i], nullptr));
    const std::size_t in_use = np::the_profile.samples_in_use();
    EXPECT_GE(in_use - before, blocks.size() / 20);
    std::size_t moves = 0;
    for (void*& each : blocks)
        if (void* const moved = np_defrag_move(each)) {
            each = moved;
            ++moves;
        }
    EXPECT_GT(moves, 0U);
    EXPECT_EQ(np::the_profile.samples_in_use(), in_use);
    for (void* each : blocks)
        np_free(each);
    EXPECT_EQ(np::the_profile.samples_in_use(), before);
}

TEST(profile, counts_a_resized_large_block_as_new)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(3'000'000); };
    void* block = in_site<sites::large_resized>(make);
    for (const std::size_t bytes : {2'000'000U, 9'000'000U, 30'000'000U, 100'000U}) { // Resized in place or moved.
        const auto resize = [block, bytes] { return np_realloc(block, bytes); };
        void* const resized = in_site<sites::large_resized>(resize);
        EXPECT_EQ(of(site_of<sites::large_resized>(make)).blocks_in_use, 0);
        EXPECT_EQ(of(site_of<sites::large_resized>(resize)).bytes_in_use, bytes);
        block = resized;
    }
    const auto before = np::the_profile.samples_in_use();
    np_free(block);
    EXPECT_EQ(np::the_profile.samples_in_use(), before - 1);
}

TEST(profile, keeps_a_large_block_whose_realloc_fails)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(3'000'000); };
    void* const block = in_site<sites::stays>(make);
    ASSERT_EQ(np_realloc(block, ~std::size_t{0} / 4), nullptr);
    EXPECT_EQ(of(site_of<sites::stays>(make)).bytes_in_use, 3'000'000);
    np_free(block);
    EXPECT_EQ(of(site_of<sites::stays>(make)).bytes_in_use, 0);
}

TEST(profile, counts_blocks_of_other_threads)
{
    const test::option_for_now profile(np_option_profile_bytes, 200);
    const auto make = [] { return np_alloc(48); };
    std::vector<void*> blocks(many);
    std::thread([&] {
        for (void*& block : blocks)
            block = in_site<sites::other>(make);
    }).join();
    EXPECT_NEAR(of(site_of<sites::other>(make)).blocks_in_use / many, 1, 0.05) << "the thread has ended";
    std::thread([&] {
        for (void* const block : blocks)
            np_free(block);
    }).join();
    EXPECT_EQ(of(site_of<sites::other>(make)).blocks_in_use, 0);
}

TEST(profile, counts_frees_after_it_was_turned_off)
{
    const auto make = [] { return np_alloc(48); };
    std::vector<void*> blocks;
    {
        const test::option_for_now profile(np_option_profile_bytes, 1);
        for (int i = 0; i != 1000; ++i)
            blocks.push_back(in_site<sites::turned_off>(make));
    }
    for (int i = 0; i != 1000; ++i)
        np_free(in_site<sites::turned_off>(make));
    EXPECT_EQ(of(site_of<sites::turned_off>(make)).allocated_blocks, 1000) << "later blocks are not counted";
    for (void* const block : blocks)
        np_free(block);
    EXPECT_EQ(of(site_of<sites::turned_off>(make)).blocks_in_use, 0);
}

TEST(profile, leaves_the_library_consistent)
{
    const test::option_for_now profile(np_option_profile_bytes, 1000);
    std::vector<void*> blocks;
    for (std::size_t i = 0; i != 5000; ++i)
        blocks.push_back(np_alloc(i % 3000));
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        blocks[i] = np_realloc(blocks[i], i);
    EXPECT_EQ(np_verify(), 1);
    for (void* const block : blocks)
        np_free(block);
    (void)np_trim();
    EXPECT_EQ(np_verify(), 1);
}

TEST(profile, is_copied_by_a_fork)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    const auto make = [] { return np_alloc(100); };
    void* const before = in_site<sites::forked>(make);
    const ::pid_t child = ::fork();
    if (child == 0) {
        void* const block = in_site<sites::forked>(make);
        const bool has_both = of(site_of<sites::forked>(make)).blocks_in_use == 2;
        np_free(before);
        np_free(block);
        ::_exit(has_both && of(site_of<sites::forked>(make)).blocks_in_use == 0 ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(of(site_of<sites::forked>(make)).blocks_in_use, 1);
    np_free(before);
}

TEST(profile, does_not_block_the_child_of_a_fork_while_threads_are_sampled)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    std::atomic<bool> is_running{true};
    std::vector<std::thread> threads;
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&is_running] {
            while (is_running)
                np_free(np_realloc(np_alloc(100), 5000));
        });
    for (int times = 0; times != 50; ++times) {
        const ::pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20); // Ends a deadlock.
            np_free(np_alloc(100));
            ::_exit(np_profile_write(np_profile_folded, [](const char*, std::size_t, void*) {}, nullptr));
        }
        int status = 1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    is_running = false;
    for (std::thread& each : threads)
        each.join();
}

TEST(profile, is_written_in_the_format_of_the_file_name)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    void* const block = np_alloc(100);
    const std::string base = testing::TempDir() + "np_profile_" + std::to_string(::getpid());
    const auto written = [](const std::string& path) {
        EXPECT_EQ(np_profile_dump(path.c_str()), 0);
        std::ifstream file(path, std::ios::binary);
        std::string content((std::istreambuf_iterator<char>(file)), {});
        EXPECT_EQ(std::remove(path.c_str()), 0);
        return content;
    };
    EXPECT_FALSE(test::pprof_reader(written(base)).samples.empty());
    EXPECT_EQ(written(base + ".txt").substr(0, 10), "np_alloc: ");
    EXPECT_NE(written(base + ".folded").find(";"), std::string::npos);
    np_free(block);
}

TEST(profile, provides_the_leak_report_for_blocks_without_call_sites)
{
    if (np::registry().has_call_sites())
        GTEST_SKIP() << "another test has called np_alloc_at";
    const test::option_for_now profile(np_option_profile_bytes, 1);
    void* const block = np_alloc(12'345);
    const auto report_as = [](np_format format) {
        std::string text;
        EXPECT_GT(np_leak_report(format, &append, &text), 0U);
        return text;
    };
    EXPECT_NE(report_as(np_format_text).find("12345 bytes"), std::string::npos);
    const std::string report = report_as(np_format_json);
    EXPECT_NE(report.find("\"bytes_between_samples\": 1,\n  \"stacks\": [\n    {\"frames\": [\""), std::string::npos);
    EXPECT_NE(report.find("\"], \"blocks\": 1, \"bytes\": 12345}"), std::string::npos) << report;
    np_free(block);
}

TEST(profile, returns_an_error_number_on_failure)
{
    EXPECT_EQ(np_profile_dump(nullptr), EINVAL);
    EXPECT_EQ(np_profile_dump("/no such directory/file"), ENOENT);
    EXPECT_EQ(np_profile_dump(std::string(5000, 'a').c_str()), ENAMETOOLONG);
    EXPECT_EQ(np_profile_write(np_profile_text, nullptr, nullptr), EINVAL);
    EXPECT_EQ(np_profile_write(static_cast<np_profile_format>(3), &append, nullptr), EINVAL);
}

TEST(profile, is_not_written_without_memory_for_a_copy_of_it)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    void* const block = np_alloc(100);
    const std::string path = testing::TempDir() + "np_profile_" + std::to_string(::getpid());
    std::string text;
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        EXPECT_EQ(np_profile_write(np_profile_text, &append, &text), ENOMEM);
        EXPECT_EQ(np_profile_dump(path.c_str()), ENOMEM);
    }
    EXPECT_EQ(text, "");
    EXPECT_FALSE(std::ifstream(path).is_open());
    np_free(block);
}

TEST(profile, may_be_written_by_a_function_that_allocates)
{
    const test::option_for_now profile(np_option_profile_bytes, 1);
    void* const block = np_alloc(100);
    const auto write = [](const char*, std::size_t length, void*) { np_free(np_alloc(length)); };
    EXPECT_EQ(np_profile_write(np_profile_pprof, write, nullptr), 0);
    np_free(block);
}
} // namespace
#endif
