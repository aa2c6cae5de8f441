// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// measure FILE LIBRARY COMMAND [ARGUMENT...]: runs the command, with the library loaded before all others if that is not
// empty, and writes to the file how it went, in one line:
//
//     <wait status> <seconds> <seconds of the processor> <peak memory in kilobytes>
//
// race.py could do that by itself, but for the memory: Linux counts as a process's own what it had before it became another
// program, which is a copy of the process that started it. This one is small.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{
double seconds(const timeval& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Effects: makes this process the command.
[[noreturn]] void become(const char* library, char** command)
{
    if (*library != '\0')
        ::setenv("LD_PRELOAD", library, 1); // NOLINT(concurrency-mt-unsafe): one thread
    else
        ::unsetenv("LD_PRELOAD"); // NOLINT(concurrency-mt-unsafe): one thread
    ::execvp(command[0], command);
    std::fprintf(stderr, "%s: %s\n", command[0], std::strerror(errno)); // NOLINT(concurrency-mt-unsafe): one thread
    ::_exit(127);
}
} // namespace

int main(int argc, char** argv)
{
    if (argc < 4) {
        std::fputs("measure FILE LIBRARY COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0)
        become(argv[2], argv + 3);
    int status = 0;
    rusage usage{};
    if (child == -1 || ::wait4(child, &status, 0, &usage) != child) {
        std::perror("measure");
        return 2;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::FILE* const report = std::fopen(argv[1], "w");
    if (report == nullptr) {
        std::perror(argv[1]);
        return 2;
    }
    std::fprintf(report, "%d %.6f %.6f %ld\n", status, elapsed.count(),
                 seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    return std::fclose(report) == 0 ? 0 : 2;
}
