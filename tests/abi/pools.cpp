// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// One unit of a program whose units have different configurations. UNIT names its function, which returns 0 if pools
/// behave as in a program with only this configuration, or else the line of the failed check.
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>

extern "C" int UNIT();
extern "C" int requests_to_memcheck;                                                   // in mixed_program.cpp
extern "C" int __asan_address_is_poisoned(const volatile void*) __attribute__((weak)); // NOLINT: in AddressSanitizer

namespace {
memory_pool::pool_options bounded_to_one_block()
{
    memory_pool::pool_options options;
    options.max_capacity = 1;
    return options;
}

bool is_poisoned(const void* block)
{
    return __asan_address_is_poisoned != nullptr && __asan_address_is_poisoned(block) != 0;
}

template <class Pool>
int tells_tools_about_free_blocks()
{
    const int requests_before = requests_to_memcheck;
    Pool pool(64);
    auto* const block = static_cast<char*>(pool.allocate());
    if (is_poisoned(block))
        return __LINE__;
    block[0] = 1;
    pool.deallocate(block);
    if (is_poisoned(block) != (MEMORY_POOL_ASAN != 0))
        return __LINE__;
    if ((requests_to_memcheck != requests_before) != (MEMORY_POOL_VALGRIND != 0))
        return __LINE__;
    return 0;
}

#if MEMORY_POOL_EXCEPTIONS
class upstream_without_memory : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t, std::size_t) override { throw std::bad_alloc(); }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

template <class Pool>
int fails_with_exceptions()
{
    upstream_without_memory upstream;
    Pool without_memory(64, {}, &upstream);
    if (without_memory.try_allocate() != nullptr) // catches the exception of upstream
        return __LINE__;
    Pool pool(64, bounded_to_one_block());
    void* const block = pool.allocate();
    try {
        (void)pool.allocate();
        return __LINE__;
    } catch (const memory_pool::pool_exhausted&) {
        pool.deallocate(block);
    }
    return 0;
}
#else
template <class Pool>
int fails_with_a_report()
{
    memory_pool::set_error_handler([](const memory_pool::error_report& report) {
        std::_Exit(report.kind == memory_pool::error_kind::pool_exhausted ? EXIT_SUCCESS : __LINE__ % 256);
    });
    Pool pool(64, bounded_to_one_block());
    (void)pool.allocate();
    (void)pool.allocate();
    return __LINE__;
}
#endif

} // namespace

int UNIT()
{
    int line = tells_tools_about_free_blocks<memory_pool::block_pool>();
    if (line == 0)
        line = tells_tools_about_free_blocks<memory_pool::concurrent_block_pool>();
#if MEMORY_POOL_EXCEPTIONS
    if (line == 0)
        line = fails_with_exceptions<memory_pool::block_pool>();
    return line != 0 ? line : fails_with_exceptions<memory_pool::concurrent_block_pool>();
#else
    return line != 0 ? line : fails_with_a_report<memory_pool::concurrent_block_pool>(); // ends the program
#endif
}
