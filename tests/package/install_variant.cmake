# SPDX-License-Identifier: MIT
# cmake -D source=<directory> -D root=<directory> -D generator=<name> -D compiler=<file>
#     -P install_without_np_alloc.cmake
# Installs a build without np_alloc into <root>/installed.
file(REMOVE_RECURSE ${root})
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${root}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
        -D MEMORY_POOL_ENABLE_NP_ALLOC=OFF -D MEMORY_POOL_ENABLE_TESTING=OFF -D MEMORY_POOL_ENABLE_BENCHMARKING=OFF
        -D MEMORY_POOL_ENABLE_EXAMPLES=OFF
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${root}/build --prefix ${root}/installed
    COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE left_over LIST_DIRECTORIES false ${root}/installed/*np_*)
if(left_over)
    message(SEND_ERROR "installed without np_alloc, but there: ${left_over}")
endif()
