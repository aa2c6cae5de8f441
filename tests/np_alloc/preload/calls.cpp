// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Calls malloc and related functions. Runs with libnp_malloc.so preloaded.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

namespace {
// Not constants, so that no compiler warns of invalid arguments.
const volatile std::size_t largest = std::numeric_limits<std::size_t>::max();
const volatile std::size_t no_power_of_two = 300;

/// Returns: the function of that name, for functions that no header declares.
template <class Function>
Function* function(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

bool is_of_the_library(const char* name)
{
    Dl_info info{};
    return dladdr(dlsym(RTLD_DEFAULT, name), &info) != 0 &&
           std::string(info.dli_fname).find("libnp_malloc.so") != std::string::npos;
}

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

/// Writes to the block and frees it. Returns: whether it is aligned and large enough.
bool works(void* block, std::size_t bytes, std::size_t alignment = 16)
{
    const bool is_right =
        block != nullptr && is_aligned(block, alignment) && (bytes == 0 || malloc_usable_size(block) >= bytes);
    if (is_right)
        std::memset(block, 1, bytes);
    std::free(block);
    return is_right;
}

TEST(preloaded, calls_resolve_to_the_library)
{
    for (const char* name : {"malloc", "free", "cfree", "free_sized", "_Znwm", "_ZdlPvm"})
        EXPECT_TRUE(is_of_the_library(name)) << name;
}

TEST(preloaded, malloc_and_free)
{
    for (const std::size_t bytes : {0U, 1U, 100U, 5000U, 40'000U, 3'000'000U})
        EXPECT_TRUE(works(std::malloc(bytes), bytes)) << bytes;
    std::free(nullptr);
    errno = 0;
    EXPECT_EQ(std::malloc(largest), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(preloaded, calloc)
{
    auto* const zeros = static_cast<char*>(std::calloc(100, 30));
    EXPECT_EQ(std::string(zeros, 3000), std::string(3000, '\0'));
    EXPECT_TRUE(works(zeros, 3000));
    EXPECT_EQ(std::calloc(largest / 2, 4), nullptr);
}

TEST(preloaded, realloc_and_reallocarray)
{
    auto* const small = static_cast<char*>(std::realloc(nullptr, 6));
    std::memcpy(small, "pools", 6);
    auto* const large = static_cast<char*>(std::realloc(small, 100'000));
    EXPECT_STREQ(large, "pools");
    auto* const text = static_cast<char*>(reallocarray(large, 10, 10));
    EXPECT_STREQ(text, "pools");
    EXPECT_TRUE(works(text, 100));
    errno = 0;
    EXPECT_EQ(reallocarray(nullptr, largest / 2, 4), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(preloaded, aligned_allocation)
{
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    EXPECT_TRUE(works(aligned_alloc(512, 1000), 1000, 512));
    EXPECT_TRUE(works(memalign(512, 1000), 1000, 512));
    EXPECT_TRUE(works(memalign(no_power_of_two, 1000), 1000, 512)) << "rounded up to an alignment";
    EXPECT_TRUE(works(valloc(1000), 1000, page));
    EXPECT_TRUE(works(pvalloc(page + 1), 2 * page, page)) << "whole pages";
    EXPECT_EQ(pvalloc(largest), nullptr);
    void* block = nullptr;
    EXPECT_EQ(posix_memalign(&block, 1024, 1000), 0);
    EXPECT_TRUE(works(block, 1000, 1024));
    EXPECT_EQ(posix_memalign(&block, no_power_of_two, 1000), EINVAL);
}

TEST(preloaded, free_with_size_and_cfree)
{
    function<void(void*, std::size_t)>("free_sized")(std::malloc(100), 100);
    function<void(void*, std::size_t, std::size_t)>("free_aligned_sized")(aligned_alloc(64, 128), 64, 128);
    function<void(void*)>("cfree")(std::malloc(100));
}

TEST(preloaded, malloc_trim_returns_memory)
{
    void* const block = std::malloc(50'000'000);
    std::memset(block, 1, 50'000'000);
    std::free(block);
    EXPECT_EQ(malloc_trim(0), 1);
}

TEST(preloaded, blocks_of_the_c_library_can_be_freed)
{
    EXPECT_TRUE(works(strdup("pools"), 6));
    char* path = realpath("/", nullptr);
    EXPECT_STREQ(path, "/");
    std::free(path);
}
} // namespace
