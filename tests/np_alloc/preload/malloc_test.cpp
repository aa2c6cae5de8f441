// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// malloc, related functions, and the operators new and delete of libnp_malloc.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <malloc.h>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {
constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

/// Hides a number from the compiler, which would warn about its value.
std::size_t unknown(std::size_t number)
{
    const volatile std::size_t result = number;
    return result;
}

TEST(malloc, is_replaced_by_np_malloc)
{
    for (const char* name : {"malloc", "free", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc",
                             "posix_memalign", "valloc", "pvalloc", "malloc_usable_size", "malloc_trim"}) {
        Dl_info where{};
        ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, name), &where), 0) << name;
        EXPECT_NE(std::string(where.dli_fname).find("libnp_malloc"), std::string::npos) << name;
    }
}

TEST(malloc, sets_ENOMEM_for_impossible_sizes)
{
    for (std::size_t bytes : {largest, largest - 1, largest / 2 + 1}) {
        for (void* (*function)(std::size_t) :
             {+[](std::size_t n) { return std::malloc(n); }, +[](std::size_t n) { return std::calloc(n, 1); },
              +[](std::size_t n) { return std::realloc(nullptr, n); }, +[](std::size_t n) { return memalign(64, n); },
              +[](std::size_t n) { return std::aligned_alloc(64, n); }, +[](std::size_t n) { return valloc(n); },
              +[](std::size_t n) { return pvalloc(n); }}) {
            errno = 0;
            EXPECT_EQ(function(bytes), nullptr) << bytes;
            EXPECT_EQ(errno, ENOMEM) << bytes;
        }
    }
}

TEST(valloc, aligns_to_pages_and_pvalloc_returns_whole_pages)
{
    for (std::size_t bytes : {1U, 100U, 4096U, 5000U, 100'000U}) {
        void* const page = valloc(bytes);
        void* const whole = pvalloc(bytes);
        EXPECT_TRUE(is_aligned(page, 4096));
        EXPECT_TRUE(is_aligned(whole, 4096));
        EXPECT_GE(malloc_usable_size(whole), (bytes + 4095) / 4096 * 4096);
        std::free(page);
        std::free(whole);
    }
}

TEST(aligned_alloc, rejects_an_invalid_alignment_and_memalign_rounds_it_up)
{
    errno = 0;
    EXPECT_EQ(std::aligned_alloc(unknown(3), 24), nullptr);
    EXPECT_EQ(errno, EINVAL);
    void* const block = memalign(unknown(24), 24);
    EXPECT_TRUE(is_aligned(block, 32));
    std::free(block);
}

/// Sets a new-handler during its lifetime.
class with_new_handler
{
public:
    explicit with_new_handler(std::new_handler handler) : before_(std::set_new_handler(handler)) {}
    with_new_handler(const with_new_handler&) = delete;
    with_new_handler& operator=(const with_new_handler&) = delete;
    ~with_new_handler() { std::set_new_handler(before_); }

private:
    std::new_handler before_;
};

TEST(operator_new, throws_bad_alloc_for_impossible_sizes)
{
    for (std::size_t bytes : {largest, largest - 1, largest / 2 + 1}) {
        EXPECT_THROW(static_cast<void>(::operator new(unknown(bytes))), std::bad_alloc);
        EXPECT_THROW(static_cast<void>(::operator new[](unknown(bytes))), std::bad_alloc);
        EXPECT_EQ(::operator new(unknown(bytes), std::nothrow), nullptr);
        EXPECT_EQ(::operator new[](unknown(bytes), std::nothrow), nullptr);
    }
    EXPECT_THROW(static_cast<void>(::operator new(unknown(largest / 2 + 1), std::align_val_t{64})), std::bad_alloc);
    EXPECT_EQ(::operator new(unknown(largest / 2 + 1), std::align_val_t{64}, std::nothrow), nullptr);
}

TEST(operator_new, throws_bad_alloc_when_rounding_to_the_alignment_overflows)
{
    for (std::size_t bytes : {largest, largest - 1, largest - 62}) {
        EXPECT_THROW(static_cast<void>(::operator new(unknown(bytes), std::align_val_t{64})), std::bad_alloc);
        EXPECT_EQ(::operator new(unknown(bytes), std::align_val_t{64}, std::nothrow), nullptr);
    }
}

TEST(operator_new, calls_the_new_handler_until_it_throws)
{
    static int calls = 0;
    calls = 0;
    const with_new_handler handler([] {
        if (++calls == 5)
            throw std::bad_alloc();
    });
    EXPECT_THROW(static_cast<void>(::operator new(unknown(largest / 2))), std::bad_alloc);
    EXPECT_EQ(calls, 5);
}

TEST(operator_new, calls_the_new_handler_until_it_uninstalls_itself)
{
    static int calls = 0;
    calls = 0;
    const with_new_handler handler([] {
        ++calls;
        std::set_new_handler(nullptr);
    });
    EXPECT_EQ(::operator new(unknown(largest / 2), std::nothrow), nullptr);
    EXPECT_EQ(calls, 1);
}

TEST(operator_new, lets_the_new_handler_allocate_and_free)
{
    static std::vector<std::unique_ptr<std::string>> reserve;
    for (int i = 0; i != 10; ++i)
        reserve.push_back(std::make_unique<std::string>(10'000, 'x'));
    const with_new_handler handler([] {
        if (reserve.empty())
            throw std::bad_alloc();
        const std::vector<int> needed(100);
        reserve.pop_back();
    });
    EXPECT_THROW(static_cast<void>(::operator new(unknown(largest / 2))), std::bad_alloc);
    EXPECT_TRUE(reserve.empty());
}

TEST(operator_delete, frees_blocks_of_new_in_every_form)
{
    for (std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{5000}, std::size_t{1} << 20}) {
        ::operator delete(::operator new(bytes));
        ::operator delete(::operator new(bytes), bytes);
        ::operator delete[](::operator new[](bytes), bytes);
        ::operator delete(::operator new(bytes, std::nothrow), std::nothrow);
        for (std::size_t alignment : {64U, 4096U}) {
            void* const block = ::operator new(bytes, std::align_val_t{alignment});
            EXPECT_TRUE(is_aligned(block, alignment));
            ::operator delete(block, bytes, std::align_val_t{alignment});
            ::operator delete[](::operator new[](bytes, std::align_val_t{alignment}), std::align_val_t{alignment});
        }
    }
}
} // namespace
