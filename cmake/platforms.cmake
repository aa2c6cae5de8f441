# SPDX-License-Identifier: MIT
# Says on which platforms this is not tested; README.md (Install) lists the others.
if(MSVC)
    message(STATUS "memory_pool: not tested with MSVC")
elseif(APPLE)
    message(STATUS "memory_pool: not tested on ${CMAKE_SYSTEM_NAME}: compiled and linked for macOS, never run there")
elseif(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
    message(STATUS "memory_pool: not tested on FreeBSD: compiled and linked for it, never run there")
elseif(NOT CMAKE_SYSTEM_NAME MATCHES "^(Linux|Windows)$")
    message(STATUS "memory_pool: not tested on ${CMAKE_SYSTEM_NAME}")
endif()
if(MEMORY_POOL_ENABLE_NP_ALLOC AND NOT np_alloc_is_portable_here)
    message(FATAL_ERROR "memory_pool: np_alloc needs GCC or Clang, on a POSIX system or with MinGW-w64; "
        "to build the rest: -D MEMORY_POOL_ENABLE_NP_ALLOC=OFF")
endif()
if(BUILD_SHARED_LIBS AND MEMORY_POOL_ENABLE_TESTING AND MEMORY_POOL_ENABLE_NP_ALLOC)
    message(FATAL_ERROR "memory_pool: the tests need np_alloc as a static library; without them: "
        "-D MEMORY_POOL_ENABLE_TESTING=OFF, or without BUILD_SHARED_LIBS")
endif()
if(BUILD_SHARED_LIBS AND MEMORY_POOL_ENABLE_NP_ALLOC AND NOT UNIX)
    message(WARNING "memory_pool: np_alloc is a static library on ${CMAKE_SYSTEM_NAME}, whatever BUILD_SHARED_LIBS is: "
        "each DLL that links it has a heap of its own")
endif()
if(NOT MEMORY_POOL_ENABLE_NP_ALLOC AND "$CACHE{MEMORY_POOL_ENABLE_NP_MALLOC}")
    message(WARNING "memory_pool: no libnp_malloc is built, as MEMORY_POOL_ENABLE_NP_ALLOC is off")
endif()
if(MEMORY_POOL_ENABLE_NP_MALLOC AND NOT malloc_is_replaceable_here)
    message(FATAL_ERROR "memory_pool: libnp_malloc needs Linux, and a build without sanitizers, which replace malloc "
        "themselves; to build the rest: -D MEMORY_POOL_ENABLE_NP_MALLOC=OFF")
endif()
