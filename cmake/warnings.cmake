# SPDX-License-Identifier: MIT
# memory_pool_warnings: linked by this project's own programs, never by a target that users link.
add_library(memory_pool_warnings INTERFACE)

if(MSVC)
    target_compile_options(memory_pool_warnings INTERFACE /W4 /permissive-)
    if(MEMORY_POOL_WARNINGS_AS_ERRORS)
        target_compile_options(memory_pool_warnings INTERFACE /WX)
    endif()
    return()
endif()

target_compile_options(memory_pool_warnings INTERFACE
    -Wall -Wextra -Wpedantic
    -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wshadow
    -Wundef                     # a misspelt macro in an #if is 0 without a word
    -Wformat=2
    -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wlogical-op>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-cond>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-branches>)
if(MEMORY_POOL_WARNINGS_AS_ERRORS)
    target_compile_options(memory_pool_warnings INTERFACE -Werror)
endif()
