# SPDX-License-Identifier: MIT
# libnp_malloc.so: its exported symbols, its functions compared with the functions that they replace, and programs that
# must run unchanged with it.
set(np_malloc $<TARGET_FILE:memory_pool_np_malloc>)

add_test(NAME np_malloc.options
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/options_test.py ${np_malloc})
set_tests_properties(np_malloc.options PROPERTIES TIMEOUT 120)
add_test(NAME np_malloc.symbols
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/symbols_test.py ${np_malloc})

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
   AND CMAKE_BUILD_TYPE STREQUAL "Release")
    add_test(NAME np_malloc.instructions
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/instructions_test.py ${np_malloc})
endif()

# Runs the interface tests of np_alloc for malloc: in this executable, libnp_malloc.so replaces the C library's malloc.
target_sources(unit_np_malloc PRIVATE np_alloc/preload/np_alloc_by_malloc.cpp $<TARGET_OBJECTS:tests_of_any_malloc>)
target_link_libraries(unit_np_malloc PRIVATE memory_pool::np_malloc)

# Calls each function, and runs the tests of np_new_delete.hpp for operator new.
add_executable(np_malloc_calls np_alloc/preload/calls.cpp np_alloc/preload/calls_in_scopes.cpp
    np_alloc/new_delete/operators_test.cpp)
target_link_libraries(np_malloc_calls PRIVATE
    memory_pool_program memory_pool_warnings GTest::gtest_main ${CMAKE_DL_LIBS})
target_include_directories(np_malloc_calls PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(np_malloc_calls PRIVATE -fno-builtin)
add_test(NAME np_malloc.calls COMMAND np_malloc_calls)
set_tests_properties(np_malloc.calls PROPERTIES TIMEOUT 120 ENVIRONMENT LD_PRELOAD=${np_malloc})

# Without this project's warnings, which reject its missing forms of operator delete.
add_executable(np_malloc_own_new np_alloc/preload/own_new.cpp)
set(preload_test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/preload_test.py
    ${np_malloc} ${PROJECT_SOURCE_DIR} $<TARGET_FILE:np_malloc_own_new>)
add_test(NAME np_malloc.preload COMMAND ${preload_test})
set_tests_properties(np_malloc.preload PROPERTIES TIMEOUT 300)

# The checked build: its symbols, preloading, and misuse by programs.
set(np_malloc_checked $<TARGET_FILE:memory_pool_np_malloc_checked>)
add_test(NAME np_malloc_checked.symbols
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/symbols_test.py ${np_malloc_checked})
add_test(NAME np_malloc_checked.preload
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/preload_test.py
        ${np_malloc_checked} ${PROJECT_SOURCE_DIR} $<TARGET_FILE:np_malloc_own_new> Loading Tools)
add_test(NAME np_malloc_checked.misuse
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/checked_test.py
        ${np_malloc_checked} $<TARGET_FILE:np_malloc_wrong_delete> $<TARGET_FILE:np_malloc_own_nothrow_new>
        $<TARGET_FILE:np_malloc_own_delete> $<TARGET_FILE:np_malloc_passes_blocks>)
set_tests_properties(np_malloc_checked.preload np_malloc_checked.misuse PROPERTIES TIMEOUT 300)

add_executable(np_malloc_wrong_delete np_alloc/preload/wrong_delete.cpp)
target_compile_options(np_malloc_wrong_delete PRIVATE -fno-builtin)
add_executable(np_malloc_own_nothrow_new np_alloc/preload/own_nothrow_new.cpp)
target_compile_options(np_malloc_own_nothrow_new PRIVATE -fno-builtin)
add_executable(np_malloc_own_delete np_alloc/preload/own_delete.cpp)
target_compile_options(np_malloc_own_delete PRIVATE -fno-builtin)
add_library(np_malloc_own_operators SHARED np_alloc/preload/own_operators.cpp)
target_link_options(np_malloc_own_operators PRIVATE -Wl,-Bsymbolic)
add_executable(np_malloc_passes_blocks np_alloc/preload/passes_blocks.cpp)
target_compile_options(np_malloc_passes_blocks PRIVATE -fno-builtin)
target_link_libraries(np_malloc_passes_blocks PRIVATE np_malloc_own_operators)

# The heap profiler, in both builds.
add_executable(np_malloc_profiled np_alloc/preload/profiled.cpp)
target_compile_options(np_malloc_profiled PRIVATE -fno-builtin -g)
target_link_libraries(np_malloc_profiled PRIVATE Threads::Threads)
add_test(NAME np_malloc.profile
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/profile_test.py
        $<TARGET_FILE:np_malloc_profiled> ${np_malloc} ${np_malloc_checked})
set_tests_properties(np_malloc.profile PROPERTIES TIMEOUT 120)

# Cores that a debugger writes, of both builds.
add_test(NAME np_malloc.gcore
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/gcore_test.py
        ${np_malloc} ${np_malloc_checked})
set_tests_properties(np_malloc.gcore PROPERTIES TIMEOUT 240 SKIP_RETURN_CODE 77)

# The system calls of both builds and of the programs above.
add_executable(np_malloc_traced np_alloc/preload/traced.cpp)
target_link_libraries(np_malloc_traced PRIVATE memory_pool_warnings Threads::Threads)
target_compile_options(np_malloc_traced PRIVATE -fno-builtin)
add_test(NAME np_malloc.system_calls
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/system_calls_test.py
        ${PROJECT_SOURCE_DIR} ${np_malloc} ${np_malloc_checked} $<TARGET_FILE:np_malloc_traced>
        $<TARGET_FILE:np_malloc_calls> $<TARGET_FILE:np_malloc_own_new>)
set_tests_properties(np_malloc.system_calls PROPERTIES TIMEOUT 240 SKIP_RETURN_CODE 77)

# A program that uses np_alloc only if present: preloaded or linked.
if(MEMORY_POOL_ENABLE_EXAMPLES)
    add_executable(np_malloc_optional ${PROJECT_SOURCE_DIR}/examples/optional_np_alloc.c)
    target_link_libraries(np_malloc_optional PRIVATE memory_pool::np_malloc)
    add_test(NAME np_malloc.optional
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/optional_test.py
            $<TARGET_FILE:optional_np_alloc> $<TARGET_FILE:np_malloc_optional> ${np_malloc} ${np_malloc_checked})
    set_tests_properties(np_malloc.optional PROPERTIES TIMEOUT 120)
endif()

# Guarded samples, in both builds.
add_executable(np_malloc_wrong_access np_alloc/preload/wrong_access.cpp)
target_compile_options(np_malloc_wrong_access PRIVATE -fno-builtin)
add_test(NAME np_malloc.sampled
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/sampled_test.py
        $<TARGET_FILE:np_malloc_wrong_access> ${np_malloc} ${np_malloc_checked})
set_tests_properties(np_malloc.sampled PROPERTIES TIMEOUT 120)

# Tests docs/find-my-bug.md with its program, which needs debug information.
if(MEMORY_POOL_ENABLE_EXAMPLES AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_test(NAME np_malloc.find_my_bug
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/preload/find_my_bug_test.py
            $<TARGET_FILE:find_my_bug> ${np_malloc_checked} ${PROJECT_SOURCE_DIR})
    set_tests_properties(np_malloc.find_my_bug PROPERTIES TIMEOUT 120)
endif()
