// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Misuses malloc or operator new as its argument says, and continues if the misuse is not detected.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace {
/// Volatile, to hide the misuse from the optimizer.
char* volatile block;

constexpr std::align_val_t alignment{64};

/// Frees a block with a function that does not match its allocation.
void mismatch(const char* how, std::size_t bytes)
{
    if (std::strcmp(how, "malloc, delete") == 0) {
        block = static_cast<char*>(std::malloc(bytes));
        ::operator delete(block);
    } else if (std::strcmp(how, "new, free") == 0) {
        block = static_cast<char*>(::operator new(bytes));
        std::free(block);
    } else if (std::strcmp(how, "new, realloc") == 0) {
        block = static_cast<char*>(::operator new(bytes));
        block = static_cast<char*>(std::realloc(block, 2 * bytes));
    } else if (std::strcmp(how, "nothrow new[], delete") == 0) {
        block = static_cast<char*>(::operator new[](bytes, std::nothrow));
        ::operator delete(block);
    } else if (std::strcmp(how, "new, sized delete[]") == 0) {
        block = static_cast<char*>(::operator new(bytes));
        ::operator delete[](block, bytes);
    } else if (std::strcmp(how, "aligned new, delete") == 0) {
        block = static_cast<char*>(::operator new(bytes, alignment));
        ::operator delete(block);
    } else if (std::strcmp(how, "new[], aligned delete[]") == 0) {
        block = static_cast<char*>(::operator new[](bytes));
        ::operator delete[](block, alignment);
    }
}

/// Calls all matching pairs of functions, some through the C and C++ libraries.
void match(std::size_t bytes)
{
    constexpr std::align_val_t less{8};
    ::operator delete(::operator new(bytes, std::nothrow));
    ::operator delete(::operator new(bytes), std::nothrow);
    ::operator delete(::operator new(bytes), bytes);
    ::operator delete[](::operator new[](bytes, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](bytes), bytes);
    for (const std::align_val_t each : {less, alignment}) {
        ::operator delete(::operator new(bytes, each), each);
        ::operator delete(::operator new(bytes, each, std::nothrow), bytes, each);
        ::operator delete(::operator new(bytes, each), each, std::nothrow);
        ::operator delete[](::operator new[](bytes, each), each);
        ::operator delete[](::operator new[](bytes, each, std::nothrow), bytes, each);
        ::operator delete[](::operator new[](bytes, each), each, std::nothrow);
    }
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 64, bytes) == 0)
        std::free(aligned);
    std::free(std::aligned_alloc(64, bytes));
    std::free(std::realloc(std::aligned_alloc(64, bytes), bytes + 1));
    std::free(memalign(8, bytes));
    std::free(valloc(bytes));
    std::free(std::realloc(std::calloc(1, bytes), bytes + 1));
    std::free(strdup("text"));
    std::unique_ptr<char[]> array(new char[bytes]);
    std::vector<std::string> texts(64, std::string(bytes, 'a'));
    std::ostringstream stream;
    stream << texts.size();
    try {
        throw std::runtime_error(stream.str());
    } catch (const std::runtime_error&) {
        std::pmr::vector<int> numbers(bytes, std::pmr::new_delete_resource());
    }
}

/// Exhausts memory until the new-handler raises the limit, so that the C++ library can allocate the block.
void match_when_out_of_memory()
{
    static rlimit before;
    getrlimit(RLIMIT_DATA, &before);
    const rlimit little{std::size_t{8} << 20, before.rlim_max};
    std::set_new_handler([] { setrlimit(RLIMIT_DATA, &before); });
    constexpr std::size_t bytes = std::size_t{64} << 20;
    setrlimit(RLIMIT_DATA, &little);
    ::operator delete(::operator new(bytes));
    setrlimit(RLIMIT_DATA, &little);
    ::operator delete[](::operator new[](bytes));
    setrlimit(RLIMIT_DATA, &little);
    ::operator delete[](::operator new[](bytes, std::nothrow));
    setrlimit(RLIMIT_DATA, &little);
    ::operator delete(::operator new(bytes, alignment), alignment);
    setrlimit(RLIMIT_DATA, &little);
    ::operator delete[](::operator new[](bytes, alignment, std::nothrow), alignment);
    rlimit now{};
    getrlimit(RLIMIT_DATA, &now);
    if (now.rlim_cur == little.rlim_cur)
        std::puts("there was memory");
}

/// Prints the contents of a freed block and of a new block.
void show_contents()
{
    block = static_cast<char*>(std::memset(std::malloc(1000), 'a', 1000));
    std::free(block);
    std::printf("freed: %d, ", block[500]);
    bool is_zero = true;
    for (int i = 0; i != 1000; ++i) {
        block = static_cast<char*>(std::malloc(1000));
        is_zero = is_zero && block[0] == 0 && block[999] == 0 && std::memcmp(block, block + 1, 999) == 0;
        std::memset(block, 'a', 1000);
        std::free(block);
    }
    std::puts(is_zero ? "new: zero" : "new: something");
}

void misuse(const char* how)
{
    if (std::strchr(how, ',') != nullptr) {
        mismatch(how, 100);
    } else if (std::strcmp(how, "pairs") == 0) {
        for (const std::size_t bytes : {1U, 100U, 1000U, 20'000U, 200'000U})
            match(bytes);
    } else if (std::strcmp(how, "pairs when out of memory") == 0) {
        match_when_out_of_memory();
    } else if (std::strcmp(how, "contents") == 0) {
        show_contents();
    } else if (std::strcmp(how, "old pointer of realloc") == 0) {
        block = static_cast<char*>(std::malloc(1000));
        char* volatile const moved = static_cast<char*>(std::realloc(block, 1000));
        std::free(block);
        std::puts(moved == block ? "stays" : "moves");
    } else if (std::strcmp(how, "size") == 0) {
        block = static_cast<char*>(::operator new(100));
        ::operator delete(block, 60);
    } else if (std::strcmp(how, "array size") == 0) {
        block = static_cast<char*>(::operator new[](100));
        ::operator delete[](block, 60);
    } else if (std::strcmp(how, "aligned size") == 0) {
        block = static_cast<char*>(::operator new(100, alignment));
        ::operator delete(block, 60, alignment);
    } else if (std::strcmp(how, "aligned array size") == 0) {
        block = static_cast<char*>(::operator new[](100, alignment));
        ::operator delete[](block, 60, alignment);
    } else if (std::strcmp(how, "right size") == 0) {
        block = static_cast<char*>(::operator new(100));
        ::operator delete(block, 100);
        block = static_cast<char*>(::operator new[](100));
        ::operator delete[](block, 100);
        block = static_cast<char*>(::operator new(100, alignment));
        ::operator delete(block, 100, alignment);
        block = static_cast<char*>(::operator new[](100, alignment));
        ::operator delete[](block, 100, alignment);
    } else if (std::strcmp(how, "stack") == 0) {
        alignas(64) char local[64] = {};
        block = local;
        std::free(block);
    } else if (std::strcmp(how, "static") == 0) {
        alignas(64) static char kept[64];
        block = kept;
        std::free(block);
    } else if (std::strcmp(how, "mapped") == 0) {
        block = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::free(block);
    } else if (std::strcmp(how, "twice") == 0) {
        block = static_cast<char*>(std::malloc(300'000));
        std::free(block);
        std::free(block);
    } else if (std::strcmp(how, "small twice") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::free(block);
        std::free(block);
    } else if (std::strcmp(how, "overflow") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::strcpy(block, "a text of 24 characters."); // NOLINT: overflows by the terminating zero
        std::free(block);
    } else if (std::strcmp(how, "after") == 0) {
        block = static_cast<char*>(std::malloc(24));
        std::free(block);
        block[0] = 0;
        for (int i = 0; i != 100'000; ++i)
            std::free(std::malloc(24));
    }
}
} // namespace

int main(int, char** arguments)
{
    misuse(arguments[1]);
    std::puts("goes on");
}
