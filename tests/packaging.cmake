# SPDX-License-Identifier: MIT
# The packages, each built, used by a project and removed, in a directory of their own; skipped without their tools.
function(memory_pool_add_packaging_test name)
    add_test(NAME packaging.${name}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/${name}_test.py
            ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} ${CMAKE_CURRENT_BINARY_DIR}/packaging/${name})
    set_tests_properties(packaging.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

memory_pool_add_packaging_test(debian)
memory_pool_add_packaging_test(conan)
