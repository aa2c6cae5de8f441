# SPDX-License-Identifier: MIT
# cmake -D source=<directory> -D root=<directory> -D generator=<name> -D compiler=<file> -D options=<option>,...
#     -D absent=<pattern>,... -P install_variant.cmake
# Builds the project with the options and installs it into <root>/installed. Fails if an installed file matches a
# pattern.
file(REMOVE_RECURSE ${root})
string(REPLACE "," ";" options "${options}")
list(TRANSFORM options PREPEND -D)
execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${source} -B ${root}/build -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
        -D CMAKE_BUILD_TYPE=Debug # fastest to build
        -D MEMORY_POOL_ENABLE_TESTING=OFF -D MEMORY_POOL_ENABLE_BENCHMARKING=OFF -D MEMORY_POOL_ENABLE_EXAMPLES=OFF
        ${options}
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${root}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${root}/build --prefix ${root}/installed
    COMMAND_ERROR_IS_FATAL ANY)

string(REPLACE "," ";" absent "${absent}")
list(TRANSFORM absent PREPEND ${root}/installed/)
file(GLOB_RECURSE left_over LIST_DIRECTORIES false ${absent})
if(left_over)
    message(SEND_ERROR "these files must not be installed: ${left_over}")
endif()
