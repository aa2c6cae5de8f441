// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/page_resource.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>
#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/resident_memory.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__unix__)
#include <sys/resource.h>
#endif
#if MEMORY_POOL_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace mp = memory_pool;
namespace os = memory_pool::detail::os;
using mp::huge_page_use;

namespace {
const std::size_t page = os::page_size();

mp::page_options options_for(huge_page_use huge_pages, bool prefault = false)
{
    mp::page_options options;
    options.huge_pages = huge_pages;
    options.prefault = prefault;
    options.name = "buffers";
    return options;
}

constexpr huge_page_use every_use[] = {huge_page_use::as_the_system_does, huge_page_use::transparent,
                                       huge_page_use::reserved};

TEST(page_resource, rejects_an_alignment_that_is_not_a_power_of_two)
{
    mp::page_resource pages;
    for (const std::size_t alignment : {0u, 3u, 24u, 100'000u})
        EXPECT_THROW((void)pages.allocate(100, alignment), std::invalid_argument) << alignment;
    EXPECT_EQ(pages.bytes_in_use(), 0u);
}

TEST(page_resource, allocates_and_frees_whole_pages)
{
    const test::system_calls calls;
    mp::page_resource pages;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page, page + 1, 1000 * page}) {
        void* const chunk = pages.allocate(bytes);
        ASSERT_NE(chunk, nullptr);
        EXPECT_GE(pages.bytes_in_use(), bytes);
        EXPECT_EQ(pages.bytes_in_use() % page, 0u);
        EXPECT_EQ(pages.bytes_in_use(), calls.mapped());
        std::memset(chunk, 0xAB, bytes);
        pages.deallocate(chunk, bytes);
        EXPECT_EQ(pages.bytes_in_use(), 0u);
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(page_resource, honours_every_alignment_with_every_kind_of_pages)
{
    for (const huge_page_use use : every_use) {
        const test::system_calls calls;
        mp::page_resource pages(options_for(use));
        for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30; alignment *= 2) {
            void* const chunk = pages.allocate(5000, alignment);
            ASSERT_TRUE(test::is_aligned(chunk, alignment)) << alignment;
            std::memset(chunk, 0xAB, 5000);
            pages.deallocate(chunk, 5000, alignment);
            ASSERT_EQ(calls.mapped(), 0u);
        }
    }
}

TEST(page_resource, is_unnamed_without_a_name)
{
    const mp::page_resource pages(mp::page_options{}.with_name(nullptr));
    EXPECT_STREQ(pages.name(), "unnamed");
}

TEST(page_resource, serves_containers_and_pools)
{
    for (const huge_page_use use : every_use) {
        const test::system_calls calls;
        {
            mp::page_resource pages(options_for(use));
            test::use_containers(&pages);
            EXPECT_EQ(pages.bytes_in_use(), 0u);
            std::pmr::vector<int> numbers(1'000'000, 7, &pages);
            EXPECT_EQ(numbers.back(), 7);
            mp::block_pool pool(48, {}, &pages);
            std::vector<void*> blocks(50'000);
            for (void*& block : blocks)
                block = pool.allocate();
            EXPECT_EQ(pages.bytes_in_use(), calls.mapped());
            for (void* const block : blocks)
                pool.deallocate(block);
            EXPECT_TRUE(pool.verify());
        }
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(page_resource, frees_outstanding_chunks_in_its_destructor)
{
    const test::system_calls calls;
    {
        mp::page_resource pages;
        (void)pages.allocate(10'000);
        (void)pages.allocate(10'000, 16 * page);
    }
    EXPECT_EQ(calls.mapped(), 0u);
}

TEST(page_resource, compares_equal_to_itself_only)
{
    const mp::page_resource pages;
    const mp::page_resource others;
    EXPECT_TRUE(pages.is_equal(pages));
    EXPECT_FALSE(pages.is_equal(others));
}

TEST(page_resource, reports_the_request_that_the_system_refused)
{
    const test::system_calls calls;
    mp::page_resource pages(options_for(huge_page_use::as_the_system_does));
    calls.refuse(test::system_call::any, 1);
    const std::string text = test::what_of<mp::out_of_memory>([&] { (void)pages.allocate(12345, 64); });
    EXPECT_EQ(text, "memory_pool: resource 'buffers': the OS cannot map 12345 bytes aligned to 64");
    EXPECT_EQ(pages.bytes_in_use(), 0u);
}

TEST(page_resource, rejects_sizes_beyond_the_address_space)
{
    mp::page_resource pages;
    const volatile std::size_t most =
        std::numeric_limits<std::size_t>::max(); // volatile avoids a compile-time warning.
    for (const std::size_t bytes : {most + 0, most - page, most / 2 + 1, most / 2})
        EXPECT_THROW((void)pages.allocate(bytes), mp::out_of_memory);
    EXPECT_THROW((void)pages.allocate(1, most / 2 + 1), mp::out_of_memory);
    EXPECT_EQ(pages.bytes_in_use(), 0u);
}

TEST(page_resource, loses_nothing_when_any_system_call_fails)
{
    for (const huge_page_use use : every_use) {
        for (const bool prefault : {false, true}) {
            std::size_t call = 0;
            bool was_refused = true;
            while (was_refused) {
                const test::system_calls calls;
                calls.refuse(test::system_call::any, ++call);
                mp::page_resource pages(options_for(use, prefault));
                for (const std::size_t alignment : {page, 64 * page}) {
                    try {
                        void* const chunk = pages.allocate(5 * page, alignment);
                        std::memset(chunk, 0xAB, 5 * page);
                        ASSERT_EQ(pages.bytes_in_use(), calls.mapped());
                        pages.deallocate(chunk, 5 * page, alignment);
                    } catch (const std::bad_alloc&) {
                        ASSERT_GE(calls.made(test::system_call::any), call) << "no call was refused";
                    }
                    ASSERT_EQ(pages.bytes_in_use(), 0u);
                }
                was_refused = calls.made(test::system_call::any) >= call;
                calls.refuse_nothing();
                pages.deallocate(pages.allocate(1), 1); // Retries chunks that were not unmapped.
                ASSERT_EQ(calls.mapped(), 0u) << "call " << call;
            }
            EXPECT_GT(call, 4u);
        }
    }
}

TEST(page_resource, retries_chunks_that_the_system_did_not_unmap)
{
    const test::system_calls calls;
    {
        mp::page_resource pages;
        void* const first = pages.allocate(page);
        void* const second = pages.allocate(page);
        calls.refuse_from(test::system_call::unmap, 1);
        pages.deallocate(first, page);
        pages.deallocate(second, page);
        EXPECT_EQ(pages.bytes_in_use(), 0u);
        EXPECT_EQ(calls.mapped(), 2 * page);
        calls.refuse_nothing();
        pages.deallocate(pages.allocate(page), page);
        EXPECT_EQ(calls.mapped(), 0u);

        calls.refuse_from(test::system_call::unmap, 1);
        pages.deallocate(pages.allocate(page), page);
        calls.refuse_nothing();
        EXPECT_EQ(calls.mapped(), page);
    }
    EXPECT_EQ(calls.mapped(), 0u) << "the destructor retries, too";
}

TEST(page_resource, reports_a_foreign_chunk)
{
    const test::error_recorder errors;
    mp::page_resource pages(options_for(huge_page_use::as_the_system_does));
    mp::page_resource others;
    void* const chunk = others.allocate(page);
    pages.deallocate(chunk, page);
    ASSERT_EQ(errors.kinds(), test::kinds{mp::error_kind::foreign_pointer});
    EXPECT_EQ(errors.reports()[0].address, chunk);
    EXPECT_EQ(errors.reports()[0].pool_name, "buffers");
    std::memset(chunk, 0xAB, page); // The chunk is still mapped.
    others.deallocate(chunk, page);
    others.deallocate(chunk, page);
    EXPECT_EQ(errors.kinds().size(), 2u) << "a double free";
}

TEST(page_resource, backs_pages_at_once_on_request)
{
    for (const huge_page_use use : every_use) {
        const test::system_calls calls;
        mp::page_resource pages(options_for(use, true));
        void* const chunk = pages.allocate(100 * page);
        EXPECT_EQ(calls.populated(), pages.bytes_in_use());
        pages.deallocate(chunk, 100 * page);
        calls.refuse_from(test::system_call::advise, 1);
        EXPECT_THROW((void)pages.allocate(100 * page), std::bad_alloc);
        EXPECT_EQ(calls.mapped(), 0u);
    }
}

TEST(page_resource, falls_back_to_normal_pages_without_reserved_huge_pages)
{
    const test::system_calls calls;
    mp::page_resource pages(options_for(huge_page_use::reserved));
    calls.refuse(test::system_call::any, 1);
    void* const chunk = pages.allocate(5000);
    if (os::huge_page_size() != 0) {
        EXPECT_EQ(calls.huge_page_requests(), 1u) << "huge pages were requested";
    }
    EXPECT_EQ(pages.bytes_in_use(), (5000 + page - 1) / page * page);
    EXPECT_EQ(pages.bytes_in_huge_pages(), 0u);
    pages.deallocate(chunk, 5000);
}

TEST(page_resource, allocates_whole_huge_pages_where_some_are_reserved)
{
    const std::size_t huge = os::huge_page_size();
    if (huge == 0)
        GTEST_SKIP() << "this system has no huge pages";
    const test::system_calls calls;
    calls.simulate_huge_pages();
    {
        mp::page_resource pages(options_for(huge_page_use::reserved));
        void* const small = pages.allocate(1);
        EXPECT_EQ(pages.bytes_in_use(), huge);
        (void)pages.allocate(huge + 1);
        EXPECT_EQ(pages.bytes_in_use(), 3 * huge);
        EXPECT_EQ(pages.bytes_in_huge_pages(), 3 * huge);
        EXPECT_EQ(calls.mapped(), 3 * huge);
        pages.deallocate(small, 1);
        EXPECT_EQ(pages.bytes_in_huge_pages(), 2 * huge);
    }
    EXPECT_EQ(calls.mapped(), 0u);
}

#if defined(__linux__)
/// Returns: the bytes of the process in transparent huge pages, as summed up by the system.
std::size_t all_transparent_huge_bytes()
{
    std::ifstream rollup("/proc/self/smaps_rollup");
    std::string word;
    while (rollup >> word) {
        std::size_t kibibytes = 0;
        if (word == "AnonHugePages:" && rollup >> kibibytes)
            return kibibytes * 1024;
    }
    return 0;
}

TEST(page_resource, reports_bytes_in_transparent_huge_pages)
{
    const std::size_t huge = os::huge_page_size();
    if (huge == 0)
        GTEST_SKIP() << "this system has no huge pages";
    const std::size_t before = all_transparent_huge_bytes();
    mp::page_resource pages(options_for(huge_page_use::transparent));
    void* const chunk = pages.allocate(4 * huge);
    EXPECT_TRUE(test::is_aligned(chunk, huge));
    EXPECT_EQ(pages.bytes_in_huge_pages(), 0u) << "no page was written yet";
    std::memset(chunk, 0xAB, 4 * huge);
    EXPECT_EQ(pages.bytes_in_huge_pages(), all_transparent_huge_bytes() - before);
    EXPECT_LE(pages.bytes_in_huge_pages(), pages.bytes_in_use());
    pages.deallocate(chunk, 4 * huge);
    EXPECT_EQ(pages.bytes_in_huge_pages(), 0u);
}

TEST(page_resource, counts_no_huge_pages_of_other_mappings)
{
    const std::size_t huge = os::huge_page_size();
    if (huge == 0)
        GTEST_SKIP() << "this system has no huge pages";
    // Both have the same advice, so that the system may merge the mappings.
    mp::page_resource pages(options_for(huge_page_use::transparent, true));
    mp::page_resource others(options_for(huge_page_use::transparent, true));
    const std::size_t before = all_transparent_huge_bytes();
    for (int i = 0; i != 3; ++i) {
        (void)pages.allocate(huge);
        (void)others.allocate(2 * huge);
    }
    EXPECT_LE(pages.bytes_in_huge_pages(), 3 * huge);
    EXPECT_LE(pages.bytes_in_huge_pages() + others.bytes_in_huge_pages(), all_transparent_huge_bytes() - before);
}
#endif

TEST(page_resource, can_be_used_from_any_thread)
{
    mp::page_resource pages;
    test::in_threads(4, [&](std::size_t thread) {
        for (std::size_t i = 0; i != 200; ++i) {
            const std::size_t bytes = (i % 5 + 1) * page;
            auto* const chunk = static_cast<unsigned char*>(pages.allocate(bytes, i % 3 == 0 ? 16 * page : 8));
            chunk[0] = chunk[bytes - 1] = static_cast<unsigned char>(thread);
            ASSERT_GE(pages.bytes_in_use(), bytes);
            ASSERT_EQ(chunk[0], thread);
            ASSERT_EQ(chunk[bytes - 1], thread);
            pages.deallocate(chunk, bytes);
        }
    });
    EXPECT_EQ(pages.bytes_in_use(), 0u);
}

TEST(page_resource, can_be_the_upstream_of_other_adaptors)
{
    mp::page_resource pages;
    mp::limit_resource limited(std::size_t{1} << 20, &pages);
    mp::tracking_resource tracked(&limited);
    std::pmr::unsynchronized_pool_resource pools(&tracked);
    test::use_containers(&pools);
    EXPECT_GT(tracked.bytes_in_use(), 0u);
    EXPECT_GE(pages.bytes_in_use(), tracked.bytes_in_use());
    EXPECT_THROW((void)pools.allocate(std::size_t{2} << 20), mp::limit_exceeded);
    pools.release();
    EXPECT_EQ(pages.bytes_in_use(), 0u);
}

#if TESTS_MAY_FORK && TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
TEST(page_resource, recovers_after_the_addresses_of_a_process_were_used_up)
{
    test::expect_in_child([] {
        const std::size_t most = test::bytes_of_process().addresses + (std::size_t{1} << 30);
        rlimit limit{most, most};
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            return false;
        mp::page_resource pages;
        std::vector<void*> chunks;
        chunks.reserve(100);
        constexpr std::size_t bytes = std::size_t{32} << 20;
        try {
            while (chunks.size() != 100)
                chunks.push_back(pages.allocate(bytes));
            return false;
        } catch (const std::bad_alloc&) {
            if (chunks.size() < 10 || pages.bytes_in_use() != chunks.size() * bytes)
                return false;
        }
        const std::size_t count = chunks.size();
        for (void*& chunk : chunks) {
            pages.deallocate(chunk, bytes);
            chunk = pages.allocate(bytes); // There is room for exactly one chunk again.
        }
        for (void* const chunk : chunks)
            pages.deallocate(chunk, bytes);
        return pages.bytes_in_use() == 0 && chunks.size() == count;
    });
}

TEST(page_resource, loses_nothing_at_the_maximum_number_of_mappings_of_a_process)
{
    std::ifstream file("/proc/sys/vm/max_map_count");
    std::size_t most = 0;
    if (!(file >> most) || most > 100'000)
        GTEST_SKIP() << "the limit is too high for a short test";
    test::expect_in_child([most] {
        mp::page_resource pages;
        // Unmaps every other page of one large mapping. Each unmapped page adds one mapping.
        std::vector<void*> chunks;
        chunks.reserve(3 * most);
        for (std::size_t i = 0; i != 3 * most; ++i)
            chunks.push_back(pages.allocate(1));
        for (std::size_t i = 0; i < chunks.size(); i += 2)
            pages.deallocate(chunks[i], 1);
        const bool are_counted = pages.bytes_in_use() == chunks.size() / 2 * page;
        for (std::size_t i = 1; i < chunks.size(); i += 2)
            pages.deallocate(chunks[i], 1);
        std::size_t stretches = 0;
        os::for_each_stretch([&](std::uintptr_t, std::uintptr_t, std::size_t) { ++stretches; });
        return are_counted && pages.bytes_in_use() == 0 && stretches < 1000;
    });
}
#endif

#if MEMORY_POOL_ASAN
TEST(page_resource, is_scanned_for_pointers_by_leak_sanitizer)
{
    mp::page_resource pages;
    auto* const owner = static_cast<std::array<std::unique_ptr<int>, 4>*>(pages.allocate(page));
    ::new (static_cast<void*>(owner)) std::array<std::unique_ptr<int>, 4>;
    for (std::unique_ptr<int>& one : *owner)
        one = std::make_unique<int>(7);
    EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
    owner->~array();
    pages.deallocate(owner, page);
}
#endif

TEST(page_options, can_be_chained_in_a_constant_expression)
{
    constexpr mp::page_options options =
        mp::page_options{}.with_huge_pages(mp::huge_page_use::transparent).with_prefault(true).with_name("pages");
    static_assert(options.huge_pages == mp::huge_page_use::transparent && options.prefault);
    static_assert(std::is_aggregate_v<mp::page_options>);
    EXPECT_STREQ(options.name, "pages");
}
} // namespace
