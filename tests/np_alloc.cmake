# SPDX-License-Identifier: MIT
# Other parsers read the output of np_alloc: of a program and, with libnp_malloc.so, of any program.
foreach(program print_statistics leak_at_end leak_without_site)
    add_executable(np_alloc_${program} np_alloc/diagnostics/${program}.cpp)
    target_link_libraries(np_alloc_${program} PRIVATE memory_pool_program memory_pool_warnings memory_pool::np_alloc)
    target_include_directories(np_alloc_${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    add_dependencies(memory_pool_tidy_tests np_alloc_${program})
endforeach()

set(programs $<TARGET_FILE:np_alloc_print_statistics>)
if(TARGET memory_pool_np_malloc)
    list(APPEND programs $<TARGET_FILE:memory_pool_np_malloc>)
endif()
add_test(NAME np_alloc.printed_statistics
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/diagnostics/statistics_test.py ${programs})
set_tests_properties(np_alloc.printed_statistics PROPERTIES TIMEOUT 120)

add_test(NAME np_alloc.leaks_at_end
    COMMAND Python3::Interpreter
        ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/diagnostics/leaks_test.py $<TARGET_FILE:np_alloc_leak_at_end>
        $<TARGET_FILE:np_alloc_leak_without_site>)
set_tests_properties(np_alloc.leaks_at_end PROPERTIES TIMEOUT 120)

# The drop-in np_alloc.h in a C++14 program.
add_executable(np_alloc_drop_in_cxx14 drop_in/np_alloc_cxx14.cpp)
set_target_properties(np_alloc_drop_in_cxx14 PROPERTIES CXX_STANDARD 14)
target_link_libraries(np_alloc_drop_in_cxx14
    PRIVATE memory_pool_warnings memory_pool::np_alloc_drop_in Threads::Threads)
add_dependencies(memory_pool_tidy_tests np_alloc_drop_in_cxx14)
add_test(NAME np_alloc.drop_in_cxx14 COMMAND np_alloc_drop_in_cxx14)
set_tests_properties(np_alloc.drop_in_cxx14 PROPERTIES TIMEOUT 120)

# Needs real-time threads and an otherwise idle machine: ctest -L real_time.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT CMAKE_CROSSCOMPILING)
    add_executable(np_alloc_real_time np_alloc/api/real_time.cpp)
    target_link_libraries(np_alloc_real_time PRIVATE memory_pool_program memory_pool_warnings memory_pool::np_alloc)
    target_include_directories(np_alloc_real_time PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    add_dependencies(memory_pool_tidy_tests np_alloc_real_time)
    add_test(NAME np_alloc.real_time COMMAND np_alloc_real_time)
    set_tests_properties(np_alloc.real_time PROPERTIES LABELS real_time TIMEOUT 120 RUN_SERIAL ON)
endif()
