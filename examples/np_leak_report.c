/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors */
/** \file
 *  A program in C that finds its leaks by the line that has allocated them: a function that leaks if a message is
 *  malformed, and how a test can check it. With NP_LEAKS=1 in the environment, the same is reported when the process
 *  ends; with NP_LEAKS_EXIT=99, its status is then 99. See docs/tasks/leaks.md. */
#include <memory_pool/np_alloc.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/** A block that remembers this line. */
#define NEW_BLOCK(bytes) np_alloc_at((bytes), __FILE__, __LINE__)

/** Returns: the value of a message of the form "name=value", for the caller to free; NULL if it has another form. */
static char* value_of(const char* message)
{
    const size_t bytes = strlen(message) + 1;
    char* const copy = (char*)NEW_BLOCK(bytes);
    if (copy == NULL)
        return NULL;
    memcpy(copy, message, bytes);
    const char* const equals = strchr(copy, '=');
    if (equals == NULL)
        return NULL; /* The bug: the copy is forgotten. */
    memmove(copy, equals + 1, strlen(equals + 1) + 1);
    return copy;
}

/** A report is written in pieces, so that it needs no memory. */
static void to_file(const char* text, size_t length, void* file)
{
    (void)fwrite(text, 1, length, (FILE*)file);
}

/** Returns: how many blocks reading a message leaves in use. They are listed. */
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
    fprintf(stderr, "np_leak_report: the leak is not found as it should be\n");
    return 1;
}
