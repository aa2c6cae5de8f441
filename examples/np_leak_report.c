/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors */
/** \file
 *  A C program that finds its leaks by call site: a function that leaks if a message is malformed, and a test that
 *  detects the leak. With NP_LEAKS=1 in the environment, np_alloc also reports the leak when the process ends; with
 *  NP_LEAKS_EXIT=99, the exit status is then 99. See docs/tasks/leaks.md. */
#include <memory_pool/np_alloc.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** Allocates a block, and records this line as the call site. */
#define NEW_BLOCK(bytes) np_alloc_at((bytes), __FILE__, __LINE__)

/** Returns: the value of a message of the form "name=value", to be freed by the caller; NULL if it is malformed. */
static char* value_of(const char* message)
{
    const size_t bytes = strlen(message) + 1;
    char* const copy = (char*)NEW_BLOCK(bytes);
    if (copy == NULL)
        return NULL;
    memcpy(copy, message, bytes);
    const char* const equals = strchr(copy, '=');
    if (equals == NULL)
        return NULL; /* The bug: the copy is not freed. */
    memmove(copy, equals + 1, strlen(equals + 1) + 1);
    return copy;
}

/** Receives a report in pieces, so that np_alloc needs no memory for it. */
static void to_file(const char* text, size_t length, void* file)
{
    (void)fwrite(text, 1, length, (FILE*)file);
}

/** Lists the blocks that reading a message leaves in use. Returns their number. */
static size_t leaks_of(const char* message)
{
    const uint64_t before = np_leak_checkpoint(); /* Earlier blocks do not count, so any code can be tested this way. */
    np_free(value_of(message));
    const size_t leaks = np_leak_diff(before, np_format_text, to_file, stdout);
    printf("\"%s\" leaks %zu\n", message, leaks);
    return leaks;
}

int main(void)
{
    const size_t well_formed = leaks_of("colour=green");
    const size_t wrong = leaks_of("green");
    printf("all that is in use at the end:\n");
    const size_t all = np_leak_report(np_format_text, to_file, stdout);
    if (well_formed == 0 && wrong == 1 && all == 1)
        return 0;
    fprintf(stderr, "np_leak_report: the leak was not found\n");
    return 1;
}
