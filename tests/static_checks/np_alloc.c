/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Programs that leak blocks or write past their end, so that compilers must warn: one for each value of REFUSED,
 * and valid code for 0. Also compiled as C++. The expected messages are in static_checks.cmake. */
#include <memory_pool/np_alloc.h>

#include <string.h>

int main(void)
{
    char* block = (char*)np_alloc(10);
    np_free(block);
#if REFUSED == 1
    np_alloc(10);
#elif REFUSED == 2
    np_realloc(NULL, 10);
#elif REFUSED == 3
    np_calloc(10, 10);
#elif REFUSED == 4
    np_heap_create();
#elif REFUSED == 5
    block = (char*)np_alloc(10);
    memset(block, 1, 11);
    np_free(block);
#elif REFUSED == 6
    block = (char*)np_calloc(5, 2);
    memset(block, 1, 11);
    np_free(block);
#endif
    return 0;
}
