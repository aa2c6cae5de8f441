#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""libnp_malloc_checked.so ends programs that misuse memory, and reports why.

    checked_test.py LIBRARY WRONG_DELETE OWN_NOTHROW_NEW
"""
import os
import signal
import subprocess
import sys
import unittest

LIBRARY, WRONG_DELETE, OWN_NOTHROW_NEW = (os.path.abspath(path) for path in sys.argv[1:4])


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
            errors, rf"^memory_pool: {report}: address 0x[0-9a-f]+, block size {block_bytes} bytes, .*\n  remedy: .*\n$"
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

    def test_what_is_chosen_not_to_be_looked_at(self):
        self.assertEqual(run(WRONG_DELETE, "after", NP_POISON="0"), (0, "goes on\n", ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
