# SPDX-License-Identifier: MIT
# tests/package is somebody else's project. It is configured, built and run against this one in each way that users
# have: an installed package (found by CMake and by pkg-config), add_subdirectory and FetchContent.
set(root ${CMAKE_CURRENT_BINARY_DIR}/package)

# Installed into one directory and then moved to another: nothing may remember the first.
add_test(NAME package.install
    COMMAND ${CMAKE_COMMAND}
        -D build=${PROJECT_BINARY_DIR} -D config=$<CONFIG> -D root=${root}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install_and_move.cmake)
set_tests_properties(package.install PROPERTIES FIXTURES_SETUP memory_pool_package)

# memory_pool_add_consumer(<name> <option>...)
function(memory_pool_add_consumer name)
    add_test(NAME package.${name}
        COMMAND ${CMAKE_CTEST_COMMAND}
            --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/package ${root}/${name}
            --build-generator ${CMAKE_GENERATOR}
            --build-config $<CONFIG>
            --build-options
                "-DCMAKE_BUILD_TYPE=$<CONFIG>"
                "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}"
                "-DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE}"
                "-DCONSUME=${name}"
                ${ARGN}
            --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure)
    set_tests_properties(package.${name} PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED memory_pool_package)
endfunction()

memory_pool_add_consumer(find_package
    "-DCMAKE_PREFIX_PATH=${root}/moved" "-DVERSION_WANTED=${PROJECT_VERSION}")
memory_pool_add_consumer(add_subdirectory "-DSOURCE=${PROJECT_SOURCE_DIR}")
memory_pool_add_consumer(fetch_content "-DFETCHCONTENT_SOURCE_DIR_MEMORY_POOL=${PROJECT_SOURCE_DIR}")

find_package(PkgConfig QUIET)
cmake_path(IS_RELATIVE CMAKE_INSTALL_LIBDIR libdir_is_relative)
if(PkgConfig_FOUND AND libdir_is_relative)
    memory_pool_add_consumer(pkg_config "-DPC_DIRECTORY=${root}/moved/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
