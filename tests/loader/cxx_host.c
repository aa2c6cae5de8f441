/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 *
 * A program in C that loads a module in C++ while it runs:   cxx_host MODULE
 * To be run with libnp_malloc.so loaded before the C library, whose operator new the module calls.
 */
#include <dlfcn.h>
#include <stdio.h>

static int fail(const char* why)
{
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(int count, char** arguments)
{
    if (count != 2)
        return fail("which module?");
    if (dlsym(RTLD_DEFAULT, "_Znwm") == NULL)
        return fail("no operator new before the module is loaded: the library is not preloaded");
    if (dlsym(RTLD_DEFAULT, "__cxa_throw") != NULL)
        return fail("a C++ library is loaded before the module");
    void* const module = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return fail(dlerror());
    const char* (*wrong_form)(void) = NULL;
    *(void**)&wrong_form = dlsym(module, "wrong_form");
    const char* const wrong = wrong_form();
    return wrong == NULL ? 0 : fail(wrong);
}
