# SPDX-License-Identifier: MIT
# Tests of programs for another processor, which run under QEMU's emulation of a process (presets aarch64, riscv64).
#
# A process takes long to start there, so the unit tests of a program are a few tests, not one each.

# The unit tests of what QEMU cannot do, or does as no system does:
set(memory_pool_not_emulated
    # A program cannot execute itself, unless the kernel knows the emulator (binfmt_misc).
    "*death*.*" "*.ends_the_program_*"
    # A child of a process with several threads may find the emulator's own locks held, and start no thread.
    "*fork*.*" "*.*fork*" "*.*_child_*" "np_background_thread.does_not_keep_the_process_from_ending_during_a_visit"
    # The emulator has no MADV_POPULATE_WRITE.
    "populate_pages.*"
    # What it takes itself counts as memory, addresses and page faults of the process, which are limited, or counted.
    "*.*addresses_of_a_process_were_used_up" "operator_new.gives_what_the_handler_has_freed"
    "thread_registry.has_a_slot_for_every_number" "np_threads.leave_a_block_each_in_a_table*" "np_decay.*"
    "np_background_thread.gives_pages_between_blocks_in_use_back*" "np_memory.goes_back_to_the_system*"
    "np_memory.of_pages_between_blocks*" "checked_untouched_runs.*" "checked_large.stays_accessible_if_enough*"
    # It places mappings elsewhere than Linux does.
    "np_slabs_print.*" "checked_blocks.are_none_far_*" "checked_large.leaves_the_rest_revoked_*"
    # NP_REGION_BYTES is set below.
    "np_option_set.chooses_how_many_addresses*"
    # Faults are signals of the emulator.
    "address_space.ends_a_program_that_touches_it_while_it_is_guarded" "np_overrun.*")

# memory_pool_add_emulated_unit_tests(<program> <prefix>)
# NP_REGION_BYTES: the emulator keeps a table of all addresses that are reserved.
function(memory_pool_add_emulated_unit_tests program prefix)
    list(JOIN memory_pool_not_emulated ":" filter)
    foreach(part RANGE 3)
        add_test(NAME ${prefix}.part_${part} COMMAND ${program} --gtest_brief=1 "--gtest_filter=-${filter}")
        set_tests_properties(${prefix}.part_${part} PROPERTIES
            TIMEOUT 900 ENVIRONMENT "NP_REGION_BYTES=1G;GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part}")
    endforeach()
endfunction()

# What scripts and other programs of the host start is not emulated, and the emulator is no process with limits.
function(memory_pool_disable_what_is_not_emulated)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(FILTER tests INCLUDE REGEX
        "^(np_malloc|np_alloc)\\.(options|symbols|preload|profile|sampled|printed_statistics|leaks_at_end)$|\
^(np_malloc_checked|np_attacks|np_attack_set|limits|loader|report|race|benchmarks|interface)\\.")
    foreach(test IN LISTS tests)
        set_tests_properties(${test} PROPERTIES DISABLED TRUE)
    endforeach()
endfunction()
