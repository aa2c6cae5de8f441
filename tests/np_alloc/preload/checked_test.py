#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that libnp_malloc_checked.so reports misuse of memory, and ends the program.

    checked_test.py LIBRARY WRONG_DELETE OWN_NOTHROW_NEW OWN_DELETE PASSES_BLOCKS
"""
import json
import os
import signal
import subprocess
import sys
import unittest

LIBRARY, WRONG_DELETE, OWN_NOTHROW_NEW, OWN_DELETE, PASSES_BLOCKS = map(os.path.abspath, sys.argv[1:6])


def run(*command, **variables):
    """Returns the exit status, the standard output and the standard error of the program."""
    done = subprocess.run(
        command,
        env={**os.environ, "LD_PRELOAD": LIBRARY, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Misuse(unittest.TestCase):
    def expect_end(self, how, report, block_bytes):
        status, output, errors = run(WRONG_DELETE, how)
        self.assertEqual((status, output), (-signal.SIGABRT, ""), errors)
        self.assertRegex(
            errors, rf"^memory_pool: {report}: address 0x[0-9a-f]+, block size {block_bytes} bytes, .*\n  remedy: .*\n"
            r"  thread \d+ of process \d+\n  called by:\n    (?!.*libnp_malloc).*\n(    .*\n)*$"
        )

    def test_double_free(self):
        self.expect_end("twice", "double free", 0)
        self.expect_end("small twice", "double free", 24)

    def test_foreign_pointer(self):
        for how in "stack", "static", "mapped":
            with self.subTest(how):
                self.expect_end(how, "foreign pointer", 0)

    def test_foreign_pointers_can_be_ignored(self):
        status, output, errors = run(WRONG_DELETE, "stack", NP_FATAL_FOREIGN="0")
        self.assertEqual((status, output), (0, "goes on\n"))
        self.assertRegex(
            errors, r"^np_alloc: foreign pointer: address 0x[0-9a-f]+ is not from np_alloc and is ignored.*\n.*\n$"
        )

    def test_overflow_by_a_terminating_zero(self):
        self.expect_end("overflow", "buffer overflow", 24)

    def test_write_after_free(self):
        self.expect_end("after", "write after free", 24)

    def test_delete_with_a_wrong_size(self):
        for how in "size", "array size", "aligned size", "aligned array size":
            with self.subTest(how):
                self.expect_end(how, "size mismatch", 100)

    def test_correct_sizes_are_not_reported(self):
        self.assertEqual(run(WRONG_DELETE, "right size"), (0, "goes on\n", ""))

    def test_operators_that_allocate_more_are_not_reported(self):
        self.assertEqual(run(OWN_NOTHROW_NEW), (0, "4 made\n", ""))

    def test_a_small_program_has_few_resident_bytes(self):
        status, _, errors = run(WRONG_DELETE, "right size", NP_STATISTICS_AT_END="2")
        self.assertEqual(status, 0, errors)
        self.assertLess(json.loads(errors)["bytes_resident"], 3 << 20)

    PAIRS = (  # The misuse, and the three functions that the report names.
        ("malloc, delete", "malloc", "delete", "free"),
        ("new, free", "new", "free", "delete"),
        ("new, realloc", "new", "realloc", "delete"),
        ("nothrow new[], delete", "new[]", "delete", "delete[]"),
        ("new, sized delete[]", "new", "delete[]", "delete"),
        ("aligned new, delete", "aligned new", "delete", "delete and its alignment"),
        ("new[], aligned delete[]", "new[]", "aligned delete[]", "delete[]"),
    )

    def test_mismatched_deallocation(self):
        for how, allocated, freed, right in self.PAIRS:
            with self.subTest(how):
                self.expect_end(how, "mismatched deallocation", 100)
                self.assertIn(
                    f"\n  remedy: it was allocated by {allocated}, but freed by {freed}: free it with {right}; "
                    "NP_PAIRS=0 ignores mismatches\n",
                    run(WRONG_DELETE, how)[2],
                )
                self.assertEqual(run(WRONG_DELETE, how, NP_PAIRS="0"), (0, "goes on\n", ""))

    def test_matching_functions_are_not_reported(self):
        self.assertEqual(run(WRONG_DELETE, "pairs"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_PROFILE_BYTES="100"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_SAMPLE_BYTES="100"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_REGION_BYTES="16M"), (0, "goes on\n", ""))

    def test_matching_functions_when_the_cxx_library_allocates_the_block(self):
        self.assertEqual(run(WRONG_DELETE, "pairs when out of memory", NP_REGION_BYTES="1G"), (0, "goes on\n", ""))

    def test_matching_functions_when_the_program_replaces_some(self):
        self.assertEqual(run(OWN_DELETE), (0, "all gone\n", ""))

    def test_matching_functions_when_a_library_has_its_own_operators(self):
        self.assertEqual(run(PASSES_BLOCKS), (0, "passed on\n", ""))

    def test_contents_of_free_and_new_blocks(self):
        poisoned = -33  # 0xDF
        for zero, freed, new in (
            ("0", poisoned, "something"),
            ("free", 0, "zero"),  # malloc does not change the contents of a free block.
            ("alloc", poisoned, "zero"),
            ("free,alloc", 0, "zero"),
        ):
            with self.subTest(zero):
                status, output, errors = run(WRONG_DELETE, "contents", NP_ZERO=zero)
                self.assertEqual((status, output.split(", ")[0], errors), (0, f"freed: {freed}", ""))
                if zero != "free":
                    self.assertEqual(output, f"freed: {freed}, new: {new}\ngoes on\n")

    def test_realloc_can_always_move(self):
        self.assertEqual(run(WRONG_DELETE, "old pointer of realloc"), (0, "stays\ngoes on\n", ""))
        status, output, errors = run(WRONG_DELETE, "old pointer of realloc", NP_REALLOC_MOVES="1")
        self.assertEqual((status, output), (-signal.SIGABRT, ""))
        self.assertRegex(errors, r"^memory_pool: double free: address 0x[0-9a-f]+, block size 1000 bytes, ")

    def test_invalid_values_are_reported(self):
        for variable, value, limits, default in (
            ("NP_PAIRS", "2", "a number from 0 to 1", 1),
            ("NP_PAIRS", "on", "a number from 0 to 1", 1),
            ("NP_ZERO", "4", "a number from 0 to 3, or free, or alloc, or free,alloc", 0),
            ("NP_ZERO", "free,", "a number from 0 to 3, or free, or alloc, or free,alloc", 0),
            ("NP_REALLOC_MOVES", "yes", "a number from 0 to 1", 0),
        ):
            with self.subTest(variable):
                self.assertEqual(
                    run("echo", "a", **{variable: value}),
                    (0, "a\n", f"np_alloc: {variable}={value} is ignored: it must be {limits}; it stays {default}\n"),
                )

    def test_poisoning_can_be_turned_off(self):
        self.assertEqual(run(WRONG_DELETE, "after", NP_POISON="0"), (0, "goes on\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
