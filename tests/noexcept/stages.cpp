// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Adaptors and pages in a program without exceptions and RTTI. Where they would throw, they call the error handler
/// instead.
#include <memory_pool/page_resource.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <support/check.hpp>
#include <support/expect_error.hpp>

#include <cstddef>
#include <memory_resource>
#include <string>
#include <vector>

namespace mp = memory_pool;
using test::expect_error;

int main()
{
    mp::set_error_handler(&test::leave);
    {
        mp::page_resource pages;
        mp::synchronized_resource synchronized(&pages);
        mp::limit_resource limited(100'000, &synchronized);
        mp::failing_resource failing(mp::failure_chance{}, &limited);
        mp::tracking_resource tracked(&failing);
        std::pmr::vector<std::pmr::string> texts(tracked.for_site());
        for (int i = 0; i != 100; ++i)
            texts.emplace_back("a text that is too long to fit into the object itself");
        CHECK(tracked.bytes_in_use() == limited.bytes_in_use() && tracked.bytes_in_use() > 5'000);
        CHECK(pages.bytes_in_use() > tracked.bytes_in_use());
        std::size_t bytes_of_site = 0;
        tracked.for_each_site(
            [&](const mp::call_site&, const mp::resource_statistics& site) { bytes_of_site += site.bytes_in_use; });
        CHECK(bytes_of_site == tracked.bytes_in_use());
    }
    // static: longjmp does not change them
    static mp::limit_resource limited(100);
    expect_error(mp::error_kind::limit_exceeded, "101 more bytes would exceed its limit of 100 bytes; 0 are in use",
                 [] { (void)limited.allocate(101); });
    CHECK(limited.bytes_in_use() == 0);
    static mp::failing_resource failing(2);
    failing.deallocate(failing.allocate(8), 8);
    expect_error(mp::error_kind::out_of_memory, "allocation 2, of 8 bytes", [] { (void)failing.allocate(8); });
    static mp::page_resource pages;
    expect_error(mp::error_kind::out_of_memory, "the OS cannot map",
                 [] { (void)pages.allocate(static_cast<std::size_t>(-1) / 2); });
    CHECK(pages.bytes_in_use() == 0);
    expect_error(mp::error_kind::invalid_argument, "nullptr", [] { mp::tracking_resource nowhere(nullptr); });
}
