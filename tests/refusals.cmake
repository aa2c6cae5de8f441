# SPDX-License-Identifier: MIT
# What no pool can be made for does not compile, and the compiler says why, in words of the library.
set(single "a pool is for single objects: pool an array in a struct")
set(objects "a pool is for objects, not for references, functions or void")
set(abstract "objects of an abstract class cannot be made")
set(incomplete "the objects of the pool have an incomplete type here: include the header that defines it")
set(policy "a policy has two constants, counts and checks")
set(leaks "a policy about leaks is for pools whose objects return by themselves")
set(counting "this resource does not count: put a tracking_resource before it")
set(waiting "waiting is for pools that threads share")
set(options_of_blocks
    "a pool of blocks takes the bytes of a block, a pool_options, and then a memory.*initial_capacity")
set(options_of_objects "an object pool takes a pool_options, and then a memory resource.*initial_capacity")
set(options "a pool takes a pool_options, and then a memory resource.*initial_capacity")
set(options_of_kept "a recycling pool takes a recycle, or a function of an object, a.*initial_capacity")

set(refused_1 "${objects}")
set(refused_2 "${objects}")
set(refused_3 "${single}")
set(refused_4 "${abstract}")
set(refused_5 "make the destructor public")
set(refused_6 "destroying a pooled object must not throw")
set(refused_7 "${policy}")
set(refused_8 "an allocator is for objects that are neither const nor volatile")
set(refused_9 "${incomplete}")
set(refused_10 "${objects}")
set(refused_11 "${waiting}")
set(refused_12 "${waiting}")
set(refused_13 "${waiting}")
set(refused_14 "${waiting}")
set(refused_15 "${waiting}")
set(refused_16 "${waiting}")
set(refused_17 "${options_of_blocks}")
set(refused_18 "${options_of_blocks}")
set(refused_19 "${options_of_blocks}")
set(refused_20 "${options_of_objects}")
set(refused_21 "${options_of_objects}")
set(refused_22 "an arena resource takes an arena_options, and then a memory resource.*arena_count")
set(refused_23 "an arena resource takes an arena_options, and then a memory resource.*arena_count")
set(refused_24 "a pool resource takes a std::pmr::pool_options, and then a memory resource")
set(refused_25 "${options}")
set(refused_26 "${options_of_kept}")
set(refused_27 "${policy}")
set(refused_28 "${policy}")
set(refused_29 "${policy}")
set(refused_30 "${policy}")
set(refused_31 "${objects}")
set(refused_32 "${incomplete}")
set(refused_33 "${single}")
set(refused_34 "objects that return by themselves are neither const nor volatile")
set(refused_35 "${abstract}")
set(refused_36 "destroying a pooled object must not throw, and its destructor must be public")
set(refused_37 "${objects}")
set(refused_38 "give.*them a default constructor, and an.*init")
set(refused_39 "${abstract}")
set(refused_40 "checking fills free blocks, but here objects live in them: use a shared_pool")
set(refused_41 "${leaks}")
set(refused_42 "${leaks}")
set(refused_43 "${counting}")
set(refused_44 "${counting}")
set(refused_45 "${leaks}")
set(refused_46 "${leaks}")
set(refused_47 "${options_of_blocks}")
set(refused_48 "${options_of_objects}")
set(refused_49 "${options}")
set(refused_50 "${options_of_kept}")
set(refused_51 "${waiting}")
set(refused_52 "${waiting}")
set(refused_53 "${waiting}")
set(refused_54 "${waiting}")
set(refused_55 "allocate_unique is for single objects: use a container for an array")
set(refused_56 "an owner of a base needs one with a virtual destructor")
# Headers that need Boost.
set(refused_57 "give the objects of the pool a constructor for these arguments")
set(refused_58 "derive the objects of the pool from memory_pool::pooled")
set(refused_59 "derive the objects of the pool from memory_pool::pooled")
set(refused_60 "${incomplete}")
set(refused_61 "${abstract}")
set(refused_62 "destroying a pooled object must not throw, and its destructor must be public")
set(refused_63 "give.*them a default constructor, and an.*init")
set(refused_64 "${policy}")
set(refused_65 "${options}")
set(refused_66 "${options_of_kept}")
set(refused_67 "checking fills free blocks, but here objects live in them: use an.*intrusive_pool")

set(refusals 56)
if(Boost_FOUND)
    set(refusals 67)
endif()
separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
set(compile ${CMAKE_CXX_COMPILER} ${flags} -std=c++17 -I${PROJECT_SOURCE_DIR}/include)

# What types.cpp includes is compiled once, not in each test. A compiler that cannot use that takes the header itself.
set(precompiled ${CMAKE_CURRENT_BINARY_DIR}/refusals/included.hpp)
file(CONFIGURE OUTPUT ${precompiled} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/refusals/included.hpp\"\n")
add_custom_command(OUTPUT ${precompiled}.gch
    COMMAND ${compile}
        -x c++-header ${precompiled} -o ${precompiled}.gch -MD -MF ${precompiled}.d -MT ${precompiled}.gch
    DEPENDS ${precompiled} DEPFILE ${precompiled}.d VERBATIM)
add_custom_target(refusals_precompiled ALL DEPENDS ${precompiled}.gch)

# memory_pool_add_refusals(<prefix> <source> <last> <before> <flag>...): tests that `source` compiles with REFUSED=0,
# and with each number up to `last` fails with the message in refused_<number>, after what `before` matches. A single
# error: a second one would be a follow-up of the first.
set(second_error "error: .*error: ")
function(memory_pool_add_refusals prefix source last before)
    foreach(refused RANGE ${last})
        set(name refusals.${prefix}${refused})
        add_test(NAME ${name} COMMAND ${compile} -fsyntax-only -DREFUSED=${refused} ${ARGN}
            ${CMAKE_CURRENT_SOURCE_DIR}/refusals/${source})
        set_tests_properties(${name} PROPERTIES TIMEOUT 120)
        if(refused GREATER 0)
            set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "error: ${before}${refused_${refused}}"
                FAIL_REGULAR_EXPRESSION "${second_error}")
        endif()
    endforeach()
endfunction()
memory_pool_add_refusals("" types.cpp ${refusals} "[^\n]*" -include ${precompiled})

# Frames of coroutines.
set(refused_1 "[^\n]*a pooled_frame has pools of its own: derive the promise from resource_frame for a resource")
set(refused_2 "${refused_1}")
set(refused_3 "[^\n]*a resource_frame takes a pointer to a std::pmr::memory_resource")
set(refused_4 "${refused_3}")
set(refused_5 "[^\n]*the alignment of frames is a power of two, and that of std::max_align_t at least")
set(refused_6 "${refused_5}")
set(refused_7 "[^\n]*${counting}")
memory_pool_add_refusals(frames_ frames.cpp 7 "")

# Indices do not convert to counts, nor counts to indices.
if(TARGET memory_pool_np_alloc)
    set(mismatch "(cannot convert [^\n]* to|cannot initialize a parameter of type) [^\n]*")
    set(refused_1 "${mismatch}slice_index")
    set(refused_2 "${mismatch}(size_t|unsigned long)")
    memory_pool_add_refusals(counts_ counts.cpp 2 "" -I${PROJECT_SOURCE_DIR}/src)
endif()

# Clang's thread safety analysis rejects uses of guarded members without their lock.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND TARGET memory_pool_np_alloc)
    set(refused_1 "writing variable 'count_' requires holding mutex 'mutex_' exclusively")
    set(refused_2 "calling function 'count_locked' requires holding mutex 'mutex_' exclusively")
    set(refused_3 "acquiring mutex 'mutex_' that is already held")
    set(refused_4 "mutex 'mutex_' is not held on every path through here")
    set(refused_5 "reading variable 'slabs_' requires holding mutex 'mutex_'")
    set(refused_6 "calling function 'gather' requires holding mutex 'mutex_' exclusively")
    set(refused_7 "calling function 'drain' requires holding mutex 'heap.mutex_' exclusively")
    memory_pool_add_refusals(locks_ locks.cpp 7 ""
        -Wthread-safety -Wthread-safety-beta -Werror -I${PROJECT_SOURCE_DIR}/src)
endif()

# Compilers warn of lost blocks of np_alloc, in C and C++, and of writes past their end where they look for those.
if(TARGET memory_pool_np_alloc)
    separate_arguments(c_flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
    set(language_C ${CMAKE_C_COMPILER} ${c_flags} -std=c11)
    set(language_CXX ${CMAKE_CXX_COMPILER} ${flags} -std=c++17 -x c++)
    set(refusals RANGE 4)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        set(refusals RANGE 6)
    endif()
    foreach(language IN ITEMS C CXX)
        foreach(refused ${refusals})
            set(name refusals.np_alloc_${language}_${refused})
            add_test(NAME ${name}
                COMMAND ${language_${language}} -O2 -Wall -Wextra -Wpedantic -Werror -DREFUSED=${refused}
                    -I${PROJECT_SOURCE_DIR}/include -c -o ${CMAKE_CURRENT_BINARY_DIR}/refusals/${language}_${refused}.o
                    ${CMAKE_CURRENT_SOURCE_DIR}/refusals/np_alloc.c)
            set_tests_properties(${name} PROPERTIES TIMEOUT 120)
            if(refused GREATER 4)
                set_tests_properties(${name} PROPERTIES
                    PASS_REGULAR_EXPRESSION "error: [^\n]*(stringop-overflow|array-bounds)"
                    FAIL_REGULAR_EXPRESSION "${second_error}")
            elseif(refused GREATER 0)
                set_tests_properties(${name} PROPERTIES
                    PASS_REGULAR_EXPRESSION "error: ignoring return value of [^\n]*(unused-result|unused-value)"
                    FAIL_REGULAR_EXPRESSION "${second_error}")
            endif()
        endforeach()
    endforeach()
endif()

# No header compiles in an older C++ than it needs; programs for the drop-ins may use one.
file(GLOB headers CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/include/memory_pool/*.hpp
    ${PROJECT_SOURCE_DIR}/drop_in/*.h* ${PROJECT_SOURCE_DIR}/drop_in/*/*.hpp)
foreach(header IN LISTS headers)
    set(too_old 14)
    set(refusal "these headers need C\\+\\+17")
    if(header MATCHES "drop_in/np_alloc\\.h$")
        set(too_old 11)
        set(refusal "this header needs C\\+\\+14")
    endif()
    cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    add_test(NAME refusals.older_language/${name}
        COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++${too_old} -fsyntax-only -I${PROJECT_SOURCE_DIR}/include
            -include ${header} ${CMAKE_CURRENT_SOURCE_DIR}/refusals/nothing.cpp)
    set_tests_properties(refusals.older_language/${name} PROPERTIES TIMEOUT 120
        PASS_REGULAR_EXPRESSION "${refusal}" FAIL_REGULAR_EXPRESSION "${second_error}")
endforeach()
