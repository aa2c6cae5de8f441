// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A linear overflow that continues until the system stops it does not reach the metadata of np_alloc.
//
//     | block | block | ... | guard, or not committed |                 metadata of tables, heaps, samples: elsewhere
//             ------ 0x41 ------>|
//
// Each overflow runs in a child process, which then compares the metadata with an earlier copy.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>
#include <np_alloc/engine/engine.hpp>
#include <np_alloc/slices/size_classes.hpp>
#include <np_alloc/support/build_variant.hpp>
#include <np_alloc/support/metadata_pages.hpp>

#include <support/child.hpp>
#include <support/np_samples.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#if TESTS_MAY_FORK
#include <csetjmp>
#include <csignal>
#include <unistd.h>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;

namespace {
/// The block that overflows.
struct written_block
{
    std::byte* begin;
    std::size_t bytes;

    std::byte* end() const { return begin + bytes; }
};

sigjmp_buf before_the_writes;
std::byte* volatile stopped_at;

void stop(int, siginfo_t* information, void*)
{
    stopped_at = static_cast<std::byte*>(information->si_addr);
    siglongjmp(before_the_writes, 1);
}

/// More bytes than a young process has committed.
constexpr std::size_t max_written = std::size_t{256} << 20;

MEMORY_POOL_NOINLINE void write_on(volatile std::byte* next)
{
    for (const volatile std::byte* const end = next + max_written; next != end; ++next)
        *next = std::byte{0x41};
}

/// Effects: writes from `address` on, until the system stops the write.
/// Returns: the address of the fault; nullptr if `max_written` bytes cause no fault.
std::byte* write_on_from(std::byte* address)
{
    stopped_at = nullptr;
    struct sigaction stopping{};
    stopping.sa_sigaction = &stop;
    stopping.sa_flags = SA_SIGINFO;
    (void)sigaction(SIGSEGV, &stopping, nullptr);
    if (sigsetjmp(before_the_writes, 1) == 0)
        write_on(address);
    return stopped_at;
}

/// A copy of some metadata of np_alloc.
class copied_data
{
public:
    copied_data()
    {
        auto& all = np::registry();
        add(&all, sizeof all);
        add(&np::this_thread.cache.heap(), sizeof np::this_thread.cache.heap());
        all.pages().region().for_each_range([this, &all](const std::byte* memory, std::size_t bytes) {
            if (memory != all.pages().region().base())
                add(memory, bytes);
        });
    }

    void add(const void* data, std::size_t bytes)
    {
        const auto* const first = static_cast<const unsigned char*>(data);
        copies_.push_back({first, std::vector<unsigned char>(first, first + bytes)});
    }

    bool are_as_before() const
    {
        return std::all_of(copies_.begin(), copies_.end(), [](const copy& each) {
            return std::memcmp(each.data, each.before.data(), each.before.size()) == 0;
        });
    }

private:
    struct copy
    {
        const unsigned char* data;
        std::vector<unsigned char> before;
    };
    std::vector<copy> copies_;
};

/// Returns: the output of np_verify.
std::string text_of_verify()
{
    std::string text;
    std::FILE* const file = std::tmpfile();
    const int errors = dup(STDERR_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    const bool is_in_order = np_verify() == 1;
    (void)dup2(errors, STDERR_FILENO);
    (void)std::fseek(file, 0, SEEK_SET);
    for (int next = std::fgetc(file); next != EOF; next = std::fgetc(file))
        text += static_cast<char>(next);
    (void)std::fclose(file);
    return is_in_order ? std::string() : text;
}

/// Returns: whether the text reports only damage to blocks, which an overflow may overwrite.
bool is_about_blocks(const std::string& text)
{
    return text.empty() || text.find("were written to") != std::string::npos ||
           text.find("was written to") != std::string::npos;
}

/// Returns: the end of the memory that an overflow of the block may reach. This is the guard of the slab, or of the
///   block itself if it is large or a sample. Without guards, it is the end of the committed memory.
const std::byte* end_of_run(const written_block& block)
{
    auto& pages = np::registry().pages();
    if (pages.slots().contain(block.begin))
        return block.begin + np::guarded_slots::slot_bytes + 1;
    const auto& region = pages.region();
    if (region.slices_before(block.begin) >= region.slices()) // Blocks outside the region have no guards.
        return reinterpret_cast<const std::byte*>(~std::uintptr_t{0});
    if (!np::is_checked)
        return region.base() + region.committed() * np::slice_bytes + 1;
    if (!np::is_of_slab(region.tag_of(block.begin).load()))
        return block.end() + np::guard_bytes + 1; // For a large block, the end of its last page.
    const auto& slab = region.record(region.record_of(block.begin).slab);
    return slab.begin + np::class_info[slab.size_class].slab_bytes;
}

/// Prints `failure` if the condition is false. Returns: the condition.
bool report_unless(bool condition, const char* failure)
{
    if (!condition)
        (void)std::fprintf(stderr, "the library was harmed: %s\n", failure);
    return condition;
}

/// Returns: whether another thread, which has another heap, can allocate and free blocks of all kinds.
bool can_allocate()
{
    bool succeeds = true;
    test::in_a_thread([&succeeds] {
        std::vector<void*> blocks;
        for (std::size_t bytes = 1; bytes < 400'000; bytes += bytes / 3 + 1)
            blocks.push_back(np_alloc(bytes)); // NOLINT(performance-inefficient-vector-operation)
        succeeds = std::find(blocks.begin(), blocks.end(), nullptr) == blocks.end();
        std::for_each(blocks.begin(), blocks.end(), np_free);
    });
    return succeeds;
}

/// Returns: whether the metadata of np_alloc is unchanged after an overflow of that block.
bool withstands(const written_block& block)
{
    const std::byte* const end = end_of_run(block);
    const copied_data data;
    const std::byte* const stopped = write_on_from(block.end());
    const bool is_within = report_unless(block.end() <= stopped && stopped < end, "the overflow left its run");
    const bool are_same = report_unless(data.are_as_before(), "metadata has changed");
    const std::string verified = text_of_verify();
    const bool is_consistent = report_unless(is_about_blocks(verified), verified.c_str());
    return is_within && are_same && is_consistent && report_unless(can_allocate(), "allocation fails");
}

/// Expects that np_alloc withstands an overflow of a block that `make` allocates in a child process.
template <class Make>
void expect_to_withstand(Make&& make, std::size_t bytes)
{
    SCOPED_TRACE(bytes);
    auto& region = np::registry().pages().region();
    if (region.committed() * np::slice_bytes > max_written / 4)
        GTEST_SKIP() << "earlier tests have committed too much memory to overwrite";
    test::expect_in_child([&] {
        np_free(np_alloc(1)); // Gives the thread a heap.
        const written_block block{static_cast<std::byte*>(make(bytes)), bytes};
        return report_unless(block.begin != nullptr, "there is no block to overflow") && withstands(block);
    });
}

/// Allocates a block with other blocks around it.
void* among_others(std::size_t bytes)
{
    void* block = nullptr;
    for (int i = 0; i != 20; ++i)
        block = i == 10 ? np_alloc(bytes) : (static_cast<void>(np_alloc(bytes)), block);
    return block;
}

constexpr std::array<std::size_t, 5> large_sizes{33'000, 100'000, 256 * std::size_t{1024}, 1'000'000, 5'000'000};

TEST(np_overrun, of_a_block_of_any_class_does_not_reach_metadata)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        expect_to_withstand(&among_others, np::sizes::size(size_class) - 8); // Leaves room for a canary.
}

TEST(np_overrun, of_a_large_block_does_not_reach_metadata)
{
    for (const std::size_t bytes : large_sizes)
        expect_to_withstand(&among_others, bytes);
}

TEST(np_overrun, of_a_resized_large_block_does_not_reach_metadata)
{
    for (const std::size_t bytes : large_sizes) {
        expect_to_withstand([](std::size_t larger) { return np_realloc(np_alloc(larger / 2), larger); }, bytes);
        expect_to_withstand([](std::size_t smaller) { return np_realloc(np_alloc(2 * smaller), smaller); }, bytes);
    }
}

TEST(np_overrun, of_a_block_of_0_bytes_does_not_reach_metadata)
{
    expect_to_withstand(&among_others, 0);
}

TEST(np_overrun, of_an_aligned_block_does_not_reach_metadata)
{
    for (const std::size_t alignment : {64U, 4096U, 65'536U, 1U << 20U})
        for (const std::size_t bytes : {1U, 1000U, 100'000U})
            expect_to_withstand([alignment](std::size_t size) { return np_aligned_alloc(alignment, size); }, bytes);
}

TEST(np_overrun, of_a_block_with_a_call_site_does_not_reach_metadata)
{
    for (const std::size_t bytes : {40U, 5000U, 100'000U})
        expect_to_withstand([](std::size_t size) { return np_alloc_at(size, "here.cpp", 7); }, bytes);
}

TEST(np_overrun, of_a_sample_does_not_reach_metadata)
{
    for (const std::size_t bytes : {16U, 1008U, 20'480U}) {
        expect_to_withstand([](std::size_t size) { return static_cast<void*>(test::sample_at_the_end(size)); }, bytes);
        expect_to_withstand([](std::size_t size) { return static_cast<void*>(test::sample_at_the_begin(size)); },
                            bytes);
    }
}

TEST(np_overrun, of_a_block_outside_the_region_does_not_reach_metadata)
{
    if (np::registry().heaps().has_started())
        GTEST_SKIP() << "the region is larger in this process";
    const test::option_for_now small(np_option_region_bytes, std::size_t{16} << 20);
    for (const std::size_t bytes : {std::size_t{20} << 20, std::size_t{50} << 20})
        expect_to_withstand([](std::size_t size) { return np_alloc(size); }, bytes);
}

TEST(np_overrun, of_a_heap_block_does_not_reach_metadata)
{
    if (!np::is_checked)
        GTEST_SKIP() << "without guards between slabs, an overflow may reach an np_heap: see docs/security.md";
    for (const std::size_t bytes : {0U, 40U, 5000U, 100'000U})
        expect_to_withstand(
            [](std::size_t size) {
                void* const block = np_heap_alloc(np_heap_create(), size);
                (void)np_heap_alloc(np_heap_create(), size); // The metadata of this heap may be behind the block.
                return block;
            },
            bytes);
}

TEST(np_overrun, of_a_freed_block_does_not_reach_metadata)
{
    for (const std::size_t bytes : {40U, 5000U, 100'000U})
        expect_to_withstand(
            [](std::size_t size) {
                void* const block = among_others(size);
                np_free(block);
                return block;
            },
            bytes);
}

/// Returns: whether the page is inaccessible and reserved.
bool is_guard(std::byte* page)
{
    return write_on_from(page) == page && !os::reserve_addresses_at(page, os::page_size());
}

TEST(np_overrun, meets_a_guard_before_metadata)
{
    test::expect_in_child([] {
        np_free(np_alloc(1)); // Creates the metadata.
        auto* const pages = static_cast<std::byte*>(np::take_metadata_pages(5000));
        bool are_guarded = is_guard(pages - os::page_size()) && is_guard(pages + np::in_whole_pages(5000));
        const auto& region = np::registry().pages().region();
        region.for_each_range([&](std::byte* memory, std::size_t) {
            are_guarded = are_guarded && (memory == region.base() || is_guard(memory - os::page_size()));
        });
        return report_unless(are_guarded, "there is no guard");
    });
}
} // namespace
#endif
