// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// unloading_host LIBRARY: a program with pools, which exports its symbols, loads and closes a library with profiled
/// pools, and forks.
#include <memory_pool/concurrent_block_pool.hpp>
#include <support/check.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** arguments)
{
    CHECK(count == 2);
    memory_pool::concurrent_block_pool mine(64);
    mine.deallocate(mine.allocate());
    for (int round = 0; round != 2; ++round) {
        void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != nullptr);
        auto* const use = reinterpret_cast<void (*)()>(dlsym(library, "use_profiled_pool"));
        CHECK(use != nullptr);
        use();
        CHECK(dlclose(library) == 0);
        CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == nullptr);
        const pid_t child = fork();
        CHECK(child != -1);
        if (child == 0) {
            mine.deallocate(mine.allocate());
            _exit(0);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
}
