# SPDX-License-Identifier: MIT
# Pools across the border of a library that is loaded at run time.
add_library(module_plugin MODULE modules/plugin.cpp)
add_executable(module_host modules/host.cpp)
add_library(module_profiled_plugin MODULE modules/profiled_plugin.cpp)
add_executable(module_unloading_host modules/unloading_host.cpp)
foreach(target module_plugin module_host module_profiled_plugin module_unloading_host)
    target_link_libraries(${target} PRIVATE memory_pool_program memory_pool_warnings ${CMAKE_DL_LIBS})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
add_test(NAME modules.plugin COMMAND module_host $<TARGET_FILE:module_plugin>)
# The library uses what is inline in the program, and is unloaded.
set_target_properties(module_unloading_host PROPERTIES ENABLE_EXPORTS ON)
target_compile_options(module_profiled_plugin PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
add_test(NAME modules.unloading COMMAND module_unloading_host $<TARGET_FILE:module_profiled_plugin>)
set_tests_properties(modules.plugin modules.unloading PROPERTIES TIMEOUT 60)
