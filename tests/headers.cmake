# SPDX-License-Identifier: MIT
# Tests of every header in every language level of MEMORY_POOL_TEST_STANDARDS:
#   headers_linked_<level>   two sources with all the headers, in opposite orders, in one program: no duplicate
#                            definitions. Without np_new_delete.hpp, whose operators must not be inline
# And in the first language level:
#   headers_alone            one source per header, which includes only that header, twice: it is self-sufficient and
#                            guarded, and does not use the words that Qt defines as macros
#   headers_noexcept         as headers_linked, without exceptions and RTTI
#   headers_c                include/memory_pool/*.h as C
#   headers_used             headers/*.cpp, which use every public class template with every policy, as a user's
#                            translation unit with more warnings than this project's own: see memory_pool_user_warnings
#                            in cmake/warnings.cmake. With GCC at -O2, which some warnings need.

file(GLOB_RECURSE library_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/include/*.hpp ${PROJECT_SOURCE_DIR}/include/*.h)
file(GLOB_RECURSE drop_in_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/drop_in
    ${PROJECT_SOURCE_DIR}/drop_in/*.hpp ${PROJECT_SOURCE_DIR}/drop_in/*.h)
set(headers ${library_headers} ${drop_in_headers})
memory_pool_drop_unbuildable(headers)

set(generated ${CMAKE_CURRENT_BINARY_DIR}/headers)

# memory_pool_including_sources(<variable> <extension> <header>...): a source for each header.
function(memory_pool_including_sources variable extension)
    set(sources)
    foreach(header IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER ${header} stem)
        set(source ${generated}/${stem}.${extension})
        file(CONFIGURE OUTPUT ${source} CONTENT
            "#include <${header}>\n#include <${header}>\ntypedef int not_empty; /* As C wants it. */\n")
        list(APPEND sources ${source})
    endforeach()
    set(${variable} ${sources} PARENT_SCOPE)
endfunction()

set(headers_alone ${headers})
if(CMAKE_CXX_FLAGS MATCHES "-stdlib=")
    # Only the headers that users include; internal headers are tested with one C++ library.
    list(FILTER headers_alone EXCLUDE REGEX "^memory_pool/(base|os|core)/")
elseif(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(headers_alone) # Compiled without a sanitizer by the same compiler, and linked here, too.
endif()
memory_pool_including_sources(alone cpp ${headers_alone})
set(c_headers ${library_headers})
list(FILTER c_headers INCLUDE REGEX "\\.h$")
memory_pool_including_sources(alone_c c ${c_headers})

# The snippets of the documentation use all_headers.hpp, too.
list(REMOVE_ITEM headers memory_pool/np_new_delete.hpp)
list(TRANSFORM headers REPLACE "^(.+)$" "#include <\\1>" OUTPUT_VARIABLE lines)
list(JOIN lines "\n" text)
file(CONFIGURE OUTPUT ${generated}/all/all_headers.hpp CONTENT "#pragma once\n${text}\n")
file(CONFIGURE OUTPUT ${generated}/all/first.cpp CONTENT "#include \"all_headers.hpp\"\nint main() {}\n")
list(REVERSE lines)
list(JOIN lines "\n" text)
file(CONFIGURE OUTPUT ${generated}/all/second.cpp CONTENT "${text}\n")

foreach(level IN LISTS MEMORY_POOL_TEST_STANDARDS)
    if(NOT cxx_std_${level} IN_LIST CMAKE_CXX_COMPILE_FEATURES)
        message(STATUS "memory_pool: the compiler does not know C++${level}")
        continue()
    endif()
    set(linked headers_linked_${level})
    add_executable(${linked} ${generated}/all/first.cpp ${generated}/all/second.cpp)
    set_target_properties(${linked} PROPERTIES CXX_STANDARD ${level})
    target_link_libraries(${linked} PRIVATE memory_pool_program memory_pool_warnings)
    add_test(NAME headers.linked_${level} COMMAND ${linked})
    add_dependencies(memory_pool_tidy ${linked})
endforeach()

if(alone)
    list(GET MEMORY_POOL_TEST_STANDARDS 0 level)
    add_library(headers_alone OBJECT ${alone})
    set_target_properties(headers_alone PROPERTIES CXX_STANDARD ${level})
    target_link_libraries(headers_alone PRIVATE memory_pool_program memory_pool_warnings)
    target_compile_definitions(headers_alone PRIVATE "slots=" "signals=public" "emit=" "foreach=for")
    add_library(headers_noexcept OBJECT ${generated}/all/first.cpp ${generated}/all/second.cpp)
    target_link_libraries(headers_noexcept PRIVATE memory_pool_program memory_pool_warnings)
    target_compile_options(headers_noexcept PRIVATE -fno-exceptions -fno-rtti)
endif()

# Also compiles all public headers without using them, which covers new ones.
set(public_headers ${headers})
list(FILTER public_headers EXCLUDE REGEX "^memory_pool/(base|os|core)/")
list(TRANSFORM public_headers REPLACE "^(.+)$" "#include <\\1>" OUTPUT_VARIABLE lines)
list(JOIN lines "\n" text)
file(CONFIGURE OUTPUT ${generated}/all/public.cpp CONTENT "${text}\n")
file(GLOB using CONFIGURE_DEPENDS headers/*.cpp)
memory_pool_drop_unbuildable(using)
# memory_pool_add_used_headers(<target> <compiler option>)
function(memory_pool_add_used_headers target optimisation)
    add_library(${target} OBJECT ${generated}/all/public.cpp ${using})
    target_link_libraries(${target} PRIVATE memory_pool_program memory_pool_user_warnings)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_options(${target} PRIVATE ${optimisation})
endfunction()
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND MEMORY_POOL_HAVE_EXCEPTIONS)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        memory_pool_add_used_headers(headers_used -O2) # some of GCC's warnings need it
    else()
        memory_pool_add_used_headers(headers_used -O0)
    endif()
endif()
if(alone_c)
    add_library(headers_c OBJECT ${alone_c})
    target_link_libraries(headers_c PRIVATE memory_pool_program)
    target_compile_options(headers_c PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wstrict-prototypes -Werror)
endif()
