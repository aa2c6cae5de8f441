// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// When preloaded, simulates a page size of TEST_PAGE_BYTES: sysconf returns it, mappings begin at multiples of it, and
/// calls for a part of such a page fail, as on a system with large pages.
///
/// /proc still reports memory in pages of the real size.
///
/// Thread safety: any thread.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {
template <class Function>
Function* next(const char* name)
{
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::size_t page_bytes()
{
    static const char* const text = std::getenv("TEST_PAGE_BYTES");
    return text != nullptr ? std::strtoul(text, nullptr, 10) : 4096;
}

std::size_t in_whole_pages(std::size_t bytes)
{
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

bool begins_page(const void* address)
{
    return reinterpret_cast<std::uintptr_t>(address) % page_bytes() == 0;
}

int refuse()
{
    errno = EINVAL;
    return -1;
}
} // namespace

extern "C" {
long sysconf(int name) noexcept
{
    static auto* const real = next<long(int)>("sysconf");
    return name == _SC_PAGESIZE ? static_cast<long>(page_bytes()) : real(name);
}

void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept
{
    static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    static auto* const unmap = next<int(void*, std::size_t)>("munmap");
    const bool is_fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
    if (is_fixed && !begins_page(wanted)) {
        (void)refuse();
        return MAP_FAILED;
    }
    if (is_fixed || file != -1)
        return real(wanted, is_fixed ? in_whole_pages(bytes) : bytes, protection, flags, file, offset);
    const std::size_t whole = in_whole_pages(bytes);
    void* const fitting = real(wanted, whole, protection, flags, file, offset);
    if (fitting == MAP_FAILED || begins_page(fitting))
        return fitting;
    (void)unmap(fitting, whole);
    auto* const found = static_cast<std::byte*>(real(wanted, whole + page_bytes(), protection, flags, file, offset));
    if (found == MAP_FAILED)
        return found;
    const std::size_t before = (page_bytes() - reinterpret_cast<std::uintptr_t>(found) % page_bytes()) % page_bytes();
    if (before != 0)
        (void)unmap(found, before);
    if (before != page_bytes())
        (void)unmap(found + before + whole, page_bytes() - before);
    return found + before;
}

int munmap(void* memory, std::size_t bytes) noexcept
{
    static auto* const real = next<int(void*, std::size_t)>("munmap");
    return begins_page(memory) ? real(memory, in_whole_pages(bytes)) : real(memory, bytes); // a mapping of a file
}

int mprotect(void* memory, std::size_t bytes, int protection) noexcept
{
    static auto* const real = next<int(void*, std::size_t, int)>("mprotect");
    return begins_page(memory) ? real(memory, in_whole_pages(bytes), protection) : refuse();
}

int madvise(void* memory, std::size_t bytes, int advice) noexcept
{
    static auto* const real = next<int(void*, std::size_t, int)>("madvise");
    return begins_page(memory) ? real(memory, in_whole_pages(bytes), advice) : refuse();
}

int mincore(void* memory, std::size_t bytes, unsigned char* resident) noexcept
{
    static auto* const real = next<int(void*, std::size_t, unsigned char*)>("mincore");
    constexpr std::size_t small = 4096;
    const std::size_t part = page_bytes() / small;
    if (!begins_page(memory))
        return refuse();
    for (std::size_t done = 0; done < bytes; done += page_bytes()) {
        unsigned char each[16] = {};
        if (part > sizeof each || real(static_cast<std::byte*>(memory) + done, page_bytes(), each) != 0)
            return -1;
        unsigned char any = 0;
        for (std::size_t i = 0; i != part; ++i)
            any |= each[i];
        resident[done / page_bytes()] = any;
    }
    return 0;
}

void* mremap(void* memory, std::size_t old_bytes, std::size_t new_bytes, int flags, ...) noexcept
{
    static auto* const real = next<void*(void*, std::size_t, std::size_t, int, ...)>("mremap");
    va_list arguments;
    va_start(arguments, flags);
    void* const wanted = va_arg(arguments, void*);
    va_end(arguments);
    if (!begins_page(memory) || ((flags & MREMAP_FIXED) != 0 && !begins_page(wanted))) {
        (void)refuse();
        return MAP_FAILED;
    }
    return real(memory, in_whole_pages(old_bytes), in_whole_pages(new_bytes), flags, wanted);
}
}
