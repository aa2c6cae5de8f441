# SPDX-License-Identifier: MIT
# aarch64 Linux, with GCC from Debian (g++-aarch64-linux-gnu).
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/linux-gnu.cmake)
