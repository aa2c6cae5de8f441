# SPDX-License-Identifier: MIT
# Dependencies of the tests, benchmarks and examples. The library itself has none.
include(CheckCXXSourceCompiles)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.66 QUIET)
include(CheckIncludeFileCXX)
check_include_file_cxx(nlohmann/json.hpp MEMORY_POOL_HAVE_NLOHMANN_JSON)

# Sources with one of these stems need Boost: the headers, their tests, benchmarks and examples.
set(MEMORY_POOL_BOOST_STEMS
    intrusive_pool recycling_pool boost_intrusive_pool boost_intrusive_pool_debug tutorial returning_patterns)
if(NOT Boost_FOUND)
    message(STATUS "memory_pool: Boost not found, leaving out ${MEMORY_POOL_BOOST_STEMS}")
endif()

# Sources with one of these stems use coroutines, so they are compiled as C++20. The headers do not.
set(MEMORY_POOL_COROUTINE_STEMS pooled_frame_test pooled_frame_benchmark coroutine_generator coroutine_task)
set(MEMORY_POOL_HAVE_COROUTINES OFF)
if("cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    set(default_standard ${CMAKE_CXX_STANDARD})
    set(CMAKE_CXX_STANDARD 20)
    check_cxx_source_compiles("#include <coroutine>
        int main() { return std::noop_coroutine().done(); }" MEMORY_POOL_COMPILER_HAS_COROUTINES)
    set(CMAKE_CXX_STANDARD ${default_standard})
    set(MEMORY_POOL_HAVE_COROUTINES ${MEMORY_POOL_COMPILER_HAS_COROUTINES})
endif()
if(NOT MEMORY_POOL_HAVE_COROUTINES)
    message(STATUS "memory_pool: no coroutines, leaving out ${MEMORY_POOL_COROUTINE_STEMS}")
endif()

# Removes the files that cannot be built from the named list: files that need Boost if it was not found, files that need
# np_alloc if it is disabled (the name of the file or of a directory begins with np_), files that use coroutines if the
# compiler has none, and a fuzzer that reads reports with nlohmann-json if that was not found.
function(memory_pool_drop_unbuildable list)
    if(NOT TARGET memory_pool_np_alloc)
        list(FILTER ${list} EXCLUDE REGEX "(^|/)(np_[^/]*(/[^/]*)?(/[^/]*)?|fuzz/(adaptor|text)_[^/]*)$")
        set(${list} "${${list}}" PARENT_SCOPE)
    endif()
    if(NOT MEMORY_POOL_HAVE_NLOHMANN_JSON)
        list(FILTER ${list} EXCLUDE REGEX "(^|/)fuzz/text_[^/]*$")
        set(${list} "${${list}}" PARENT_SCOPE)
    endif()
    if(NOT Boost_FOUND)
        list(JOIN MEMORY_POOL_BOOST_STEMS "|" stems)
        list(FILTER ${list} EXCLUDE REGEX
            "(^|/)((${stems})(_test|_benchmark)?\\.[a-z]+|boost_intrusive_pool/.*|fuzz/item_pool_[^/]*)$")
        set(${list} "${${list}}" PARENT_SCOPE)
    endif()
    # These headers include headers of other tools: see tests/observers.cmake.
    list(FILTER ${list} EXCLUDE REGEX "(^|/)(heaptrack|massif|tracy)_policy\\.hpp$")
    set(${list} "${${list}}" PARENT_SCOPE)
    if(NOT MEMORY_POOL_HAVE_COROUTINES)
        list(JOIN MEMORY_POOL_COROUTINE_STEMS "|" stems)
        list(FILTER ${list} EXCLUDE REGEX "(^|/)(${stems})\\.cpp$")
        set(${list} "${${list}}" PARENT_SCOPE)
    endif()
endfunction()

# memory_pool_set_standard(<target> <source>...): selects C++20 if one of the sources uses coroutines. Turns clang-tidy
# off then, which would suggest C++20 features for the headers.
function(memory_pool_set_standard target)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source STEM stem)
        if(stem IN_LIST MEMORY_POOL_COROUTINE_STEMS AND CMAKE_CXX_STANDARD LESS 20)
            set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_CLANG_TIDY "")
        endif()
    endforeach()
endfunction()

# The targets that each program of this project links, in addition to its warnings: those that a user may link.
add_library(memory_pool_program INTERFACE)
target_link_libraries(memory_pool_program INTERFACE
    memory_pool::memory_pool memory_pool::drop_in Threads::Threads $<TARGET_NAME_IF_EXISTS:Boost::headers>)

# A build without exceptions builds the programs that are written for it, and few others.
check_cxx_source_compiles("int main() { try { throw 1; } catch (int) {} }" MEMORY_POOL_HAVE_EXCEPTIONS)
