# SPDX-License-Identifier: MIT
# riscv64 Linux, with GCC from Debian (g++-riscv64-linux-gnu).
set(CMAKE_SYSTEM_PROCESSOR riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/linux-gnu.cmake)
