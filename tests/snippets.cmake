# SPDX-License-Identifier: MIT
# The C++ in the documentation compiles, and its complete programs run. See tools/extract_snippets.py.
if(NOT Boost_FOUND)
    message(STATUS "memory_pool: Boost not found, leaving out the snippets of the documentation")
    return()
endif()

file(GLOB documents CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md
    ${PROJECT_SOURCE_DIR}/docs/tasks/*.md)
set(np_documents np_alloc|observability|memory) # their programs call np_alloc, like programs fenced as ```cpp np_alloc
set(extractor ${PROJECT_SOURCE_DIR}/tools/extract_snippets.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${documents} ${extractor})
execute_process(
    COMMAND ${Python3_EXECUTABLE} ${extractor} --output ${CMAKE_CURRENT_BINARY_DIR}/snippets ${documents}
    OUTPUT_VARIABLE snippets OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" snippets "${snippets}")

# Compiles the programs as a reader would, without the project's own warnings.
set(programs ${snippets})
list(FILTER programs INCLUDE REGEX "/program(20)?_[^/]*$")
if(NOT MEMORY_POOL_HAVE_COROUTINES)
    list(FILTER programs EXCLUDE REGEX "/program20_[^/]*$")
endif()
if(NOT TARGET memory_pool_np_alloc)
    list(FILTER programs EXCLUDE REGEX "/program_(${np_documents})_[^/]*$")
endif()
memory_pool_add_programs(snippet ${programs})
foreach(program IN LISTS programs)
    target_link_libraries(${program} PRIVATE ${form_of_pools})
    if(program MATCHES "^snippet_program20_" AND CMAKE_CXX_STANDARD LESS 20)
        set_target_properties(${program} PROPERTIES CXX_STANDARD 20)
    endif()
    if(program MATCHES "^snippet_program_(${np_documents})_")
        target_link_libraries(${program} PRIVATE memory_pool::np_alloc)
    endif()
endforeach()

set(fragments ${snippets})
list(FILTER fragments INCLUDE REGEX "/fragment_[^/]*$")
# Only compiled, not run: so not with a sanitizer, and unoptimized to save time.
if(fragments AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    add_library(snippet_fragments OBJECT ${fragments})
    target_link_libraries(snippet_fragments PRIVATE memory_pool_program ${form_of_pools})
    target_compile_options(snippet_fragments PRIVATE -O0)
endif()
