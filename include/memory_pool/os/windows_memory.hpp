// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Declares the memory functions of Windows, without the thousands of macros of windows.h. Empty for other systems.
///
/// Thread safety: any thread.
#pragma once

#if defined(_WIN32)
#include <type_traits>

extern "C" {
__declspec(dllimport) void* __stdcall VirtualAlloc(
    void*, std::conditional_t<sizeof(void*) == 8, unsigned long long, unsigned long>, unsigned long, unsigned long);
__declspec(dllimport) int __stdcall VirtualFree(
    void*, std::conditional_t<sizeof(void*) == 8, unsigned long long, unsigned long>, unsigned long);
}
#endif
