# SPDX-License-Identifier: MIT
# Policies that notify other tools of the blocks of a pool. The test of the Tracy policy uses a stub of Tracy's macros.
# The tests of the heaptrack and massif policies need the headers of these tools.
find_path(MEMORY_POOL_HEAPTRACK_INCLUDE heaptrack_api.h)
set(observers tracy)
if(MEMORY_POOL_HEAPTRACK_INCLUDE)
    list(APPEND observers heaptrack)
endif()
foreach(observer IN LISTS observers)
    add_executable(observers_${observer} observers/${observer}_policy_test.cpp)
    target_link_libraries(observers_${observer}
        PRIVATE memory_pool_program memory_pool_warnings GTest::gtest_main)
    target_include_directories(observers_${observer} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/observers/stubs)
    add_dependencies(memory_pool_tidy_tests observers_${observer})
    add_test(NAME observers.${observer} COMMAND observers_${observer})
endforeach()

if(MEMORY_POOL_VALGRIND_PROGRAM AND MEMORY_POOL_VALGRIND_INCLUDE AND NOT CMAKE_CROSSCOMPILING)
    add_executable(observers_massif observers/massif.cpp)
    target_link_libraries(observers_massif PRIVATE memory_pool_program memory_pool_warnings)
    target_include_directories(observers_massif PRIVATE ${MEMORY_POOL_VALGRIND_INCLUDE})
    target_compile_options(observers_massif PRIVATE -g)
    add_test(NAME observers.massif
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/observers/massif_test.py
            ${MEMORY_POOL_VALGRIND_PROGRAM} $<TARGET_FILE:observers_massif>)
endif()
