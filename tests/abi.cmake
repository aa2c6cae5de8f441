# SPDX-License-Identifier: MIT
# Units of different build configurations in one program. The script compiles them with this compiler and its flags and
# overrides the flags under test. Slow, so only with one preset of each compiler.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_CROSSCOMPILING
   OR NOT "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_FLAGS}" MATCHES "^GNU|-stdlib=")
    return()
endif()

set(compiler "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS}")
if(CMAKE_CXX_STANDARD)
    string(APPEND compiler " -std=c++${CMAKE_CXX_STANDARD}")
endif()
set(library -)
if(TARGET memory_pool_np_alloc)
    set(library $<TARGET_FILE:memory_pool_np_alloc>)
endif()
foreach(case IN ITEMS Mixtures NpAlloc Libraries Passing Releases Names)
    string(TOLOWER ${case} name)
    add_test(NAME abi.${name}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/abi/abi_test.py ${compiler} ${library} ${case})
    set_tests_properties(abi.${name} PROPERTIES TIMEOUT 120)
endforeach()
