# SPDX-License-Identifier: MIT
# cmake -D build=<tree> -D config=<configuration> -D root=<directory> -D libdir=<relative> -D includedir=<relative>
#     -D pkg_config=<file> -D compiler=<file> -P pkg_config_flags.cmake
# Tests the pkg-config flags of the copy in <root>/moved and of a copy for /usr, installed into <root>/stage.
set(source ${CMAKE_CURRENT_LIST_DIR}/drop_in.cpp)

# ask(<variable> <directory> <environment or argument of pkg-config>...): sets the variable to the printed flags
function(ask variable directory)
    set(environment PKG_CONFIG_LIBDIR=${directory}/${libdir}/pkgconfig PKG_CONFIG_PATH=)
    set(options)
    foreach(each IN LISTS ARGN)
        if(each MATCHES "^[A-Z_]+=")
            list(APPEND environment ${each})
        else()
            list(APPEND options ${each})
        endif()
    endforeach()
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env ${environment} ${pkg_config} --cflags ${options}
        OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${variable} "${flags}" PARENT_SCOPE)
endfunction()

# The headers cause this warning. -isystem must suppress it there, although it is an error in the user's source.
function(compile flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    execute_process(COMMAND ${compiler} -std=c++17 -fsyntax-only -Werror -Wswitch-default ${flags} ${source}
        RESULT_VARIABLE result ERROR_VARIABLE errors)
    if(result)
        message(SEND_ERROR "with ${flags}:\n${errors}")
    endif()
endfunction()

set(moved ${root}/moved)
ask(flags ${moved} memory_pool_drop_in)
compile("${flags}")
ask(flags ${moved} --define-prefix memory_pool_drop_in)
compile("${flags}")
ask(flags ${moved} PKG_CONFIG_SYSROOT_DIR=${root} memory_pool_drop_in)
compile("${flags}")

file(REMOVE "${root}/with a space")
file(CREATE_LINK ${moved} "${root}/with a space" SYMBOLIC)
ask(flags "${root}/with a space" memory_pool_drop_in)
if(NOT flags MATCHES "with.*space")
    message(SEND_ERROR "for a directory with spaces in its name: ${flags}")
endif()
compile("${flags}")

set(stage ${root}/stage)
file(REMOVE_RECURSE ${stage})
execute_process(
    COMMAND ${CMAKE_COMMAND} -E env DESTDIR=${stage}
        ${CMAKE_COMMAND} --install ${build} --config "${config}" --prefix /usr
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
ask(flags ${stage}/usr memory_pool)
if(flags MATCHES "-isystem" OR NOT flags MATCHES "^-I[^ ]*/${includedir}$")
    message(SEND_ERROR "for /usr/include, a default include directory: ${flags}")
endif()
# The drop-ins are in a subdirectory, which is not a default include directory.
ask(flags ${stage}/usr memory_pool_drop_in)
if(NOT flags MATCHES "-isystem[^ ]*/${includedir}/memory_pool_drop_in( |$)"
   OR flags MATCHES "-isystem[^ ]*/${includedir}( |$)")
    message(SEND_ERROR "for the drop-ins below /usr/include: ${flags}")
endif()
# With -I/usr/include, the compiler's own headers still find the headers of the C library. The flag replaces the staged
# directory, which is searched last, like /usr/include.
string(REGEX REPLACE "-I[^ ]*/${includedir}( |$)"
    "-I/usr/include -idirafter ${stage}/usr/${includedir}\\1" flags "${flags}")
compile("${flags}")
