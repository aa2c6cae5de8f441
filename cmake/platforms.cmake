# SPDX-License-Identifier: MIT
# Prints a message on untested platforms, and rejects unsupported options. README.md (Platforms) lists tested platforms.
if(MSVC)
    message(STATUS "memory_pool: not tested with MSVC")
elseif(APPLE)
    message(STATUS "memory_pool: not tested on ${CMAKE_SYSTEM_NAME}: builds for macOS, but was never run there")
elseif(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
    message(STATUS "memory_pool: not tested on FreeBSD: builds for it, but was never run there")
elseif(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Windows)$")
    message(STATUS "memory_pool: not tested on ${CMAKE_SYSTEM_NAME}")
endif()
if(MEMORY_POOL_ENABLE_NP_ALLOC AND NOT np_alloc_is_portable_here)
    message(FATAL_ERROR "memory_pool: np_alloc needs GCC or Clang, on a POSIX system or with MinGW-w64; "
        "to build without np_alloc: -D MEMORY_POOL_ENABLE_NP_ALLOC=OFF")
endif()
if(BUILD_SHARED_LIBS AND MEMORY_POOL_ENABLE_TESTING AND MEMORY_POOL_ENABLE_NP_ALLOC)
    message(FATAL_ERROR "memory_pool: the tests need np_alloc as a static library; build without the tests "
        "(-D MEMORY_POOL_ENABLE_TESTING=OFF), or without BUILD_SHARED_LIBS")
endif()
if(BUILD_SHARED_LIBS AND MEMORY_POOL_ENABLE_NP_ALLOC AND NOT UNIX)
    message(WARNING "memory_pool: BUILD_SHARED_LIBS is ignored for np_alloc: on ${CMAKE_SYSTEM_NAME}, it is always a "
        "static library, and each DLL that links it has its own heap")
endif()
if(NOT MEMORY_POOL_ENABLE_NP_ALLOC AND "$CACHE{MEMORY_POOL_ENABLE_NP_MALLOC}")
    message(WARNING "memory_pool: libnp_malloc is not built, as MEMORY_POOL_ENABLE_NP_ALLOC is off")
endif()
if(MEMORY_POOL_ENABLE_NP_MALLOC AND NOT malloc_is_replaceable_here)
    message(FATAL_ERROR "memory_pool: libnp_malloc needs Linux, and a build without sanitizers, which replace malloc "
        "themselves; to build without libnp_malloc: -D MEMORY_POOL_ENABLE_NP_MALLOC=OFF")
endif()
