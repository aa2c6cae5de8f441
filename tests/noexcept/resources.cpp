// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The resources for std::pmr in a program without exceptions and RTTI. Where they would throw, they call the error
/// handler instead.
#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/check.hpp>
#include <support/expect_error.hpp>

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

namespace mp = memory_pool;
using test::expect_error;

namespace {
template <class Resource>
void works()
{
    Resource resource;
    {
        std::pmr::vector<std::pmr::string> lines(&resource);
        std::vector<int, mp::resource_allocator<int, Resource>> numbers(resource);
        for (std::size_t i = 0; i != 200; ++i) {
            lines.emplace_back(i, 'x');
            numbers.push_back(static_cast<int>(i));
        }
        CHECK(lines[150].size() == 150 && numbers[150] == 150);
        resource.deallocate(resource.allocate(100'000), 100'000);
        CHECK(resource.bytes_in_use() > 0 && resource.verify());
    }
    CHECK(resource.bytes_in_use() == 0);
    resource.trim();
    (void)resource.allocate(40);
    resource.release();
    CHECK(resource.bytes_in_use() == 0 && resource.verify());
}

/// volatile: hides the value from the compiler.
const volatile std::size_t max_size = std::numeric_limits<std::size_t>::max();

/// Tests that a request beyond the address space fails, and that the resource works afterwards.
template <class Resource>
void rejects_unaddressable_size()
{
    static Resource resource; // static: longjmp does not change it
    expect_error(mp::error_kind::size_overflow, "more than a program can address",
                 [] { (void)resource.allocate(max_size); });
    resource.deallocate(resource.allocate(40), 40);
    CHECK(resource.verify());
}
} // namespace

int main()
{
    mp::set_error_handler(&test::leave);
    works<mp::unsynchronized_arena_resource>();
    works<mp::synchronized_arena_resource>();
    works<mp::unsynchronized_pool_resource>();
    works<mp::synchronized_pool_resource>();
    works<mp::basic_unsynchronized_arena_resource<mp::checking_policy>>();
    works<mp::basic_synchronized_arena_resource<mp::checking_policy>>();
    rejects_unaddressable_size<mp::unsynchronized_arena_resource>();
    rejects_unaddressable_size<mp::unsynchronized_pool_resource>();

    static mp::arena_options options;
    options.max_arenas = 1;
    options.name = "frames";
    static mp::unsynchronized_arena_resource bounded(options);
    void* const all = bounded.allocate(bounded.largest_block());
    expect_error(mp::error_kind::pool_exhausted, "'frames' are exhausted: max_arenas allows 1",
                 [] { (void)bounded.allocate(8); });
    bounded.deallocate(all, bounded.largest_block());
    CHECK(bounded.free_arenas() == 1 && bounded.verify());
    options.arena_size = 0;
    expect_error(mp::error_kind::invalid_argument, "arena_size is 0",
                 [] { mp::unsynchronized_arena_resource arenas(options); });
    expect_error(mp::error_kind::invalid_argument, "upstream is nullptr",
                 [] { mp::unsynchronized_pool_resource pools(static_cast<std::pmr::memory_resource*>(nullptr)); });
    static mp::unsynchronized_arena_resource others;
    static void* const theirs = others.allocate(8);
    expect_error(mp::error_kind::foreign_pointer, "pool 'frames'", [] { bounded.deallocate(theirs, 8); });
}
