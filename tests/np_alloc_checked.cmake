# SPDX-License-Identifier: MIT
# The checked build: its own checks, and the tests of the plain build.
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} np_alloc/hardening/checked_*_test.cpp)
# Tests shared with the plain build are slow under sanitizers and do not depend on the compiler.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    list(APPEND sources np_alloc/diagnostics/inspection_test.cpp np_alloc/diagnostics/sampled_blocks_test.cpp
        np_alloc/hardening/overrun_test.cpp
        np_alloc/diagnostics/slabs_test.cpp
        $<TARGET_OBJECTS:tests_of_any_malloc> $<TARGET_OBJECTS:tests_of_any_np_alloc>)
endif()
add_executable(unit_np_alloc_checked ${sources})
memory_pool_compile_unit_tests(unit_np_alloc_checked)
target_link_libraries(unit_np_alloc_checked PRIVATE memory_pool_system_calls memory_pool::np_alloc_checked)
target_compile_definitions(unit_np_alloc_checked PRIVATE MEMORY_POOL_NP_CHECKED=1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    # The tests deliberately write past blocks, and GCC warns at the optimization level of that preset.
    target_compile_options(unit_np_alloc_checked PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
endif()
memory_pool_add_unit_tests(unit_np_alloc_checked np_alloc_checked)
add_dependencies(memory_pool_tidy_tests unit_np_alloc_checked)
