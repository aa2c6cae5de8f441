# SPDX-License-Identifier: MIT
# What no pool can be made for does not compile, and the compiler says why, in words of the library.
set(refused_1 "a pool is for objects, not for references")
set(refused_2 "a pool is for objects, not for references, functions or void")
set(refused_3 "pool an array in a struct")
set(refused_4 "objects of an abstract class cannot be made")
set(refused_5 "make the destructor public")
set(refused_6 "destroying a pooled object must not throw")
set(refused_7 "a policy has two constants, counts and checks")
set(refused_8 "an allocator is for objects that are neither const nor volatile")

separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
foreach(refused RANGE 8)
    add_test(NAME refusals.${refused}
        COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++17 -fsyntax-only -DREFUSED=${refused} -I${PROJECT_SOURCE_DIR}/include
            ${CMAKE_CURRENT_SOURCE_DIR}/refusals/types.cpp)
    set_tests_properties(refusals.${refused} PROPERTIES TIMEOUT 120)
    if(DEFINED refused_${refused})
        set_tests_properties(refusals.${refused} PROPERTIES PASS_REGULAR_EXPRESSION "${refused_${refused}}")
    endif()
endforeach()
