# SPDX-License-Identifier: MIT
# Windows, with GCC from Debian (g++-mingw-w64-x86-64-posix). Programs run under Wine (wine64), if it is installed.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static) # Otherwise Wine does not find the libraries of GCC.
find_program(MEMORY_POOL_WINE NAMES wine64 wine64-stable wine PATHS /usr/lib/wine)
if(MEMORY_POOL_WINE)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${MEMORY_POOL_WINE})
endif()
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32 ${CMAKE_PREFIX_PATH})
include(${CMAKE_CURRENT_LIST_DIR}/find_in_root.cmake)
