# SPDX-License-Identifier: MIT
# Other parsers read the reports of programs with and without np_alloc.
foreach(kind IN ITEMS plain np_alloc)
    add_executable(report_${kind} report/print_report.cpp)
    target_link_libraries(report_${kind} PRIVATE memory_pool_program memory_pool_warnings)
    add_dependencies(memory_pool_tidy_tests report_${kind})
endforeach()
target_link_libraries(report_np_alloc PRIVATE memory_pool::np_alloc)
# Makes the reference strong, as in a program that uses np_alloc.
target_compile_definitions(report_np_alloc PRIVATE USES_NP_ALLOC)

set(programs $<TARGET_FILE:report_plain> $<TARGET_FILE:report_np_alloc>)
if(TARGET memory_pool_np_malloc)
    list(APPEND programs $<TARGET_FILE:memory_pool_np_malloc>)
endif()
add_test(NAME report.read_by_others
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/report/write_report_test.py
        ${PROJECT_SOURCE_DIR}/docs/report.schema.json ${programs})
set_tests_properties(report.read_by_others PROPERTIES TIMEOUT 120)

# Profiles of pools, read by pprof and as folded stacks.
if(UNIX)
    add_executable(report_profiled_pools report/profiled_pools.cpp)
    target_link_libraries(report_profiled_pools PRIVATE memory_pool_program memory_pool_warnings)
    target_compile_options(report_profiled_pools PRIVATE -g)
    add_dependencies(memory_pool_tidy_tests report_profiled_pools)
    add_test(NAME report.profiles_read_by_others
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/report/write_profile_test.py
            $<TARGET_FILE:report_profiled_pools>)
    set_tests_properties(report.profiles_read_by_others PROPERTIES TIMEOUT 120)
endif()
