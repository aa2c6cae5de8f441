# SPDX-License-Identifier: MIT
# Tests of programs for another processor, which run under QEMU's emulation of a process (presets aarch64, riscv64).

# memory_pool_add_emulated_unit_tests(<program> <prefix>)
function(memory_pool_add_emulated_unit_tests program prefix)
    add_test(NAME ${prefix}.emulated
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/platforms/emulated_test.py
            $<TARGET_FILE:${program}> ${CMAKE_CROSSCOMPILING_EMULATOR})
    set_tests_properties(${prefix}.emulated PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 RUN_SERIAL TRUE)
endfunction()

# Programs started by scripts or other host programs are not emulated, and limits would apply to the emulator itself.
function(memory_pool_disable_unemulated_tests)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(FILTER tests INCLUDE REGEX
        "^(np_malloc|np_alloc)\\.(options|symbols|calls|preload|profile|sampled|printed_statistics|leaks_at_end)$|\
^(np_malloc_checked|np_attacks|limits|loader|tools)\\.|\
^report\\.(read_by_others|profiles_read_by_others)$")
    foreach(test IN LISTS tests)
        set_tests_properties(${test} PROPERTIES DISABLED TRUE)
    endforeach()
endfunction()
