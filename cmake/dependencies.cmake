# SPDX-License-Identifier: MIT
# What the tests, the benchmarks and the examples need beside the library. The library itself needs none of it.
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

# Sources with one of these stems have coroutines, so they are compiled as C++20. The headers do without.
set(MEMORY_POOL_COROUTINE_STEMS pooled_frame_test pooled_frame_benchmark coroutine_generator coroutine_task)
set(MEMORY_POOL_HAVE_COROUTINES OFF)
if("cxx_std_20" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    set(standard_of_others ${CMAKE_CXX_STANDARD})
    set(CMAKE_CXX_STANDARD 20)
    check_cxx_source_compiles("#include <coroutine>
        int main() { return std::noop_coroutine().done(); }" MEMORY_POOL_COMPILER_HAS_COROUTINES)
    set(CMAKE_CXX_STANDARD ${standard_of_others})
    set(MEMORY_POOL_HAVE_COROUTINES ${MEMORY_POOL_COMPILER_HAS_COROUTINES})
endif()
if(NOT MEMORY_POOL_HAVE_COROUTINES)
    message(STATUS "memory_pool: no coroutines, leaving out ${MEMORY_POOL_COROUTINE_STEMS}")
endif()

# Removes from the named list the files that need Boost, if it was not found, those that need np_alloc, if it is
# disabled (their names, or those of their directories, begin with np_), and those that need coroutines, if the compiler
# has none. A fuzzer reads reports with nlohmann-json.
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
    # They need headers of other tools: see tests/observers.cmake.
    list(FILTER ${list} EXCLUDE REGEX "(^|/)(heaptrack|massif|tracy)_policy\\.hpp$")
    set(${list} "${${list}}" PARENT_SCOPE)
    if(NOT MEMORY_POOL_HAVE_COROUTINES)
        list(JOIN MEMORY_POOL_COROUTINE_STEMS "|" stems)
        list(FILTER ${list} EXCLUDE REGEX "(^|/)(${stems})\\.cpp$")
        set(${list} "${${list}}" PARENT_SCOPE)
    endif()
endfunction()

# memory_pool_set_standard(<target> <source>...): C++20, if one of the sources has coroutines; then without clang-tidy,
# which would want the headers changed to what C++17 does not have.
function(memory_pool_set_standard target)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source STEM stem)
        if(stem IN_LIST MEMORY_POOL_COROUTINE_STEMS AND CMAKE_CXX_STANDARD LESS 20)
            set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_CLANG_TIDY "")
        endif()
    endforeach()
endfunction()

# What a program of this project links beside its warnings: what a user may.
add_library(memory_pool_program INTERFACE)
target_link_libraries(memory_pool_program INTERFACE
    memory_pool::memory_pool memory_pool::drop_in Threads::Threads $<TARGET_NAME_IF_EXISTS:Boost::headers>)

# The flavour without exceptions builds the programs made for it, and few others.
check_cxx_source_compiles("int main() { try { throw 1; } catch (int) {} }" MEMORY_POOL_HAVE_EXCEPTIONS)
