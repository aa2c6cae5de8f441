# SPDX-License-Identifier: MIT
# Pools and resources under Valgrind, for every policy: silent in correct use, a report for each misuse.
find_program(MEMORY_POOL_VALGRIND_PROGRAM valgrind)
find_path(MEMORY_POOL_VALGRIND_INCLUDE valgrind/memcheck.h)
if(NOT MEMORY_POOL_VALGRIND_PROGRAM OR NOT MEMORY_POOL_VALGRIND_INCLUDE OR CMAKE_CROSSCOMPILING)
    return()
endif()

add_executable(valgrind_pools valgrind/pools.cpp)
target_link_libraries(valgrind_pools PRIVATE memory_pool_program memory_pool_warnings)
target_include_directories(valgrind_pools PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${MEMORY_POOL_VALGRIND_INCLUDE})
target_compile_definitions(valgrind_pools PRIVATE MEMORY_POOL_VALGRIND=1)
set(valgrind ${MEMORY_POOL_VALGRIND_PROGRAM} --quiet --error-exitcode=99)

foreach(policy IN ITEMS default counting checking)
    add_test(NAME valgrind.right_use.${policy}
        COMMAND ${valgrind} --leak-check=full $<TARGET_FILE:valgrind_pools> pools right_use ${policy})
    foreach(case IN ITEMS "write_after_free|Invalid write of size 1" "overflow|Invalid write of size 1"
                          "use_of_undefined_content|depends on uninitialised value")
        string(REGEX MATCH "^[^|]+" name ${case})
        string(REGEX REPLACE "^[^|]+\\|" "" complaint ${case})
        foreach(kind IN ITEMS pools arenas shared_arenas)
            add_test(NAME valgrind.${kind}.${name}.${policy}
                COMMAND ${valgrind} $<TARGET_FILE:valgrind_pools> ${kind} ${name} ${policy})
            set_tests_properties(valgrind.${kind}.${name}.${policy} PROPERTIES PASS_REGULAR_EXPRESSION ${complaint})
        endforeach()
    endforeach()
endforeach()
