# SPDX-License-Identifier: MIT
# tests/package is a third-party project. These tests configure, build and run it against this project in each way that
# users have: an installed package (found by CMake and by pkg-config), add_subdirectory and FetchContent. Further ways
# have their own projects, below: the single header, a module, a CPS file, Meson.
set(root ${CMAKE_CURRENT_BINARY_DIR}/package)

# Installs into one directory and moves it to another: no file may refer to the first.
add_test(NAME package.install
    COMMAND ${CMAKE_COMMAND}
        -D build=${PROJECT_BINARY_DIR} -D config=$<CONFIG> -D root=${root}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install_and_move.cmake)
set_tests_properties(package.install PROPERTIES FIXTURES_SETUP memory_pool_package)

# memory_pool_add_variant(<name> <options> <absent>): a separate build, installed into <name>/installed; no installed
# file may match the patterns <absent>
function(memory_pool_add_variant name options absent)
    add_test(NAME package.install_${name}
        COMMAND ${CMAKE_COMMAND}
            -D source=${PROJECT_SOURCE_DIR} -D root=${root}/${name} -D generator=${CMAKE_GENERATOR}
            -D compiler=${CMAKE_CXX_COMPILER} -D options=${options} -D absent=${absent}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/package/install_variant.cmake)
    set_tests_properties(package.install_${name} PROPERTIES TIMEOUT 600
        FIXTURES_REQUIRED memory_pool_package FIXTURES_SETUP memory_pool_package_${name})
endfunction()
# Even this variant installs np_alloc.h: the reports of pools include it.
memory_pool_add_variant(headers MEMORY_POOL_ENABLE_COMPILED=OFF,MEMORY_POOL_ENABLE_NP_ALLOC=OFF
    *np_*.hpp,*.a,*.so*,*np_*.pc,*_compiled.pc)

# memory_pool_add_consumer(<name> <directory> <option>...): builds and tests the project in the directory
function(memory_pool_add_consumer name directory)
    add_test(NAME package.${name}
        COMMAND ${CMAKE_CTEST_COMMAND}
            --build-and-test ${CMAKE_CURRENT_SOURCE_DIR}/${directory} ${root}/${name}
            --build-generator ${CMAKE_GENERATOR}
            --build-config Debug # fastest to build
            --build-options
                -DCMAKE_BUILD_TYPE=Debug
                "-DCMAKE_C_COMPILER=${CMAKE_C_COMPILER}"
                "-DCMAKE_C_FLAGS=${CMAKE_C_FLAGS}"
                "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
                "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}"
                "-DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE}"
                "-DVERSION_WANTED=${PROJECT_VERSION}"
                "-DCONTRACT=${CMAKE_CURRENT_SOURCE_DIR}/contract"
                ${ARGN}
            --test-command ${CMAKE_CTEST_COMMAND} --output-on-failure)
    set_tests_properties(package.${name} PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED memory_pool_package)
endfunction()

set(with_np_alloc)
foreach(library IN ITEMS np_alloc np_malloc)
    if(TARGET memory_pool::${library})
        list(APPEND with_np_alloc ${library})
    endif()
endforeach()
# An installed package includes the checked build. A project that builds the sources need not build it.
set(with_checked ${with_np_alloc})
foreach(library IN LISTS with_np_alloc)
    list(APPEND with_checked ${library}_checked)
endforeach()
list(PREPEND with_np_alloc compiled)
list(PREPEND with_checked compiled)
list(JOIN with_checked "," with_checked)
set(with_checked "-DLIBRARIES=${with_checked}")
list(JOIN with_np_alloc "," with_np_alloc)
set(with_np_alloc "-DLIBRARIES=${with_np_alloc}")
set(installed "-DCMAKE_PREFIX_PATH=${root}/moved")

memory_pool_add_consumer(find_package package -DCONSUME=find_package ${installed} ${with_checked})
memory_pool_add_consumer(add_subdirectory package
    -DCONSUME=add_subdirectory "-DSOURCE=${PROJECT_SOURCE_DIR}" ${with_np_alloc})
memory_pool_add_consumer(fetch_content package
    -DCONSUME=fetch_content "-DFETCHCONTENT_SOURCE_DIR_MEMORY_POOL=${PROJECT_SOURCE_DIR}"
    -DLIBRARIES=compiled -DMEMORY_POOL_ENABLE_NP_ALLOC=OFF) # slow, and already covered by add_subdirectory
memory_pool_add_consumer(find_package_headers package
    -DCONSUME=find_package "-DCMAKE_PREFIX_PATH=${root}/headers/installed")
set_tests_properties(package.find_package_headers PROPERTIES FIXTURES_REQUIRED memory_pool_package_headers)

# Shared libraries. Built separately, so only once per compiler.
if(TARGET memory_pool::np_malloc AND CMAKE_BUILD_TYPE STREQUAL "Release")
    memory_pool_add_variant(shared BUILD_SHARED_LIBS=ON,MEMORY_POOL_ENABLE_NP_MALLOC=OFF,CMAKE_BUILD_TYPE=Release *.a)
    set(shared_installed "-DCMAKE_PREFIX_PATH=${root}/shared/installed")
    memory_pool_add_consumer(find_package_shared package -DCONSUME=find_package ${shared_installed}
        -DLIBRARIES=compiled,np_alloc,np_alloc_checked)
    memory_pool_add_consumer(shared_plugin package/shared ${shared_installed})
    set_tests_properties(package.find_package_shared package.shared_plugin PROPERTIES
        FIXTURES_REQUIRED memory_pool_package_shared)
    add_test(NAME package.shared_symbols
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/shared_symbols_test.py
            ${PROJECT_SOURCE_DIR} ${root}/shared/installed/${CMAKE_INSTALL_LIBDIR} ${PROJECT_VERSION})
    set_tests_properties(package.shared_symbols PROPERTIES FIXTURES_REQUIRED memory_pool_package_shared)
endif()

# The test chooses its generator, so one configuration runs it.
if(TARGET memory_pool::np_alloc AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_GENERATOR STREQUAL "Ninja")
    add_test(NAME package.postfix
        COMMAND ${CMAKE_COMMAND}
            -D source=${PROJECT_SOURCE_DIR} -D build=${root}/postfix -D compiler=${CMAKE_CXX_COMPILER}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/package/postfix.cmake)
endif()

find_package(PkgConfig QUIET)
cmake_path(IS_RELATIVE CMAKE_INSTALL_LIBDIR libdir_is_relative)
if(PkgConfig_FOUND AND libdir_is_relative)
    memory_pool_add_consumer(pkg_config package -DCONSUME=pkg_config
        "-DPC_DIRECTORY=${root}/moved/${CMAKE_INSTALL_LIBDIR}/pkgconfig" ${with_checked})
    # The unmodified flags, which CMake would rewrite, of a moved installation and of one in /usr.
    add_test(NAME package.pkg_config_flags
        COMMAND ${CMAKE_COMMAND}
            -D build=${PROJECT_BINARY_DIR} -D config=$<CONFIG> -D root=${root} -D libdir=${CMAKE_INSTALL_LIBDIR}
            -D includedir=${CMAKE_INSTALL_INCLUDEDIR} -D pkg_config=${PKG_CONFIG_EXECUTABLE}
            -D compiler=${CMAKE_CXX_COMPILER}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/package/pkg_config_flags.cmake)
    set_tests_properties(package.pkg_config_flags PROPERTIES TIMEOUT 120 FIXTURES_REQUIRED memory_pool_package)
endif()

if(TARGET memory_pool::np_alloc)
    memory_pool_add_consumer(find_package_from_c package/c ${installed})
endif()

# A CMake newer than the one in use: see package/new_cmake.py.
set(new_cmake ${CMAKE_CURRENT_BINARY_DIR}/new_cmake)
add_test(NAME package.new_cmake
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/new_cmake.py ${new_cmake})
set_tests_properties(package.new_cmake PROPERTIES
    TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_SETUP memory_pool_new_cmake)

# These tests choose their compilers, so one configuration runs them: the single header, and the C++20 module with
# Clang, compiled by hand (names) and with a CMake that supports modules (projects).
if(TARGET memory_pool_single_header AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
    set_target_properties(memory_pool_single_header PROPERTIES EXCLUDE_FROM_ALL FALSE)
    foreach(compiler IN ITEMS g++ clang++-19)
        add_test(NAME package.single_header_${compiler}
            COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/single_header_test.py
                ${PROJECT_SOURCE_DIR} ${MEMORY_POOL_SINGLE_HEADER} ${compiler})
        set_tests_properties(package.single_header_${compiler} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
    endforeach()
    foreach(case IN ITEMS Names Projects)
        string(TOLOWER ${case} name)
        add_test(NAME package.module_${name}
            COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/module_test.py
                ${PROJECT_SOURCE_DIR} ${new_cmake} ${CMAKE_COMMAND} ${case})
        set_tests_properties(package.module_${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
    endforeach()
    set_tests_properties(package.module_projects PROPERTIES FIXTURES_REQUIRED memory_pool_new_cmake)
endif()

# The CPS file, and Meson with an installation by Meson or CMake.
if(libdir_is_relative)
    add_test(NAME package.cps
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/cps_test.py
            ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} $<CONFIG> ${CMAKE_COMMAND} ${new_cmake} ${CMAKE_CXX_COMPILER})
    set_tests_properties(package.cps PROPERTIES TIMEOUT 120 FIXTURES_REQUIRED memory_pool_new_cmake)

    foreach(case IN ITEMS Subproject Installed InstalledByCMake)
        if(case STREQUAL "Installed" AND NOT TARGET memory_pool::np_alloc)
            continue()
        endif()
        string(REGEX REPLACE "(.)([A-Z])" "\\1_\\2" name ${case})
        string(TOLOWER ${name} name)
        add_test(NAME package.meson_${name}
            COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/package/meson_test.py
                ${PROJECT_SOURCE_DIR} ${root}/moved ${CMAKE_INSTALL_LIBDIR} ${case}
                ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER})
        set_tests_properties(package.meson_${name} PROPERTIES
            TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED memory_pool_package)
        if(case STREQUAL "Installed")
            set_tests_properties(package.meson_${name} PROPERTIES LABELS long)
        endif()
    endforeach()
endif()
