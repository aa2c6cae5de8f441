// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The attributes by which compilers know the size of a block: see __builtin_object_size.
#include <memory_pool/np_alloc.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

// Compilers know the size only in optimized code.
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define TESTS_KNOW_BYTES 1
#else
#define TESTS_KNOW_BYTES 0
#endif

namespace {
#if TESTS_KNOW_BYTES
#define EXPECT_BYTES(bytes, allocation)                                                                                \
    do {                                                                                                               \
        void* const known = allocation;                                                                                \
        EXPECT_EQ(__builtin_object_size(known, 0), std::size_t{bytes});                                                \
        np_free(known);                                                                                                \
    } while (false)

TEST(np_attributes, tell_compilers_the_size_of_a_block)
{
    np_heap* const heap = np_heap_create();
    EXPECT_BYTES(100, np_alloc(100));
    EXPECT_BYTES(101, np_alloc_at(101, "a.c", 1));
    EXPECT_BYTES(102, np_calloc(51, 2));
    EXPECT_BYTES(103, np_realloc(nullptr, 103));
    EXPECT_BYTES(104, np_reallocarray(nullptr, 52, 2));
    EXPECT_BYTES(105, np_aligned_alloc(32, 105));
    EXPECT_BYTES(106, np_heap_alloc(heap, 106));
    EXPECT_BYTES(108, np_heap_calloc(heap, 54, 2));
    void* const block = np_alloc(10);
    EXPECT_BYTES(16, np_expand(block, 16));
    EXPECT_BYTES(110, np_zalloc(110));
    EXPECT_BYTES(112, np_aligned_calloc(32, 56, 2));
    EXPECT_BYTES(113, np_aligned_realloc(nullptr, 32, 113));
    EXPECT_BYTES(114, np_heap_zalloc(heap, 114));
    EXPECT_BYTES(116, np_heap_reallocarray(heap, nullptr, 58, 2));
    EXPECT_BYTES(117, np_heap_aligned_alloc(heap, 32, 117));
    EXPECT_BYTES(118, np_heap_aligned_calloc(heap, 32, 59, 2));
    EXPECT_BYTES(119, np_heap_aligned_realloc(heap, nullptr, 32, 119));
    EXPECT_BYTES(109, np_heap_realloc(heap, nullptr, 109));
    np_heap_destroy(heap);
}
#endif
} // namespace
