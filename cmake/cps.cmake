# SPDX-License-Identifier: MIT
# memory_pool.cps: describes the package in the Common Package Specification (https://cps-org.github.io/cps), with the
# components of the CMake package. Paths are as in the .pc files. The file is installed on request only:
#   cmake --install build --component memory_pool_cps
# CMake 4.3 and later reads it instead of the CMake package. If neither has a requested component, CMake 4.4 rejects the
# file and accepts the CMake package without checking components, so find_package does not report the missing component.
set(prefix "@prefix@") # A literal of the specification.
if(libdir_is_absolute)
    set(cps_prefix_member prefix)
    set(cps_prefix_value ${CMAKE_INSTALL_PREFIX})
else()
    set(cps_prefix_member cps_path)
    set(cps_prefix_value "${prefix}/${CMAKE_INSTALL_LIBDIR}/cps")
endif()
set(cps_includedir "${prefix}")
cmake_path(APPEND cps_includedir ${CMAKE_INSTALL_INCLUDEDIR})
set(cps_libdir "${prefix}")
cmake_path(APPEND cps_libdir ${CMAKE_INSTALL_LIBDIR})
set(cps_compat_version ${PROJECT_VERSION_MAJOR}.0.0)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(cps_compat_version 0.${PROJECT_VERSION_MINOR}.0)
endif()
string(REGEX MATCHALL "[^ ]+" cps_libraries "${MEMORY_POOL_NP_ALLOC_PC_LIBS}")
list(TRANSFORM cps_libraries REPLACE "^-l(.+)$" "\\1")
list(TRANSFORM cps_libraries REPLACE "^(.+)$" "\"\\1\"")
list(JOIN cps_libraries ", " cps_libraries)
foreach(name IN ITEMS compiled np_alloc np_alloc_checked)
    set(${name}_type "$<IF:$<STREQUAL:$<TARGET_PROPERTY:memory_pool_${name},TYPE>,STATIC_LIBRARY>,archive,dylib>")
endforeach()

set(template ${PROJECT_BINARY_DIR}/cps/memory_pool.cps.in)
configure_file(${CMAKE_CURRENT_LIST_DIR}/memory_pool.cps ${template} @ONLY)
file(READ ${template} json)
foreach(name IN ITEMS compiled np_alloc np_alloc_checked np_alloc_drop_in np_malloc np_malloc_checked module)
    if(NOT TARGET memory_pool_${name})
        string(JSON json REMOVE "${json}" components ${name})
    endif()
endforeach()
# One file for each configuration, as the names of libraries may depend on the configuration.
set(cps_files ${PROJECT_BINARY_DIR}/cps/$<CONFIG>/memory_pool.cps)
file(GENERATE OUTPUT ${cps_files} CONTENT "${json}\n")
if(TARGET memory_pool_module) # CMake 4.4 reads module metadata only from a configuration.
    file(RELATIVE_PATH module_source
        ${CMAKE_INSTALL_FULL_LIBDIR}/cps ${CMAKE_INSTALL_FULL_DATADIR}/memory_pool/module/memory_pool.cppm)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/memory_pool.modules.json
        ${PROJECT_BINARY_DIR}/cps/memory_pool.modules.json @ONLY)
    list(APPEND cps_files ${PROJECT_BINARY_DIR}/cps/memory_pool.modules.json)
endif()
install(FILES ${cps_files}
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cps
    COMPONENT memory_pool_cps EXCLUDE_FROM_ALL)
