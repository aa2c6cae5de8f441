# SPDX-License-Identifier: MIT
# Attacks on any malloc, by malloc and free alone: see np_alloc/attack_set/attack_set.cpp, attack_set_test.py for the
# expected results under libnp_malloc.so and libnp_malloc_checked.so, and benchmarks/attacks.py for other mallocs.
# Independent of the compiler, so run with one only; and not under sanitizers, which have a malloc of their own.
if((NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize") AND NOT CMAKE_CXX_CLANG_TIDY)
    return()
endif()
add_executable(np_attack_set np_alloc/attack_set/attack_set.cpp)
target_link_libraries(np_attack_set PRIVATE memory_pool_program memory_pool_warnings Threads::Threads)
target_include_directories(np_attack_set PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(np_attack_set PRIVATE -fno-builtin)
add_dependencies(memory_pool_tidy_tests np_attack_set)
foreach(tier "" _checked)
    add_test(NAME np_attack_set.np_malloc${tier}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/attack_set/attack_set_test.py
            $<TARGET_FILE:np_attack_set> $<TARGET_FILE:memory_pool_np_malloc${tier}>)
    set_tests_properties(np_attack_set.np_malloc${tier} PROPERTIES TIMEOUT 300 PROCESSORS 2)
endforeach()
