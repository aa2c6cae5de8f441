# SPDX-License-Identifier: MIT
# Tests of libnp_malloc.so and the dynamic loader.
#   loader.late_*   loaded at run time. Its thread-local storage must fit into the static TLS surplus of the C library:
#                   with a larger surplus, loading must succeed; otherwise it may fail
#   loader.plugin   loads and closes a library with its own np_alloc many times
#   loader.early*   malloc before main, with and without an auditor
#   loader.late_cxx a C program without a C++ library until it loads a module that runs out of memory

# memory_pool_add_loader_program(<name>): tests/loader/<name>.cpp
function(memory_pool_add_loader_program name)
    add_executable(loader_${name} loader/${name}.cpp)
    target_link_libraries(loader_${name} PRIVATE memory_pool_program memory_pool_warnings ${CMAKE_DL_LIBS})
    target_include_directories(loader_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    add_dependencies(memory_pool_tidy_tests loader_${name})
endfunction()

memory_pool_add_loader_program(late_load)
add_test(NAME loader.late_load COMMAND loader_late_load $<TARGET_FILE:memory_pool_np_malloc>)
add_test(NAME loader.late_load_with_room COMMAND loader_late_load $<TARGET_FILE:memory_pool_np_malloc> must)
set(enough_room GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536)
set_tests_properties(loader.late_load loader.late_load_with_room PROPERTIES TIMEOUT 60)
set_tests_properties(loader.late_load_with_room PROPERTIES ENVIRONMENT ${enough_room})

memory_pool_add_loader_program(plugin_host)
add_library(loader_plugin MODULE loader/plugin.cpp)
target_link_libraries(loader_plugin PRIVATE memory_pool_program memory_pool_warnings memory_pool::np_alloc)
# Otherwise the loader never unloads it, since other modules might use its inline functions.
set_target_properties(loader_plugin PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
add_dependencies(loader_plugin_host loader_plugin)
add_test(NAME loader.plugin COMMAND loader_plugin_host $<TARGET_FILE:loader_plugin>)
add_test(NAME loader.plugin_with_background_thread COMMAND loader_plugin_host $<TARGET_FILE:loader_plugin>)
set_tests_properties(loader.plugin loader.plugin_with_background_thread PROPERTIES TIMEOUT 60)
set_tests_properties(loader.plugin PROPERTIES ENVIRONMENT ${enough_room})
set_tests_properties(
    loader.plugin_with_background_thread PROPERTIES ENVIRONMENT "${enough_room};NP_BACKGROUND_THREAD=1;NP_DECAY_MS=1"
)

# Allocation before main.
add_library(loader_early_library SHARED loader/early_library.cpp)
add_library(loader_audit MODULE loader/audit.cpp)
foreach(library early_library audit)
    target_link_libraries(loader_${library} PRIVATE memory_pool_program memory_pool_warnings)
    target_compile_options(loader_${library} PRIVATE -fno-builtin) # keeps pairs of malloc and free
    add_dependencies(memory_pool_tidy_tests loader_${library})
endforeach()

# memory_pool_add_early_test(<test> <program> <expected output> <environment>...): runs under libnp_malloc.so.
function(memory_pool_add_early_test test program says)
    add_test(NAME loader.${test} COMMAND ${program})
    set_tests_properties(loader.${test} PROPERTIES TIMEOUT 60 PASS_REGULAR_EXPRESSION "${says}"
        ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:memory_pool_np_malloc>;${ARGN}")
endfunction()

memory_pool_add_loader_program(early)
target_link_libraries(loader_early PRIVATE loader_early_library)
target_compile_options(loader_early PRIVATE -fno-builtin)
memory_pool_add_early_test(early loader_early "all blocks were intact")
memory_pool_add_early_test(early_audited loader_early "audited\nall blocks were intact"
    "LD_AUDIT=$<TARGET_FILE:loader_audit>")

memory_pool_add_loader_program(resolver)
target_compile_options(loader_resolver PRIVATE -fno-builtin)
memory_pool_add_early_test(resolver loader_resolver "all blocks were intact")

add_executable(loader_cxx_host loader/cxx_host.c)
target_link_libraries(loader_cxx_host PRIVATE memory_pool_warnings ${CMAKE_DL_LIBS})
add_library(loader_cxx_module MODULE loader/cxx_module.cpp)
target_link_libraries(loader_cxx_module PRIVATE memory_pool_program memory_pool_warnings)
target_include_directories(loader_cxx_module PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
add_dependencies(memory_pool_tidy_tests loader_cxx_module)
add_test(NAME loader.late_cxx COMMAND loader_cxx_host $<TARGET_FILE:loader_cxx_module>)
set_tests_properties(loader.late_cxx PROPERTIES TIMEOUT 60
    ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:memory_pool_np_malloc>)
