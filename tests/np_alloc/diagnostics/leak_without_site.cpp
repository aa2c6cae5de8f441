// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Leaks COUNT blocks of 100'000 bytes, without call sites, for leaks_test.py.   leak_without_site COUNT STATUS
#include <memory_pool/np_alloc.h>

#include <support/check.hpp>

#include <cstdlib>

int main(int count, char** arguments)
{
    CHECK(count == 3);
    np_free(np_alloc(100));
    for (int left = std::atoi(arguments[1]); left != 0; --left) // NOLINT(cert-err34-c): the test writes numbers
        CHECK(np_alloc(100'000) != nullptr);
    return std::atoi(arguments[2]); // NOLINT(cert-err34-c)
}
