// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// msvc_dialect_test.py includes this file first: all standard and Windows headers that the library includes, from
/// MinGW; then the macros that identify the compiler as MSVC.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <forward_list>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <ios>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <ratio>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>
#include <version>

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>

#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __clang__
#undef __clang_major__
#undef __MINGW32__
#undef __MINGW64__
#undef __cplusplus
#define __cplusplus 199711L
#define _MSC_VER 1940
#define _MSVC_LANG 201703L

// Extensions that Clang accepts in MSVC mode but MSVC does not have.
#pragma GCC poison __attribute__ __extension__ __typeof__ __PRETTY_FUNCTION__ __thread __asm__ __int128
#pragma GCC poison __builtin_expect __builtin_unreachable __builtin_prefetch __builtin_constant_p __builtin_memcpy
#pragma GCC poison __builtin_ctz __builtin_ctzll __builtin_clz __builtin_clzll __builtin_popcount __builtin_popcountll
#pragma GCC poison __builtin_add_overflow __builtin_mul_overflow __builtin_return_address __builtin_frame_address
#pragma GCC poison __atomic_load_n __atomic_store_n __atomic_exchange_n __atomic_compare_exchange_n __atomic_fetch_add
#pragma GCC poison __atomic_thread_fence __sync_synchronize
