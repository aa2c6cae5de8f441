// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Writes from the end of a block upward until the system stops them: data of np_alloc are out of their reach.
//
//     | block | block | ... | guard or what is not committed |          tables, heaps, samples' data: elsewhere
//             ------ 0x41 ------>|
//
// Each is made in a process of its own, which then compares all of these data with a copy from before.
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
/// What is written from.
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

/// More than is committed in a process that has done little.
constexpr std::size_t most_written = std::size_t{256} << 20;

MEMORY_POOL_NOINLINE void write_on(volatile std::byte* next)
{
    for (const volatile std::byte* const end = next + most_written; next != end; ++next)
        *next = std::byte{0x41};
}

/// Writes until the system stops it. Returns: where; nullptr if that is too far.
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

/// A copy of data of np_alloc.
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

/// Returns: what np_verify prints.
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

/// Returns: whether the text names bytes of blocks at most, which are there to be written to by mistake.
bool is_about_blocks(const std::string& text)
{
    return text.empty() || text.find("were written to") != std::string::npos ||
           text.find("was written to") != std::string::npos;
}

/// Returns: what no write behind a block may reach: what is behind the guard of its slab, of itself if it is large or a
/// sample, or, where there are no guards, of what is committed.
const std::byte* end_of_run(const written_block& block)
{
    auto& pages = np::registry().pages();
    if (pages.slots().contain(block.begin))
        return block.begin + np::guarded_slots::slot_bytes + 1;
    const auto& region = pages.region();
    if (region.slices_before(block.begin) >= region.slices()) // It has no guard of its own.
        return reinterpret_cast<const std::byte*>(~std::uintptr_t{0});
    if (!np::is_checked)
        return region.base() + region.committed() * np::slice_bytes + 1;
    if (!np::is_of_slab(region.tag_of(block.begin).load()))
        return block.end() + np::guard_bytes + 1; // A large block: to the end of its last page.
    const auto& slab = region.record(region.record_of(block.begin).slab);
    return slab.begin + np::facts[slab.size_class].slab_bytes;
}

bool says(bool is_so, const char* what)
{
    if (!is_so)
        (void)std::fprintf(stderr, "the library was harmed: %s\n", what);
    return is_so;
}

/// Returns: whether blocks of all kinds come and go in another thread, which has a heap of its own.
bool goes_on()
{
    bool is_well = true;
    test::in_a_thread([&is_well] {
        std::vector<void*> blocks;
        for (std::size_t bytes = 1; bytes < 400'000; bytes += bytes / 3 + 1)
            blocks.push_back(np_alloc(bytes)); // NOLINT(performance-inefficient-vector-operation)
        is_well = std::find(blocks.begin(), blocks.end(), nullptr) == blocks.end();
        std::for_each(blocks.begin(), blocks.end(), np_free);
    });
    return is_well;
}

/// Returns: whether all that np_alloc has for itself is as it was when writes behind a block were stopped.
bool withstands(const written_block& block)
{
    const std::byte* const end = end_of_run(block);
    const copied_data data;
    const std::byte* const stopped = write_on_from(block.end());
    const bool is_within = says(block.end() <= stopped && stopped < end, "they do not stop in its run");
    const bool are_same = says(data.are_as_before(), "its data are others");
    const std::string verified = text_of_verify();
    const bool is_consistent = says(is_about_blocks(verified), verified.c_str());
    return is_within && are_same && is_consistent && says(goes_on(), "there are no blocks");
}

/// Expects that of a block that is made in the process that writes.
template <class Make>
void expect_to_withstand(Make&& make, std::size_t bytes)
{
    SCOPED_TRACE(bytes);
    auto& region = np::registry().pages().region();
    if (region.committed() * np::slice_bytes > most_written / 4)
        GTEST_SKIP() << "tests before this one have left too much to write to, or to compare";
    test::expect_in_child([&] {
        np_free(np_alloc(1)); // So the thread has a heap.
        const written_block block{static_cast<std::byte*>(make(bytes)), bytes};
        return says(block.begin != nullptr, "there is no block to write behind") && withstands(block);
    });
}

/// Makes a block with others around it.
void* among_others(std::size_t bytes)
{
    void* block = nullptr;
    for (int i = 0; i != 20; ++i)
        block = i == 10 ? np_alloc(bytes) : (static_cast<void>(np_alloc(bytes)), block);
    return block;
}

constexpr std::array<std::size_t, 5> large_sizes{33'000, 100'000, 256 * std::size_t{1024}, 1'000'000, 5'000'000};

TEST(np_overrun, of_a_block_of_any_class_reaches_no_data_of_the_library)
{
    for (std::size_t size_class = 0; size_class != np::class_count; ++size_class)
        expect_to_withstand(&among_others, np::sizes::size(size_class) - 8); // So checked ones are mostly of it, too.
}

TEST(np_overrun, of_a_large_block_reaches_no_data_of_the_library)
{
    for (const std::size_t bytes : large_sizes)
        expect_to_withstand(&among_others, bytes);
}

TEST(np_overrun, of_a_large_block_that_was_resized_reaches_no_data_of_the_library)
{
    for (const std::size_t bytes : large_sizes) {
        expect_to_withstand([](std::size_t larger) { return np_realloc(np_alloc(larger / 2), larger); }, bytes);
        expect_to_withstand([](std::size_t smaller) { return np_realloc(np_alloc(2 * smaller), smaller); }, bytes);
    }
}

TEST(np_overrun, of_a_block_of_0_bytes_reaches_no_data_of_the_library)
{
    expect_to_withstand(&among_others, 0);
}

TEST(np_overrun, of_an_aligned_block_reaches_no_data_of_the_library)
{
    for (const std::size_t alignment : {64U, 4096U, 65'536U, 1U << 20U})
        for (const std::size_t bytes : {1U, 1000U, 100'000U})
            expect_to_withstand([alignment](std::size_t size) { return np_aligned_alloc(alignment, size); }, bytes);
}

TEST(np_overrun, of_a_block_with_its_line_reaches_no_data_of_the_library)
{
    for (const std::size_t bytes : {40U, 5000U, 100'000U})
        expect_to_withstand([](std::size_t size) { return np_alloc_at(size, "here.cpp", 7); }, bytes);
}

TEST(np_overrun, of_a_sample_reaches_no_data_of_the_library)
{
    for (const std::size_t bytes : {16U, 1008U, 20'480U}) {
        expect_to_withstand([](std::size_t size) { return static_cast<void*>(test::sample_at_the_end(size)); }, bytes);
        expect_to_withstand([](std::size_t size) { return static_cast<void*>(test::sample_at_the_begin(size)); },
                            bytes);
    }
}

TEST(np_overrun, of_a_block_outside_of_the_region_reaches_no_data_of_the_library)
{
    if (np::registry().has_started())
        GTEST_SKIP() << "the region is larger in this process";
    const test::option_for_now small(np_option_region_bytes, std::size_t{16} << 20);
    for (const std::size_t bytes : {std::size_t{20} << 20, std::size_t{50} << 20})
        expect_to_withstand([](std::size_t size) { return np_alloc(size); }, bytes);
}

TEST(np_overrun, of_a_block_of_a_heap_reaches_no_data_of_the_library)
{
    if (!np::is_checked)
        GTEST_SKIP() << "without guards between slabs, it may reach what np_heap_create returns: see docs/security.md";
    for (const std::size_t bytes : {0U, 40U, 5000U, 100'000U})
        expect_to_withstand(
            [](std::size_t size) {
                void* const block = np_heap_alloc(np_heap_create(), size);
                (void)np_heap_alloc(np_heap_create(), size); // What is known of this heap may lie behind the block.
                return block;
            },
            bytes);
}

TEST(np_overrun, of_a_freed_block_reaches_no_data_of_the_library)
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

/// Returns: whether the page there is inaccessible, and can become no part of another mapping.
bool is_guard(std::byte* page)
{
    return write_on_from(page) == page && !os::reserve_addresses_at(page, os::page_size());
}

TEST(np_overrun, data_of_the_library_lie_behind_guards)
{
    test::expect_in_child([] {
        np_free(np_alloc(1)); // So there are some.
        auto* const pages = static_cast<std::byte*>(np::take_metadata_pages(5000));
        bool are_guarded = is_guard(pages - os::page_size()) && is_guard(pages + np::in_whole_pages(5000));
        const auto& region = np::registry().pages().region();
        region.for_each_range([&](std::byte* memory, std::size_t) {
            are_guarded = are_guarded && (memory == region.base() || is_guard(memory - os::page_size()));
        });
        return says(are_guarded, "there is no guard");
    });
}
} // namespace
#endif
