# SPDX-License-Identifier: MIT
# Programs that misuse np_alloc: see np_alloc/attacks/attacks.hpp, and np_attacks_test.py for the expected results.
# Independent of the compiler, so run with one only, and not under sanitizers, which handle signals themselves.
if((NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize") AND NOT CMAKE_CXX_CLANG_TIDY)
    return()
endif()
# Attacks that need only malloc and free; benchmarks/attacks.py runs them on any malloc.
add_executable(np_attack_set np_alloc/attack_set/attack_set.cpp)
target_link_libraries(np_attack_set PRIVATE memory_pool_program memory_pool_warnings Threads::Threads)
target_include_directories(np_attack_set PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(np_attack_set PRIVATE -fno-builtin)
add_dependencies(memory_pool_tidy_tests np_attack_set)

file(GLOB sources CONFIGURE_DEPENDS np_alloc/attacks/*.cpp)
list(FILTER sources EXCLUDE REGEX "/as_[a-z_]+\\.cpp$")
add_library(np_attacks_of_all OBJECT ${sources})
target_link_libraries(np_attacks_of_all PRIVATE memory_pool_program memory_pool_warnings)
target_include_directories(np_attacks_of_all PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})

# memory_pool_add_attacks(<library> <source>...)
function(memory_pool_add_attacks library)
    set(program np_attacks_on_${library})
    add_executable(${program} ${ARGN})
    target_link_libraries(${program} PRIVATE
        memory_pool_program memory_pool_warnings np_attacks_of_all memory_pool::${library})
    target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    add_test(NAME np_attacks.${library}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/np_alloc/attacks/np_attacks_test.py
            $<TARGET_FILE:${program}> ${library})
    set_tests_properties(np_attacks.${library} PROPERTIES TIMEOUT 300 PROCESSORS 2)
    add_dependencies(memory_pool_tidy_tests ${program})
endfunction()

foreach(tier "" _checked)
    memory_pool_add_attacks(np_alloc${tier} np_alloc/attacks/as_np_alloc.cpp)
    memory_pool_add_attacks(np_malloc${tier} np_alloc/attacks/as_malloc.cpp np_alloc/preload/np_alloc_by_malloc.cpp)
endforeach()
