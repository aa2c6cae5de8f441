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
set(refused_9 "give the objects of the pool a constructor for these arguments")

set(refusals RANGE 8)
if(Boost_FOUND)
    set(refusals RANGE 9)
endif()
separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
foreach(refused ${refusals})
    add_test(NAME refusals.${refused}
        COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++17 -fsyntax-only -DREFUSED=${refused} -I${PROJECT_SOURCE_DIR}/include
            ${CMAKE_CURRENT_SOURCE_DIR}/refusals/types.cpp)
    set_tests_properties(refusals.${refused} PROPERTIES TIMEOUT 120)
    if(DEFINED refused_${refused})
        set_tests_properties(refusals.${refused} PROPERTIES PASS_REGULAR_EXPRESSION "${refused_${refused}}")
    endif()
endforeach()

# Nor does a drop-in in an older language, in which there are programs that it is for. np_alloc.h does without C++17.
file(GLOB drop_ins CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/drop_in/*.h* ${PROJECT_SOURCE_DIR}/drop_in/*/*.hpp)
foreach(header IN LISTS drop_ins)
    cmake_path(GET header STEM name)
    set(too_old 14)
    set(refusal "these headers need C\\+\\+17")
    if(name STREQUAL "np_alloc")
        set(too_old 11)
        set(refusal "this header needs C\\+\\+14")
    endif()
    add_test(NAME refusals.older_language.${name}
        COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++${too_old} -fsyntax-only -I${PROJECT_SOURCE_DIR}/include
            -include ${header} ${CMAKE_CURRENT_SOURCE_DIR}/refusals/nothing.cpp)
    set_tests_properties(refusals.older_language.${name} PROPERTIES TIMEOUT 120 PASS_REGULAR_EXPRESSION "${refusal}")
endforeach()
