/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
#include <memory_pool/np_alloc.h>

#include <stdint.h>
#include <string.h>

int main(void)
{
    char* text = np_alloc(6);
    if (text == NULL || np_usable_size(text) < 6)
        return 1;
    memcpy(text, "pools", 6);
    text = np_realloc(text, 100000);
    if (text == NULL || strcmp(text, "pools") != 0)
        return 1;
    np_free_sized(text, 100000);

    void* const aligned = np_aligned_alloc(4096, 100);
    if ((uintptr_t)aligned % 4096 != 0)
        return 1;
    np_free(aligned);
    return 0;
}
