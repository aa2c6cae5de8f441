// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program of two units with different configurations: see pools.cpp. This unit uses no pools.
#include <cstdio>

extern "C" int plain();
extern "C" int other();
extern "C" int requests_to_memcheck;
int requests_to_memcheck = 0;

int main()
{
    if (const int line = plain()) {
        std::fprintf(stderr, "pools.cpp:%d, in the unit of the default configuration\n", line);
        return 1;
    }
    if (const int line = other()) {
        std::fprintf(stderr, "pools.cpp:%d, in the unit of the other configuration\n", line);
        return 1;
    }
    return 0;
}
