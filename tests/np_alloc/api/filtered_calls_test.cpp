// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc under a seccomp filter like those of browsers and containers. The filter kills the process at system calls
// that no other malloc makes.
#if defined(__linux__)
#include <memory_pool/np_alloc.h>

#include <support/child.hpp>
#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if TESTS_MAY_FORK && defined(SECCOMP_RET_KILL_PROCESS) && defined(SYS_clock_gettime)
namespace {
constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Makes the kernel kill this process at the system calls mincore and clock_gettime. Returns: whether this succeeded.
bool filter_calls()
{
    std::array<sock_filter, 5> program{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{program.size(), program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Runs `action` in a child process under the filter. Returns: whether the child succeeded.
template <class Action>
bool survives(Action&& action)
{
    const pid_t child = fork();
    if (child == 0) {
        const bool is_done = filter_calls() && action();
        _exit(is_done ? 0 : 1);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool fill_and_free(std::size_t bytes)
{
    void* const block = np_alloc(bytes);
    if (block == nullptr)
        return false;
    std::memset(block, 1, bytes);
    np_free(block);
    return true;
}

/// Uses a growing block, a zeroed block, many small blocks, and blocks of one size, some of which may get huge pages.
bool use_large_blocks()
{
    for (int i = 0; i != 20; ++i)
        if (!fill_and_free(6 * mebibyte))
            return false;
    void* grown = nullptr;
    for (std::size_t bytes = mebibyte; bytes <= 64 * mebibyte; bytes *= 2) {
        grown = np_realloc(grown, bytes);
        if (grown == nullptr)
            return false;
        std::memset(grown, 1, bytes);
    }
    np_free(grown);
    void* const cleared = np_calloc(1, 20 * mebibyte);
    std::array<void*, 1000> small{};
    for (void*& each : small)
        each = np_alloc(30'000);
    for (void* const each : small)
        np_free(each);
    np_free(cleared);
    return np_trim() != 0 && fill_and_free(100);
}

TEST(np_alloc_under_seccomp, serves_large_blocks)
{
    const auto read_clock = [] {
        timespec now{};
        return clock_gettime(CLOCK_MONOTONIC, &now) == 0;
    };
    if (test::under_a_sanitizer || !survives(read_clock))
        GTEST_SKIP() << "no seccomp filter is available, or reading the clock is a system call";
    EXPECT_FALSE(survives([] { return syscall(SYS_mincore, nullptr, 0, nullptr) != 1; }))
        << "the filter must kill the child";
    EXPECT_TRUE(survives(use_large_blocks));
}
} // namespace
#endif
#endif
