// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/huge_pages.hpp>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/page_mapping.hpp>
#include <memory_pool/os/pages.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace os = memory_pool::detail::os;
namespace base = memory_pool::detail::base;

namespace {
TEST(huge_page_size, is_0_or_a_power_of_two_above_a_page)
{
    const std::size_t size = os::huge_page_size();
    EXPECT_TRUE(size == 0 || (base::is_power_of_two(size) && size > os::page_size())) << size;
}

TEST(advise_huge_pages, preserves_the_content)
{
    const os::page_mapping mapping = os::map_pages(std::size_t{4} << 20, std::size_t{2} << 20, os::page_kind::normal);
    auto* const first = static_cast<unsigned char*>(mapping.memory);
    first[5] = 0xAB;
    (void)os::advise_huge_pages(mapping.memory, mapping.bytes);
    first[os::page_size()] = 0xCD;
    (void)os::advise_huge_pages(mapping.memory, mapping.bytes, false);
    EXPECT_EQ(first[5], 0xAB);
    EXPECT_TRUE(os::unmap_pages(mapping));
}

#if defined(__linux__)
TEST(advise_huge_pages, reports_whether_the_advice_failed)
{
    const os::page_mapping mapping = os::map_pages(std::size_t{4} << 20, std::size_t{2} << 20, os::page_kind::normal);
    const test::system_calls calls;
    calls.refuse(test::system_call::advise_huge_pages, 1);
    EXPECT_EQ(os::advise_huge_pages(mapping.memory, mapping.bytes), os::advice::failed);
    EXPECT_EQ(os::advise_huge_pages(static_cast<std::byte*>(mapping.memory) + 1, mapping.bytes - 1),
              os::advice::unknown)
        << "EINVAL does not tell whether the system knows this advice";
    EXPECT_TRUE(os::unmap_pages(mapping));
}

TEST(huge_page_size, is_known_on_linux)
{
#if defined(__x86_64__)
    EXPECT_EQ(os::huge_page_size(), std::size_t{2} << 20);
#endif
}

TEST(huge_page_size, is_0_if_the_system_does_not_report_it)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::open_file, 1);
    EXPECT_EQ(os::platform::find_huge_page_size(), os::huge_page_size()) << "another file contains the size, too";
    calls.refuse_from(test::system_call::open_file, 1);
    EXPECT_EQ(os::platform::find_huge_page_size(), 0U);
}

TEST(for_each_stretch, reports_that_the_maps_cannot_be_read)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::open_file, 1);
    EXPECT_FALSE(os::for_each_stretch([](std::uintptr_t, std::uintptr_t, std::size_t) { FAIL(); }));
}

TEST(for_each_stretch, visits_all_mappings_of_the_process)
{
    const int on_the_stack = 0;
    const std::vector<char> on_the_heap(100);
    static int in_data = 0;
    const void* const known[] = {&on_the_stack, on_the_heap.data(), &in_data};
    std::size_t found = 0;
    std::uintptr_t last_end = 0;
    std::size_t out_of_order = 0;
    const bool is_read = os::for_each_stretch([&](std::uintptr_t begin, std::uintptr_t end, std::size_t huge_bytes) {
        out_of_order += begin < last_end || end <= begin || huge_bytes > end - begin;
        last_end = end;
        for (const void* const address : known) {
            const auto place = reinterpret_cast<std::uintptr_t>(address);
            found += begin <= place && place < end;
        }
    });
    EXPECT_TRUE(is_read);
    EXPECT_EQ(found, 3u);
    EXPECT_EQ(out_of_order, 0u);
}

// For the condition, see uncancelled_test.cpp.
#if !MEMORY_POOL_ASAN && !defined(_LIBCPP_VERSION)
TEST(line_reader, reads_with_a_pending_cancellation)
{
    static bool has_read;
    has_read = false;
    const auto read = [](void*) -> void* {
        (void)::pthread_cancel(::pthread_self());
        has_read = os::platform::find_huge_page_size() == os::huge_page_size();
        ::pthread_testcancel();
        return nullptr;
    };
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, nullptr, read, nullptr), 0);
    void* result = nullptr;
    ASSERT_EQ(::pthread_join(thread, &result), 0);
    EXPECT_TRUE(has_read);
    EXPECT_EQ(result, PTHREAD_CANCELED) << "cancelled afterwards";
}
#endif

TEST(line_reader, reads_numbers_behind_labels)
{
    os::platform::line_reader lines("/proc/self/status");
    ASSERT_TRUE(lines.is_open());
    std::size_t kibibytes = 0;
    std::size_t found = 0;
    while (lines.next())
        found += lines.number_after("VmRSS:", kibibytes);
    EXPECT_EQ(found, 1u);
    EXPECT_GT(kibibytes, 100u);
}

TEST(line_reader, splits_no_long_line)
{
    const std::string name = testing::TempDir() + "memory_pool_long_line.txt";
    std::ofstream(name) << std::string(1000, 'x') << "number: 1\nnumber: 2\n" << std::string(300, 'y');
    os::platform::line_reader lines(name.c_str());
    std::size_t number = 0;
    std::size_t count = 0;
    for (; lines.next(); ++count)
        (void)lines.number_after("number:", number);
    EXPECT_EQ(count, 3u);
    EXPECT_EQ(number, 2u);
    (void)std::remove(name.c_str());
}

TEST(line_reader, is_empty_for_a_missing_file)
{
    os::platform::line_reader lines("/no/such/file");
    EXPECT_FALSE(lines.is_open());
    EXPECT_FALSE(lines.next());
}
#endif
} // namespace
