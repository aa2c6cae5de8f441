# SPDX-License-Identifier: MIT
# Models of the lock-free protocols, checked in every interleaving (Debian package: spin).
find_program(MEMORY_POOL_SPIN spin)
find_program(MEMORY_POOL_C_COMPILER NAMES gcc cc clang clang-19)
if(NOT MEMORY_POOL_SPIN OR NOT MEMORY_POOL_C_COMPILER)
    return()
endif()

foreach(model IN ITEMS CacheHandshake TaggedStack RemoteFrees HandOver)
    add_test(NAME models.${model} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/models/models_test.py
        ${MEMORY_POOL_SPIN} ${MEMORY_POOL_C_COMPILER} ${model})
    set_tests_properties(models.${model} PROPERTIES TIMEOUT 120)
endforeach()
