# SPDX-License-Identifier: MIT
# The scripts of tools/debuggers, on a process and on its core. Skips debuggers that are not installed. Slow, so only
# with one preset of each compiler.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_CROSSCOMPILING OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux"
   OR NOT "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_FLAGS}" MATCHES "^GNU|-stdlib=")
    return()
endif()

add_executable(debuggers_pools debuggers/pools.cpp)
target_link_libraries(debuggers_pools PRIVATE memory_pool_program memory_pool_warnings)
# Optimized like a user's program, with debug information.
target_compile_options(debuggers_pools PRIVATE -O2 -g)
target_compile_definitions(debuggers_pools PRIVATE MEMORY_POOL_TEST_INTRUSIVE=$<BOOL:${Boost_FOUND}>)

foreach(debugger IN ITEMS gdb lldb)
    add_test(NAME debuggers.${debugger}
        COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/debuggers/debuggers_test.py
            $<TARGET_FILE:debuggers_pools> ${debugger})
endforeach()
add_test(NAME debuggers.natvis
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/debuggers/natvis_test.py $<TARGET_FILE:debuggers_pools>)
set_tests_properties(debuggers.gdb debuggers.lldb debuggers.natvis PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
