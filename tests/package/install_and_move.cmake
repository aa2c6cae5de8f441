# SPDX-License-Identifier: MIT
# cmake -D build=<tree> -D config=<configuration> -D root=<directory> -P install_and_move.cmake
# Installs into <root>/installed and moves that to <root>/moved. Removes the results of an earlier run in <root>,
# including the consumers' builds, whose caches would be outdated.
set(first ${root}/installed)
file(REMOVE_RECURSE ${root})
execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${build} --config "${config}" --prefix ${first}
    COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${first} ${first}/*)
foreach(file IN LISTS files)
    file(STRINGS ${first}/${file} lines)
    foreach(line IN LISTS lines)
        string(FIND "${line}" "${first}" position)
        if(NOT position EQUAL -1)
            message(SEND_ERROR "${file} names the directory it was installed to: ${line}")
        endif()
    endforeach()
endforeach()

file(RENAME ${first} ${root}/moved)
