# SPDX-License-Identifier: MIT
# Included by the toolchain files for Linux on other processors, which set CMAKE_SYSTEM_PROCESSOR. Programs run under
# QEMU (qemu-user), if it is installed.
set(CMAKE_SYSTEM_NAME Linux)
set(triplet ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
find_program(MEMORY_POOL_QEMU qemu-${CMAKE_SYSTEM_PROCESSOR})
if(MEMORY_POOL_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${MEMORY_POOL_QEMU} -L /usr/${triplet})
endif()
set(CMAKE_FIND_ROOT_PATH /usr/${triplet} ${CMAKE_PREFIX_PATH})
include(${CMAKE_CURRENT_LIST_DIR}/find_in_root.cmake)
