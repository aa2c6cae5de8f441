# SPDX-License-Identifier: MIT
# memory_pool_single_header writes single_include/memory_pool.hpp in the build tree: all headers except np_alloc's, for
# Compiler Explorer and for projects that vendor one file. It is not installed, as the separate headers are, and a
# translation unit must not include both.
find_package(Python3 3.8 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
    message(STATUS "memory_pool: Python 3.8 not found, leaving out memory_pool_single_header")
    return()
endif()
set(MEMORY_POOL_SINGLE_HEADER ${PROJECT_BINARY_DIR}/single_include/memory_pool.hpp)
set(amalgamate ${PROJECT_SOURCE_DIR}/tools/amalgamate.py)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/include/*.hpp)
add_custom_command(OUTPUT ${MEMORY_POOL_SINGLE_HEADER}
    COMMAND Python3::Interpreter ${amalgamate} ${MEMORY_POOL_SINGLE_HEADER}
    DEPENDS ${headers} ${amalgamate} ${PROJECT_SOURCE_DIR}/tools/check_layers.py ${PROJECT_SOURCE_DIR}/tools/version.py
        ${PROJECT_SOURCE_DIR}/LICENSE
    COMMENT "Writing the single header")
add_custom_target(memory_pool_single_header DEPENDS ${MEMORY_POOL_SINGLE_HEADER})
