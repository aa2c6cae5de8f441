# SPDX-License-Identifier: MIT
# cmake -D source=<directory> -D build=<directory> -D compiler=<file> -P postfix.cmake
# CMAKE_DEBUG_POSTFIX in a multi-config build: the .pc and CPS files name the libraries of their configurations.
file(REMOVE_RECURSE ${build})
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${build} -G "Ninja Multi-Config" -D CMAKE_CXX_COMPILER=${compiler}
        -D CMAKE_DEBUG_POSTFIX=_debug
        -D MEMORY_POOL_ENABLE_TESTING=OFF -D MEMORY_POOL_ENABLE_BENCHMARKING=OFF -D MEMORY_POOL_ENABLE_EXAMPLES=OFF
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# expect_name(<file> <text>): fails unless the file contains the text
function(expect_name file text)
    file(READ ${build}/${file} content)
    string(FIND "${content}" "${text}" place)
    if(place EQUAL -1)
        message(SEND_ERROR "${file} does not have `${text}`:\n${content}")
    endif()
endfunction()

foreach(configuration IN ITEMS Debug Release)
    set(postfix)
    if(configuration STREQUAL Debug)
        set(postfix _debug)
    endif()
    foreach(suffix IN ITEMS "" _checked)
        set(library memory_pool_np_alloc${suffix}${postfix})
        expect_name(cps/${configuration}/memory_pool.cps "/lib${library}.a\"")
        foreach(variant IN ITEMS usr elsewhere)
            expect_name(pkgconfig/${variant}/${configuration}/memory_pool_np_alloc${suffix}.pc " -l${library} ")
        endforeach()
    endforeach()
endforeach()
