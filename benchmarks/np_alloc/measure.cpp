// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// measure FILE MEBIBYTES LIBRARY COMMAND [ARGUMENT...]: runs the command, with LIBRARY preloaded unless it is empty,
// and writes the result to FILE, in one line:
//
//     <wait status> <wall seconds> <CPU seconds> <peak memory in kilobytes>
//
// First, it touches MEBIBYTES of memory, and releases this memory. A virtual machine may return free memory to its
// host, and then takes milliseconds to get a huge page back. Without this step, a command after a long command would
// lose that time.
//
// race.py cannot measure peak memory itself: Linux includes the memory of the process before exec, which is a copy of
// its parent. This program is small.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
double seconds(const timeval& time)
{
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// Effects: makes the system back `bytes` of memory, with huge pages if available, and frees the memory again.
/// Returns: false if out of memory.
bool warm(std::size_t bytes)
{
    constexpr std::size_t page = 4096;
    if (bytes == 0)
        return true;
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    (void)::madvise(memory, bytes, MADV_HUGEPAGE); // Fails harmlessly on a system without huge pages.
    for (std::size_t offset = 0; offset < bytes; offset += page)
        static_cast<volatile char*>(memory)[offset] = 1;
    return ::munmap(memory, bytes) == 0;
}

/// Effects: replaces this process by the command.
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
    char* end = nullptr;
    const std::size_t mebibytes = argc < 5 ? 0 : std::strtoul(argv[2], &end, 10);
    if (end == nullptr || *end != '\0') {
        std::fputs("measure FILE MEBIBYTES LIBRARY COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (!warm(mebibytes << 20)) {
        std::perror("measure: touching memory");
        return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0)
        become(argv[3], argv + 4);
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
