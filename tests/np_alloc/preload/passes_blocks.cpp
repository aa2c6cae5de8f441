// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Passes blocks to and from a library with its own operators: see own_operators.cpp.
#include <cstdio>

extern "C" {
int* made_by_library();
void freed_by_library(int* number);
}

int main()
{
    delete made_by_library();
    freed_by_library(new int(2));
    std::puts("passed on");
}
