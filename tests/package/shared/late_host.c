/* SPDX-License-Identifier: MIT
 * late_host LIBRARY: loads and closes a library that depends on libnp_alloc.so, and uses it in several threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void* (*plugin_allocate)(size_t bytes);
static void (*plugin_free)(void* block);

static void* use(void* argument)
{
    for (size_t bytes = 1; bytes < 100000; bytes += 97) {
        void* const block = plugin_allocate(bytes);
        if (block == NULL)
            return NULL;
        memset(block, 1, bytes);
        plugin_free(block);
    }
    return argument;
}

int main(int count, char** arguments)
{
    int is_right = count == 2;
    for (int round = 0; round != 3 && is_right; ++round) {
        void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        *(void**)&plugin_allocate = dlsym(library, "plugin_allocate");
        *(void**)&plugin_free = dlsym(library, "plugin_free");
        pthread_t threads[3];
        for (int i = 0; i != 3; ++i)
            if (pthread_create(&threads[i], NULL, &use, arguments) != 0)
                return 1;
        for (int i = 0; i != 3; ++i) {
            void* result = NULL;
            is_right = pthread_join(threads[i], &result) == 0 && result == arguments && is_right;
        }
        is_right = use(arguments) == arguments && dlclose(library) == 0 && is_right;
    }
    return is_right ? 0 : 1;
}
