# SPDX-License-Identifier: MIT
# memory_pool::module, for `import memory_pool;`: exports the public names of the headers, but no macros. An including
# project may set the language level and extensions of the module, as these must match in the importing code.
option(MEMORY_POOL_MODULE "Build memory_pool::module, a C++20 module (needs CMake 3.28)" OFF)
if(NOT MEMORY_POOL_MODULE)
    return()
endif()
if(CMAKE_VERSION VERSION_LESS 3.28)
    message(FATAL_ERROR "memory_pool: MEMORY_POOL_MODULE needs CMake 3.28; this is ${CMAKE_VERSION}")
endif()
if(NOT CMAKE_GENERATOR MATCHES "Ninja|Visual Studio")
    message(FATAL_ERROR "memory_pool: MEMORY_POOL_MODULE needs a generator that can build modules, such as Ninja; "
        "this is ${CMAKE_GENERATOR}")
endif()
if(NOT CMAKE_CXX_SCANDEP_SOURCE OR (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_CXX_COMPILER_CLANG_SCAN_DEPS))
    message(FATAL_ERROR "memory_pool: MEMORY_POOL_MODULE needs a compiler that CMake can build modules with (Clang 16 "
        "with clang-scan-deps, GCC 14, Visual Studio 17.4); this is ${CMAKE_CXX_COMPILER_ID} "
        "${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_CXX_COMPILER}")
endif()

add_library(memory_pool_module STATIC)
add_library(memory_pool::module ALIAS memory_pool_module)
set_target_properties(memory_pool_module PROPERTIES EXPORT_NAME module POSITION_INDEPENDENT_CODE ON)
target_sources(memory_pool_module PUBLIC
    FILE_SET CXX_MODULES BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${PROJECT_SOURCE_DIR}/src/memory_pool.cppm)
target_compile_features(memory_pool_module PUBLIC cxx_std_20)
target_link_libraries(memory_pool_module PUBLIC memory_pool)
