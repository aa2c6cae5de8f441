#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program of unit tests under QEMU's emulation of a process, each suite in a process of its own.

    emulated_test.py PROGRAM EMULATOR [ARGUMENT...]

A process takes long to start there, so it is not one for each test. Fails if a test fails, other than those below;
exits with 77 if it has only those.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

SKIPPED = 77
SECONDS = 300

# What QEMU cannot do, or does as no system does.
NOT_EMULATED = {
    "a program cannot execute itself, unless the kernel knows the emulator (binfmt_misc)": ["*death*.*"],
    "in a child of a process with several threads, locks of the emulator may be held, and no thread can be started":
        ["*fork*.*", "*.*fork*", "*.*_child_*", "np_with_a_failing_system.*",
         "np_background_thread.does_not_keep_the_process_from_ending_during_a_visit"],
    "a child that ends by abort() takes long, and prints more": ["*.ends_the_program_*"],
    "there is no MADV_POPULATE_WRITE": ["populate_pages.*"],
    "its own memory counts as that of the process, which is limited, or measured": [
        "*.*addresses_of_a_process_were_used_up", "operator_new.gives_what_the_handler_has_freed",
        "thread_registry.has_a_slot_for_every_number", "np_threads.leave_a_block_each_in_a_table*", "np_decay.*",
        "np_background_thread.gives_pages_between_blocks_in_use_back*", "np_memory.goes_back_to_the_system*",
        "np_memory.of_pages_between_blocks*", "checked_untouched_runs.*",
        "checked_large.stays_accessible_if_enough*"],
    "mincore() fails for memory that may not be accessed": [
        "checked_large.is_somewhere_else_if_the_system_does_not*", "checked_large.counts_as_resident_also_after*"],
    "it places mappings elsewhere than Linux does": [
        "np_slabs_print.*", "checked_blocks.are_none_far_*", "checked_large.leaves_the_rest_revoked_*"],
    "NP_REGION_BYTES is set": ["np_option_set.chooses_how_many_addresses*"],
    "for RISC-V, it calls signal handlers without the mask of their actions": [
        "handlers_of_faults.are_called_as_they_would_be*"],
    "faults are signals of the emulator": [
        "address_space.ends_a_program_that_touches_it_while_it_is_guarded", "np_overrun.*"],
}


def suites_of(command):
    said = subprocess.run(command + ["--gtest_list_tests", filter_of("*")], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return [line.split()[0] for line in said.splitlines() if re.match(r"\S+\.( |$)", line)]


def filter_of(wanted):
    return f"--gtest_filter={wanted}-{':'.join(pattern for all_of in NOT_EMULATED.values() for pattern in all_of)}"


def failure_of(command, suite):
    """Returns: what a suite says if it fails."""
    try:
        done = subprocess.run(command + ["--gtest_brief=1", filter_of(f"{suite}*")], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
        return "" if done.returncode == 0 else f"{suite}: exits with {done.returncode}\n{done.stdout}"
    except subprocess.TimeoutExpired as late:
        return f"{suite}: not done in {SECONDS} s\n{late.stdout}"


def main():
    program, emulator = sys.argv[1], sys.argv[2:]
    # The emulator keeps a table of all addresses that are reserved.
    os.environ["NP_REGION_BYTES"] = "1G"
    command = emulator + [program]
    suites = suites_of(command)
    if not suites:
        print("nothing of it can be emulated")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        failures = [said for said in workers.map(lambda suite: failure_of(command, suite), suites) if said]
    print(f"{len(suites)} suites, {len(failures)} failed", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
