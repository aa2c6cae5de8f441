#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""libnp_malloc_checked.so ends programs that misuse memory, and reports why.

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
    """Returns how the program ends, and what it prints."""
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

    def test_a_block_that_is_freed_twice(self):
        self.expect_end("twice", "double free", 0)
        self.expect_end("small twice", "double free", 24)

    def test_a_pointer_that_was_never_handed_out(self):
        for how in "stack", "static", "mapped":
            with self.subTest(how):
                self.expect_end(how, "foreign pointer", 0)

    def test_a_pointer_that_was_never_handed_out_if_those_are_to_be_ignored(self):
        status, output, errors = run(WRONG_DELETE, "stack", NP_FATAL_FOREIGN="0")
        self.assertEqual((status, output), (0, "goes on\n"))
        self.assertRegex(
            errors, r"^np_alloc: foreign pointer: address 0x[0-9a-f]+ is not of np_alloc, and ignored.*\n.*\n$"
        )

    def test_a_text_without_room_for_its_zero(self):
        self.expect_end("overflow", "buffer overflow", 24)

    def test_a_write_through_an_old_pointer(self):
        self.expect_end("after", "write after free", 24)

    def test_an_object_that_is_deleted_with_another_size(self):
        for how in "size", "array size", "aligned size", "aligned array size":
            with self.subTest(how):
                self.expect_end(how, "size mismatch", 100)

    def test_nothing_that_is_right(self):
        self.assertEqual(run(WRONG_DELETE, "right size"), (0, "goes on\n", ""))

    def test_nothing_where_operators_of_the_program_have_asked_for_more(self):
        self.assertEqual(run(OWN_NOTHROW_NEW), (0, "4 made\n", ""))

    def test_little_memory_for_a_program_that_needs_little(self):
        status, _, errors = run(WRONG_DELETE, "right size", NP_STATISTICS_AT_END="2")
        self.assertEqual(status, 0, errors)
        self.assertLess(json.loads(errors)["bytes_resident"], 3 << 20)

    PAIRS = (  # The misuse, and the three functions that the report names.
        ("malloc, delete", "malloc", "delete", "free"),
        ("new, free", "new", "free", "delete"),
        ("new, realloc", "new", "realloc", "delete"),
        ("nothrow new[], delete", "new[]", "delete", "delete[]"),
        ("new, sized delete[]", "new", "delete[]", "delete"),
        ("aligned new, delete", "aligned new", "delete", "delete with its alignment"),
        ("new[], aligned delete[]", "new[]", "aligned delete[]", "delete[]"),
    )

    def test_functions_that_do_not_pair(self):
        for how, allocated, freed, right in self.PAIRS:
            with self.subTest(how):
                self.expect_end(how, "mismatched deallocation", 100)
                self.assertIn(
                    f"\n  remedy: it was allocated by {allocated}, and given back by {freed}: give it back by {right}; "
                    "NP_PAIRS=0 ignores such pairs\n",
                    run(WRONG_DELETE, how)[2],
                )
                self.assertEqual(run(WRONG_DELETE, how, NP_PAIRS="0"), (0, "goes on\n", ""))

    def test_functions_that_pair(self):
        self.assertEqual(run(WRONG_DELETE, "pairs"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_PROFILE_BYTES="100"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_SAMPLE_BYTES="100"), (0, "goes on\n", ""))
        self.assertEqual(run(WRONG_DELETE, "pairs", NP_REGION_BYTES="16M"), (0, "goes on\n", ""))

    def test_functions_that_pair_where_the_library_of_c_plus_plus_has_asked_for_the_block(self):
        self.assertEqual(run(WRONG_DELETE, "pairs when out of memory", NP_REGION_BYTES="1G"), (0, "goes on\n", ""))

    def test_functions_that_pair_as_the_program_has_replaced_some(self):
        self.assertEqual(run(OWN_DELETE), (0, "all gone\n", ""))

    def test_functions_that_pair_as_a_library_calls_operators_of_its_own(self):
        self.assertEqual(run(PASSES_BLOCKS), (0, "passed on\n", ""))

    def test_contents_of_free_memory_and_of_new_blocks(self):
        poisoned = -33  # 0xDF
        for zero, freed, new in (
            ("0", poisoned, "something"),
            ("free", 0, "zero"),  # A new block of malloc holds what the free block held.
            ("alloc", poisoned, "zero"),
            ("free,alloc", 0, "zero"),
        ):
            with self.subTest(zero):
                status, output, errors = run(WRONG_DELETE, "contents", NP_ZERO=zero)
                self.assertEqual((status, output.split(", ")[0], errors), (0, f"freed: {freed}", ""))
                if zero != "free":
                    self.assertEqual(output, f"freed: {freed}, new: {new}\ngoes on\n")

    def test_realloc_that_always_moves(self):
        self.assertEqual(run(WRONG_DELETE, "old pointer of realloc"), (0, "stays\ngoes on\n", ""))
        status, output, errors = run(WRONG_DELETE, "old pointer of realloc", NP_REALLOC_MOVES="1")
        self.assertEqual((status, output), (-signal.SIGABRT, ""))
        self.assertRegex(errors, r"^memory_pool: double free: address 0x[0-9a-f]+, block size 1000 bytes, ")

    def test_values_that_make_no_sense(self):
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

    def test_what_is_chosen_not_to_be_looked_at(self):
        self.assertEqual(run(WRONG_DELETE, "after", NP_POISON="0"), (0, "goes on\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
