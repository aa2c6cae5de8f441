// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Limits the memory of the process, on systems that can.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sys/resource.h>
#define TESTS_MAY_LIMIT_MEMORY 1
#else
#define TESTS_MAY_LIMIT_MEMORY 0
#endif

#if TESTS_MAY_LIMIT_MEMORY
namespace test {
/// For its lifetime, limits the bytes that the process can get from the OS in addition to its current memory.
class memory_limit
{
public:
    explicit memory_limit(std::size_t more_bytes)
    {
        EXPECT_EQ(getrlimit(RLIMIT_DATA, &before_), 0);
        rlimit now = before_;
        now.rlim_cur = kilobytes_of_data() * 1024 + more_bytes;
        EXPECT_EQ(setrlimit(RLIMIT_DATA, &now), 0);
    }
    memory_limit(const memory_limit&) = delete;
    memory_limit& operator=(const memory_limit&) = delete;
    ~memory_limit() { (void)setrlimit(RLIMIT_DATA, &before_); }

private:
    static rlim_t kilobytes_of_data()
    {
        // Reading must not allocate: memory allocated and freed here would stay available despite the limit.
        char buffer[4096];
        std::ifstream status;
        status.rdbuf()->pubsetbuf(buffer, sizeof buffer);
        status.open("/proc/self/status");
        for (std::string word; status >> word;)
            if (word == "VmData:") {
                rlim_t kilobytes = 0;
                status >> kilobytes;
                return kilobytes;
            }
        ADD_FAILURE() << "the system does not report the memory of the process";
        return 0;
    }

    rlimit before_{};
};
} // namespace test
#endif
