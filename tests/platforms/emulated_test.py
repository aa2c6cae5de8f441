#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a unit test program under QEMU user-mode emulation, each suite in its own process.

    emulated_test.py PROGRAM EMULATOR [ARGUMENT...]

A process takes long to start there, so each process runs a whole suite. Fails if a test fails, except the tests below;
exits with 77 if PROGRAM has no other tests.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

SKIPPED = 77
SECONDS = 300

# Tests excluded, by the limitation of QEMU.
NOT_EMULATED = {
    "a program cannot execute itself, unless the kernel knows the emulator (binfmt_misc)": ["*death*.*"],
    "in a child of a process with several threads, locks of the emulator may be held, and no thread can be started":
        ["*fork*.*", "*.*fork*", "*.*_child_*", "np_with_a_failing_system.*",
         "np_background_thread.does_not_block_exit_during_a_visit"],
    "a child that ends by abort() takes long, and prints more": ["*.ends_the_program_*"],
    "there is no MADV_POPULATE_WRITE": ["populate_pages.*"],
    "the memory of QEMU counts as that of the process, which the test limits or measures": [
        "*.*addresses_of_a_process_were_used_up", "operator_new.retries_with_memory_that_the_handler_has_freed",
        "thread_registry.provides_a_slot_for_every_number", "np_threads.leave_one_block_each*", "np_decay.*",
        "np_background_thread.purges_pages_between_blocks*", "np_memory.goes_back_to_the_system*",
        "checked_untouched_runs.*",
        "checked_large.revokes_a_limited_number*"],
    "mincore() fails for inaccessible memory": [
        "checked_large.is_allocated_elsewhere_if*", "checked_large.counts_as_resident_after_free*"],
    "it places mappings elsewhere than Linux does": [
        "np_slabs_print.*", "checked_blocks.report_a_free_far_*", "checked_large.leaves_the_rest_revoked_*"],
    "NP_REGION_BYTES is set": ["np_option_set.sets_the_size_of_the_region*"],
    "for RISC-V, it calls signal handlers without the mask of their actions": [
        "handlers_of_faults.keep_their_flags*"],
    "faults are signals of the emulator": [
        "address_space.faults_when_guarded_pages_are_accessed", "np_overrun.*"],
}


def suites_of(command):
    said = subprocess.run(command + ["--gtest_list_tests", filter_of("*")], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return [line.split()[0] for line in said.splitlines() if re.match(r"\S+\.( |$)", line)]


def filter_of(wanted):
    return f"--gtest_filter={wanted}-{':'.join(pattern for all_of in NOT_EMULATED.values() for pattern in all_of)}"


def failure_of(command, suite):
    """Returns the output of a suite if it fails."""
    try:
        done = subprocess.run(command + ["--gtest_brief=1", filter_of(f"{suite}*")], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
        return "" if done.returncode == 0 else f"{suite}: exits with {done.returncode}\n{done.stdout}"
    except subprocess.TimeoutExpired as late:
        return f"{suite}: not finished within {SECONDS} s\n{late.stdout}"


def main():
    program, emulator = sys.argv[1], sys.argv[2:]
    # QEMU keeps a table of all reserved addresses.
    os.environ["NP_REGION_BYTES"] = "1G"
    command = emulator + [program]
    suites = suites_of(command)
    if not suites:
        print("no test of this program can be emulated")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        failures = [said for said in workers.map(lambda suite: failure_of(command, suite), suites) if said]
    print(f"{len(suites)} suites, {len(failures)} failed", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
