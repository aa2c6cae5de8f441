// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// unloading_host LIBRARY: a program that exports its symbols, uses pools, loads and closes a library with profiled
/// pools, and forks.
#include <memory_pool/concurrent_block_pool.hpp>
#include <support/check.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace {
void load_use_and_close(const char* path)
{
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    auto* const use = reinterpret_cast<void (*)()>(dlsym(library, "use_profiled_pool"));
    CHECK(use != nullptr);
    use();
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr);
}

/// Returns: the exit status of a child process that runs the action.
template <class Action>
int status_of_child(Action&& action)
{
    const pid_t child = fork();
    CHECK(child != -1);
    if (child == 0) {
        action();
        std::exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 2);
    memory_pool::concurrent_block_pool mine(64);
    mine.deallocate(mine.allocate());
    for (int round = 0; round != 2; ++round) {
        load_use_and_close(arguments[1]);
        CHECK(status_of_child([&] { mine.deallocate(mine.allocate()); }) == 0);
    }
    // The pool in the library has a leak.
    CHECK(setenv("NP_LEAKS_EXIT", "7", 1) == 0);
    CHECK(status_of_child([&] { load_use_and_close(arguments[1]); }) == 7);
    const auto go_on = [&] {
        load_use_and_close(arguments[1]);
        _exit(5);
    };
    CHECK(status_of_child(go_on) == 5);
}
