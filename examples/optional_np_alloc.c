/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors */
/** \file
 *  A C program that runs with any malloc, and uses features of libnp_malloc.so if it is present: options, a soft limit,
 *  the number of bytes in use, and the return of unused memory. It includes no header of this library, and need not be
 *  linked with it:
 *
 *      cc -rdynamic optional_np_alloc.c && ./a.out
 *      LD_PRELOAD=libnp_malloc.so ./a.out
 *
 *  The option -rdynamic makes the program's symbols visible to a preloaded library. See docs/np_alloc.md, "Without the
 *  headers". */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Options that np_alloc reads when it starts. Environment variables, such as NP_SOFT_LIMIT_BYTES=1G, override them. */
extern const char* np_options;
const char* np_options = "NP_SOFT_LIMIT_BYTES=64M NP_DECAY_MS=200";

/* NULL without np_alloc. */
extern __attribute__((weak)) size_t np_trim(void);
extern __attribute__((weak)) void np_thread_idle(void);
extern __attribute__((weak)) int np_statistics_by_name(const char* name, size_t* value);
extern __attribute__((weak)) void np_set_soft_limit_callback(void (*function)(size_t bytes, void* argument),
                                                             void* argument);

enum
{
    page_count = 110,
    page_bytes = 1 << 20
};

/** Pages that the program could read again. */
static void* cached_pages[page_count];
static size_t cached_count = 0;

/** np_alloc calls this function when the program exceeds its soft limit. */
static void empty_cache(size_t bytes, void* argument)
{
    (void)argument;
    printf("above the soft limit, with %zu MiB: %zu pages are given up\n", bytes >> 20, cached_count);
    while (cached_count != 0)
        free(cached_pages[--cached_count]);
}

static void print_bytes_in_use(const char* when)
{
    size_t bytes = 0;
    if (np_statistics_by_name != NULL && np_statistics_by_name("bytes_in_use", &bytes) == 0)
        printf("%s: %zu MiB in use\n", when, bytes >> 20);
}

int main(void)
{
    if (np_set_soft_limit_callback != NULL)
        np_set_soft_limit_callback(&empty_cache, NULL);
    else
        printf("this malloc has no soft limit\n");
    for (int i = 0; i != page_count; ++i) {
        void* const page = malloc(page_bytes);
        if (page == NULL)
            return EXIT_FAILURE;
        memset(page, i, page_bytes);
        cached_pages[cached_count++] = page;
    }
    print_bytes_in_use("all pages were read");
    while (cached_count != 0)
        free(cached_pages[--cached_count]);
    print_bytes_in_use("at the end");
    if (np_thread_idle != NULL)
        np_thread_idle(); /* Before this thread waits for something. */
    if (np_trim != NULL)
        (void)np_trim();
    return EXIT_SUCCESS;
}
