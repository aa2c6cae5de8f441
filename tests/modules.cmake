# SPDX-License-Identifier: MIT
# Pools across the border of a library that is loaded at run time.
add_library(module_plugin MODULE modules/plugin.cpp)
add_executable(module_host modules/host.cpp)
foreach(target module_plugin module_host)
    target_link_libraries(${target} PRIVATE memory_pool_program memory_pool_warnings ${CMAKE_DL_LIBS})
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endforeach()
add_test(NAME modules.plugin COMMAND module_host $<TARGET_FILE:module_plugin>)
set_tests_properties(modules.plugin PROPERTIES TIMEOUT 60)
