# SPDX-License-Identifier: MIT
# Provides GTest::gtest_main, built against the standard library that this build uses, and
# memory_pool_add_unit_tests(<program> <prefix>).
include(GoogleTest)
check_cxx_source_compiles("#include <ciso646>
    #ifndef _LIBCPP_VERSION
    #error not libc++
    #endif
    int main() {}" MEMORY_POOL_USES_LIBCXX)

if((MEMORY_POOL_USES_LIBCXX AND NOT APPLE) OR CMAKE_CROSSCOMPILING)
    # The system's GoogleTest is compiled against the other standard library, or for another processor; Debian ships its
    # source as well.
    find_path(MEMORY_POOL_GOOGLETEST_SOURCE googletest/include/gtest/gtest.h
        PATHS /usr/src/googletest NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    if(MEMORY_POOL_GOOGLETEST_SOURCE)
        set(INSTALL_GTEST OFF)
        set(BUILD_GMOCK OFF)
        add_subdirectory(${MEMORY_POOL_GOOGLETEST_SOURCE} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
        foreach(target IN ITEMS gtest gtest_main)
            set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
        endforeach()
        if(NOT TARGET GTest::gtest_main)
            add_library(GTest::gtest_main ALIAS gtest_main)
        endif()
    endif()
else()
    find_package(GTest QUIET)
endif()

if(NOT TARGET GTest::gtest_main)
    message(FATAL_ERROR
        "memory_pool: the tests need GoogleTest (Debian package: libgtest-dev). "
        "To build without tests: -D MEMORY_POOL_ENABLE_TESTING=OFF")
endif()

include(emulated.cmake)
function(memory_pool_add_unit_tests program prefix)
    if(CMAKE_CROSSCOMPILING)
        memory_pool_add_emulated_unit_tests(${program} ${prefix})
    else()
        # PRE_TEST: the programs are not run while building.
        gtest_discover_tests(${program} TEST_PREFIX ${prefix}. DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
    endif()
endfunction()
