// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc_beyond_4_gib: blocks so large that an offset needs more than 32 bits. Needs 16 GiB of free memory.
#include <memory_pool/np_alloc.h>

#include "support/check.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace {
constexpr std::size_t gibibyte = std::size_t{1} << 30;
constexpr std::size_t step = std::size_t{1} << 20;

/// Calls `visit(place, number)` for places all over the block and for its last bytes.
template <class Visit>
void for_each_place(unsigned char* block, std::size_t bytes, Visit&& visit)
{
    for (std::size_t offset = 0; offset + sizeof offset <= bytes; offset += step)
        visit(block + offset, offset + 1);
    visit(block + bytes - sizeof bytes, bytes);
}

void number(unsigned char* block, std::size_t bytes)
{
    for_each_place(block, bytes,
                   [](unsigned char* place, std::size_t number) { std::memcpy(place, &number, sizeof number); });
}

void is_numbered(unsigned char* block, std::size_t bytes, std::size_t first_bytes)
{
    for_each_place(block, first_bytes, [&](const unsigned char* place, std::size_t number) {
        std::size_t found = 0;
        std::memcpy(&found, place, sizeof found);
        CHECK(found == number || (first_bytes < bytes && number == first_bytes));
    });
}
} // namespace

int main()
{
    const auto available =
        static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (test::under_a_sanitizer || available < 16 * gibibyte) {
        std::puts("skipped: not enough memory");
        return 0;
    }
    auto* zeros = static_cast<unsigned char*>(np_calloc(5, gibibyte));
    CHECK(zeros != nullptr);
    for_each_place(zeros, 5 * gibibyte, [](const unsigned char* place, std::size_t) { CHECK(*place == 0); });
    np_free(zeros);
    std::size_t bytes = 4096;
    auto* block = static_cast<unsigned char*>(np_alloc(bytes));
    number(block, bytes);
    for (std::size_t next : {gibibyte, 3 * gibibyte, 4 * gibibyte, 4 * gibibyte + 1, 5 * gibibyte + 100, 6 * gibibyte,
                             4 * gibibyte - 1, 2 * gibibyte, step}) {
        block = static_cast<unsigned char*>(np_realloc(block, next));
        CHECK(block != nullptr);
        CHECK(np_usable_size(block) >= next);
        is_numbered(block, bytes, std::min(bytes, next));
        bytes = next;
        number(block, bytes);
    }
    // Two neighbouring blocks, each freed by its first address.
    auto* const other = static_cast<unsigned char*>(np_aligned_alloc(gibibyte, 5 * gibibyte));
    CHECK(other != nullptr && reinterpret_cast<std::uintptr_t>(other) % gibibyte == 0);
    number(other, 5 * gibibyte);
    is_numbered(block, bytes, bytes);
    np_free(other);
    is_numbered(block, bytes, bytes);
    np_free(block);
    std::puts("all numbers are intact");
}
