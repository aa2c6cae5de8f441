# SPDX-License-Identifier: MIT
# Under MemorySanitizer, memory of destroyed objects is undefined, but objects that a pool recycles stay defined.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

add_executable(msan_shared_pool msan/shared_pool.cpp)
target_link_libraries(msan_shared_pool PRIVATE memory_pool_program memory_pool_warnings)
target_compile_options(msan_shared_pool PRIVATE -fsanitize=memory)
target_link_options(msan_shared_pool PRIVATE -fsanitize=memory)
add_test(NAME msan.shared_pool COMMAND msan_shared_pool)
set_tests_properties(msan.shared_pool PROPERTIES TIMEOUT 60)
