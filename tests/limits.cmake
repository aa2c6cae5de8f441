# SPDX-License-Identifier: MIT
# np_alloc, and malloc of libnp_malloc.so, in processes whose memory is limited: see np_alloc/api/limits.cpp.
add_executable(limits_np_alloc np_alloc/api/limits.cpp)
target_link_libraries(limits_np_alloc PRIVATE memory_pool::np_alloc)
add_executable(limits_np_malloc np_alloc/api/limits.cpp np_alloc/preload/np_alloc_by_malloc.cpp)
target_link_libraries(limits_np_malloc PRIVATE memory_pool::np_malloc)
add_executable(limits_np_alloc_checked np_alloc/api/limits.cpp)
target_link_libraries(limits_np_alloc_checked PRIVATE memory_pool::np_alloc_checked)
foreach(library np_alloc np_malloc np_alloc_checked)
    target_link_libraries(limits_${library} PRIVATE memory_pool_program memory_pool_warnings)
    target_include_directories(limits_${library} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    add_dependencies(memory_pool_tidy_tests limits_${library})
    set(limits "small_blocks 128" "late_limit 128" "max_data 256" "data 40" "data 64")
    if(NOT library STREQUAL "np_alloc_checked")
        list(APPEND limits
            "address_space 64" "address_space 1024" "address_space 8192"
            "locked_memory 64" "locked_memory 8192" "locked_later 8192" locked overcommit)
    endif()
    if(library STREQUAL "np_alloc") # malloc allocates before the program can set a limit
        list(APPEND limits "last_addresses 2")
    endif()
    foreach(limit IN LISTS limits)
        separate_arguments(arguments UNIX_COMMAND "${limit}")
        string(REPLACE " " "_" name "${limit}")
        add_test(NAME limits.${library}_${name} COMMAND limits_${library} ${arguments})
        set_tests_properties(limits.${library}_${name} PROPERTIES TIMEOUT 60 SKIP_RETURN_CODE 77)
    endforeach()
endforeach()
