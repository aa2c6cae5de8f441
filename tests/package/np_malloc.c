/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    void* const block = malloc(100);
    Dl_info info;
    if (block == NULL || dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) == 0)
        return 1;
    free(block);
    return strstr(info.dli_fname, "libnp_malloc") != NULL ? 0 : 1;
}
