#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests a program that runs with any malloc, and uses functions of libnp_malloc.so if that library is loaded.

    optional_test.py PROGRAM LINKED LIBRARY CHECKED_LIBRARY

LINKED is the same program, linked with LIBRARY.
"""
import os
import re
import subprocess
import sys
import unittest

PROGRAM, LINKED, *LIBRARIES = sys.argv[1:]


def run(program, library="", **variables):
    """Returns the standard output and the standard error of the program."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    done = subprocess.run([program], env={**environment, "LD_PRELOAD": library, **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=True)
    return done.stdout.decode(), done.stderr.decode()


class Optional(unittest.TestCase):
    def expect_crossings(self, count, limit, output):
        """Expects `count` calls of the soft-limit callback, each just above `limit` MiB."""
        crossings = [int(each) for each in re.findall(r"above the soft limit, with (\d+) MiB", output)]
        self.assertEqual(len(crossings), count, output)
        for mebibytes in crossings:
            self.assertIn(mebibytes, range(limit, limit + 3))

    def test_runs_without_the_library(self):
        self.assertEqual(run(PROGRAM), ("this malloc has no soft limit\n", ""))

    def test_uses_a_preloaded_or_linked_library(self):
        for program, library in [(LINKED, "")] + [(PROGRAM, each) for each in LIBRARIES]:
            output, errors = run(program, library)
            self.assertRegex(output, r"\nall pages were read: \d+ MiB in use\nat the end: 0 MiB in use\n$")
            self.expect_crossings(1, 64, output)
            self.assertEqual(errors, "")

    def test_the_environment_overrides_options_of_the_program(self):
        for program, library in ((LINKED, ""), (PROGRAM, LIBRARIES[0])):
            self.expect_crossings(0, 0, run(program, library, NP_SOFT_LIMIT_BYTES="0")[0])
            self.expect_crossings(1, 100, run(program, library, NP_SOFT_LIMIT_BYTES="100M")[0])

    def test_invalid_values_in_the_environment_keep_options_of_the_program(self):
        output, errors = run(LINKED, NP_SOFT_LIMIT_BYTES="much")
        self.expect_crossings(1, 64, output)
        self.assertRegex(errors, r"^np_alloc: NP_SOFT_LIMIT_BYTES=much is ignored: .*; it stays 67108864\n$")

    def test_a_hard_limit_ends_the_program(self):
        for program, library in [(LINKED, "")] + [(PROGRAM, each) for each in LIBRARIES]:
            with self.assertRaises(subprocess.CalledProcessError) as failure:
                run(program, library, NP_LIMIT_BYTES="50M")
            self.assertEqual(failure.exception.returncode, 1)
            run(program, library, NP_LIMIT_BYTES="70M")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
