# SPDX-License-Identifier: MIT
# Each package is built, used by a project and removed, in its own directory; skipped without its tools.
# memory_pool_add_packaging_test(<name> <script> <argument>...)
function(memory_pool_add_packaging_test name script)
    add_test(NAME packaging.${name}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/${script}
            ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} ${CMAKE_CURRENT_BINARY_DIR}/packaging/${name} ${ARGN})
    set_tests_properties(packaging.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 LABELS long)
endfunction()
memory_pool_add_packaging_test(debian debian_test.py)
memory_pool_add_packaging_test(conan conan_test.py)
memory_pool_add_packaging_test(conan_shared conan_test.py --shared)

# Needs no packaging tools: compares the recipes with CMake.
if(TARGET memory_pool_np_alloc)
    get_target_property(np_sources memory_pool_np_alloc SOURCES)
    list(JOIN np_sources "," np_sources)
    get_target_property(np_options memory_pool_np_alloc COMPILE_OPTIONS)
    list(FILTER np_options INCLUDE REGEX "^-f")
    list(JOIN np_options "," np_options)
    add_test(NAME packaging.descriptions
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/descriptions_test.py
            ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} ${PROJECT_BINARY_DIR} ${np_sources} ${np_options})
endif()
