# SPDX-License-Identifier: MIT
# Installs headers, libraries, the CMake package and the pkg-config files. The installation is relocatable as a whole:
# the package files use paths relative to themselves.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/memory_pool)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(pc_files memory_pool memory_pool_drop_in)
if(TARGET memory_pool_np_alloc)
    set(headers_left_out)
    set(drop_ins_left_out)
    set(is_for_any_machine)
    list(APPEND pc_files memory_pool_np_alloc memory_pool_np_alloc_checked)
else()
    # np_alloc.h is installed: report.hpp includes it for the functions that it calls if np_alloc is linked.
    set(headers_left_out REGEX "/np_[a-z_]+\\.hpp$" EXCLUDE)
    set(drop_ins_left_out REGEX "/np_[a-z_]+\\.h$" EXCLUDE)
    set(is_for_any_machine ARCH_INDEPENDENT)
endif()
if(TARGET memory_pool_module OR TARGET memory_pool_compiled)
    set(is_for_any_machine)
endif()
if(TARGET memory_pool_compiled)
    list(APPEND pc_files memory_pool_compiled)
endif()
if(TARGET memory_pool_np_malloc)
    list(APPEND pc_files memory_pool_np_malloc memory_pool_np_malloc_checked)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/memory_pool
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${headers_left_out})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/drop_in/
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/memory_pool_drop_in
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" ${drop_ins_left_out})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/debuggers
    DESTINATION ${CMAKE_INSTALL_DATADIR}/memory_pool
    FILES_MATCHING PATTERN "*.py" PATTERN "*.natvis" PATTERN "__pycache__" EXCLUDE)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/tools/heap_map DESTINATION ${CMAKE_INSTALL_DATADIR}/memory_pool)
install(FILES ${PROJECT_SOURCE_DIR}/tools/heap_map.html DESTINATION ${CMAKE_INSTALL_DATADIR}/memory_pool)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/memory_pool)

install(TARGETS ${MEMORY_POOL_INSTALLED_TARGETS} EXPORT memory_pool_targets)
install(EXPORT memory_pool_targets
    FILE memory_pool-targets.cmake
    NAMESPACE memory_pool::
    DESTINATION ${package_dir})

# A separate export, as only CMake 3.28 and later can read it.
if(TARGET memory_pool_module)
    set(module_dir ${CMAKE_INSTALL_DATADIR}/memory_pool/module)
    install(TARGETS memory_pool_module EXPORT memory_pool_module FILE_SET CXX_MODULES DESTINATION ${module_dir})
    install(EXPORT memory_pool_module
        FILE memory_pool-module.cmake
        NAMESPACE memory_pool::
        DESTINATION ${package_dir}
        CXX_MODULES_DIRECTORY modules)
endif()

configure_package_config_file(
    ${CMAKE_CURRENT_LIST_DIR}/memory_pool-config.cmake.in
    ${PROJECT_BINARY_DIR}/memory_pool-config.cmake
    INSTALL_DESTINATION ${package_dir}
    NO_SET_AND_CHECK_MACRO)
# Before 1.0, minor versions may change the interface. From 1.0 on, only major versions may.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatibility SameMinorVersion)
else()
    set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/memory_pool-config-version.cmake
    COMPATIBILITY ${compatibility}
    ${is_for_any_machine})
install(FILES
    ${PROJECT_BINARY_DIR}/memory_pool-config.cmake
    ${PROJECT_BINARY_DIR}/memory_pool-config-version.cmake
    DESTINATION ${package_dir})

# The prefix in a .pc file is relative to the file (${pcfiledir}), unless the library directory is an absolute path.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR libdir_is_absolute)
if(libdir_is_absolute)
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
    file(RELATIVE_PATH from_pcfiledir
        ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    string(REGEX REPLACE "/$" "" from_pcfiledir "${from_pcfiledir}")
    set(pc_prefix "\${pcfiledir}/${from_pcfiledir}")
endif()
set(pc_includedir "\${prefix}")
cmake_path(APPEND pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})   # an absolute path replaces the prefix
set(pc_libdir "\${prefix}")
cmake_path(APPEND pc_libdir ${CMAKE_INSTALL_LIBDIR})

# One file for each configuration, as CMAKE_DEBUG_POSTFIX and the like change the names of the libraries.
function(memory_pool_generate_pc_file variant name template)
    set(file ${PROJECT_BINARY_DIR}/pkgconfig/${variant}/${name}.pc.in)
    set(pc_library $<TARGET_FILE_BASE_NAME:${name}>) # Used only in the templates of libraries.
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${template}.pc.in ${file} @ONLY)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/${variant}/$<CONFIG>/${name}.pc INPUT ${file})
endfunction()

foreach(name IN LISTS pc_files)
    string(REGEX REPLACE "_checked$" "" template ${name})
    set(pc_suffix "")
    set(pc_remark "")
    if(NOT name STREQUAL template)
        set(pc_suffix "_checked")
        set(pc_remark ", which checks each block")
    endif()
    set(pc_include_option "-isystem") # No warnings from these headers in users' builds.
    memory_pool_generate_pc_file(elsewhere ${name} ${template})
    # Compilers search /usr/include last, and their own headers find the C library there by #include_next, which
    # -isystem /usr/include would break. Compilers ignore -I for a system directory, and it stays valid if the tree is
    # moved.
    set(pc_include_option "-I")
    memory_pool_generate_pc_file(usr ${name} ${template})
endforeach()

list(JOIN pc_files " " pc_names)
# Selected at install time: `cmake --install` may use another prefix.
install(CODE "
    cmake_path(SET includedir \"${CMAKE_INSTALL_INCLUDEDIR}\")
    cmake_path(ABSOLUTE_PATH includedir BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\" NORMALIZE)
    set(variant elsewhere)
    if(includedir MATCHES \"^/usr/include/?$\")
        set(variant usr)
    endif()
    foreach(name IN ITEMS ${pc_names})
        configure_file(
            \"${PROJECT_BINARY_DIR}/pkgconfig/\${variant}/$<CONFIG>/\${name}.pc\"
            \"${PROJECT_BINARY_DIR}/\${name}.pc\" COPYONLY)
    endforeach()")
list(TRANSFORM pc_files PREPEND ${PROJECT_BINARY_DIR}/)
list(TRANSFORM pc_files APPEND .pc)
install(FILES ${pc_files} DESTINATION ${pkgconfig_dir})

include(${CMAKE_CURRENT_LIST_DIR}/cps.cmake)
