#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests the options of libnp_malloc.so in the environment.   options_test.py LIBRARY"""
import json
import os
import signal
import subprocess
import sys
import unittest

LIBRARY = os.path.abspath(sys.argv[1])

# Frees two addresses that are not from malloc.
FREE_FOREIGN = """
import ctypes, mmap
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]
pages = mmap.mmap(-1, 65536)
address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
libc.free(address)
libc.free(address + 16)
print("goes on")
"""

# Prints the size of the largest inaccessible mapping.
LARGEST_RESERVED = """
print(max(int(end, 16) - int(begin, 16) for begin, end in
    (line.split()[0].split("-") for line in open("/proc/self/maps") if " ---p " in line)))
"""


def run(*command, **variables):
    """Returns the exit status, the standard output and the standard error of the command."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    done = subprocess.run(command, env={**environment, "LD_PRELOAD": LIBRARY, **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Options(unittest.TestCase):
    def test_nothing_is_printed_by_default(self):
        self.assertEqual(run("echo", "a"), (0, "a\n", ""))

    def test_statistics_at_the_end(self):
        status, output, errors = run("echo", "a", NP_STATISTICS_AT_END="1")
        self.assertEqual((status, output), (0, "a\n"))
        self.assertRegex(errors, r"^np_alloc:\n  bytes committed, the sum of +[1-9]\d*\n    in use +[1-9]\d*\n")

    def test_statistics_at_the_end_as_json(self):
        status, _, errors = run(sys.executable, "-c", "", NP_STATISTICS_AT_END="2")
        self.assertEqual(status, 0)
        self.assertGreater(json.loads(errors)["bytes_in_use"], 0)

    def test_statistics_after_the_program_has_closed_stderr(self):
        _, _, errors = run("ls", "/", NP_STATISTICS_AT_END="1")
        self.assertRegex(errors, r"^np_alloc:\n")

    def test_leaks_are_not_tracked_without_call_sites(self):
        status, output, errors = run(sys.executable, "-c", "print('a')", NP_LEAKS="1", NP_LEAKS_EXIT="9")
        self.assertEqual((status, output), (0, "a\n"))
        self.assertRegex(errors, r"^np_alloc: leaks are not tracked: \d+ bytes are in use, none with a call site")

    def test_leaks_of_a_profiled_program_are_listed_by_call_stack(self):
        status, output, errors = run(sys.executable, "-c", "print('a')", NP_LEAKS="1", NP_LEAKS_EXIT="9",
                                     NP_PROFILE_BYTES="1")
        self.assertEqual((status, output), (9, "a\n"))
        lines = errors.splitlines()
        self.assertEqual(lines[0], "np_alloc: in use, by call site:")
        self.assertRegex(lines[1], r"^  \S.*  \d+ blocks?  \d+ bytes$")
        self.assertRegex(lines[2], r"^    \S")
        self.assertNotIn("libnp_malloc", errors, "call stacks start with the caller of np_alloc")
        self.assertRegex(lines[-1], r"^  in all  \d+ blocks  \d+ bytes$")
        _, _, errors = run(sys.executable, "-c", "", NP_LEAKS="1", NP_PROFILE_BYTES="512")
        self.assertIn("estimated from samples, one per 512 bytes on average:\n", errors)
        _, _, errors = run(sys.executable, "-c", "", NP_LEAKS="2", NP_PROFILE_BYTES="1")
        leaks = json.loads(errors)
        self.assertEqual((leaks["tracked"], leaks["sites"], leaks["bytes_between_samples"]), (False, [], 1))
        self.assertGreater(leaks["stacks"][0]["bytes"], 0)
        self.assertTrue(all(leaks["stacks"][0]["frames"]))

    def test_an_invalid_value_is_reported_and_ignored(self):
        status, output, errors = run("echo", "a", NP_DECAY_MS="soon", NP_STATISTICS_AT_END="0")
        self.assertEqual((status, output), (0, "a\n"))
        self.assertEqual(errors, "np_alloc: NP_DECAY_MS=soon is ignored: it must be a number from 0 to 4294967295, "
                                 "or one followed by K, M or G, or never; it stays 1000\n")

    def test_a_misspelt_variable_is_reported_once(self):
        self.assertEqual(run("echo", "a", NP_DECAY="5"),
                         (0, "a\n", "np_alloc: NP_DECAY is ignored: there is no such option; "
                                    "the nearest is NP_DECAY_MS\n"))

    def test_size_of_the_region(self):
        large = int(run(sys.executable, "-c", LARGEST_RESERVED)[1])
        small = int(run(sys.executable, "-c", LARGEST_RESERVED, NP_REGION_BYTES="64M")[1])
        self.assertGreater(large, 2 ** 30)
        self.assertLess(small, 2 ** 28)

    def test_blocks_beyond_the_region(self):
        program = "print(sum(len(each) for each in [bytearray(10 ** 7) for i in range(20)]))"
        self.assertEqual(run(sys.executable, "-c", program, NP_REGION_BYTES="64M"), (0, "200000000\n", ""))

    def test_foreign_pointers_are_ignored_and_the_first_is_reported(self):
        status, output, errors = run(sys.executable, "-c", FREE_FOREIGN)
        self.assertEqual((status, output), (0, "goes on\n"))
        self.assertRegex(
            errors, r"^np_alloc: foreign pointer: address 0x[0-9a-f]+ is not from np_alloc and is ignored.*\n.*\n$"
        )

    def test_foreign_pointers_end_the_program_on_request(self):
        status, output, errors = run(sys.executable, "-c", FREE_FOREIGN, NP_FATAL_FOREIGN="1")
        self.assertEqual((status, output), (-signal.SIGABRT, ""))
        self.assertRegex(errors, r"^memory_pool: foreign pointer: ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
