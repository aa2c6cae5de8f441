#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests sampled blocks between guard pages in unchanged programs.   sampled_test.py WRONG_ACCESS LIBRARY..."""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

WRONG_ACCESS, *LIBRARIES = (os.path.abspath(path) for path in sys.argv[1:])

# Prints 1 if the process has a handler for SIGSEGV, or 0.
HAS_HANDLER = """
caught = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("SigCgt"))
print(int(caught, 16) >> 10 & 1)
"""


def run(library, *command, **variables):
    """Returns the exit status, the standard output and the standard error of the command."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    done = subprocess.run(command, env={**environment, "LD_PRELOAD": library, **variables}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def calls(title, report):
    """Returns the calls below a title."""
    return re.search(rf"^  {title} by:\n((?:    .*\n)+)", report, re.MULTILINE).group(1).splitlines()


def names(lines):
    """Returns the names of the called functions, from addr2line."""
    found = []
    for line in lines:
        module, offset = re.match(r"    (.*)\+(0x[0-9a-f]+)", line).groups()
        found += subprocess.run(["addr2line", "-f", "-e", module, offset], stdout=subprocess.PIPE,
                                check=True).stdout.decode().splitlines()[:1]
    return found


class Samples(unittest.TestCase):
    def for_each_library(self, test):
        for library in LIBRARIES:
            with self.subTest(library=os.path.basename(library)):
                test(library)

    def expect_report(self, library, how, kind, *titles):
        status, output, errors = run(library, WRONG_ACCESS, how, NP_SAMPLE_BYTES="1")
        self.assertEqual((status, output), (-signal.SIGSEGV, ""), errors)
        self.assertRegex(errors, rf"^memory_pool: {kind}: access to address 0x[0-9a-f]+, block 0x[0-9a-f]+, "
                                 r"block size 64 bytes, pool 'np_alloc'\n  remedy: .*\n")
        self.assertEqual(re.findall(r"^  (\w+) by:$", errors, re.MULTILINE), list(titles))
        return errors

    def expect_name(self, name, title, report):
        if shutil.which("addr2line"):
            self.assertIn(name, names(calls(title, report)))

    def test_buffer_overflow(self):
        def test(library):
            report = self.expect_report(library, "overflow", "buffer overflow", "accessed", "allocated")
            self.expect_name("touch", "accessed", report)
            self.expect_name("allocate_block", "allocated", report)
        self.for_each_library(test)

    def test_use_after_free(self):
        def test(library):
            report = self.expect_report(library, "after", "use after free", "accessed", "allocated", "freed")
            self.expect_name("free_block", "freed", report)
        self.for_each_library(test)

    def test_correct_accesses_are_not_reported(self):
        self.for_each_library(lambda library: self.assertEqual(
            run(library, WRONG_ACCESS, "", NP_SAMPLE_BYTES="1"), (0, "goes on\n", "")))

    def test_programs_run_unchanged(self):
        program = "print(sum(len(each) for each in [bytearray(i % 3000) for i in range(100000)]))"
        self.for_each_library(lambda library: self.assertEqual(
            run(library, sys.executable, "-c", program, NP_SAMPLE_BYTES="4K"), (0, "148950000\n", "")))

    def test_a_signal_handler_is_installed_only_for_samples_or_guard_pages(self):
        def test(library):
            self.assertEqual(run(library, sys.executable, "-c", HAS_HANDLER, NP_GUARD_PAGES="0"), (0, "0\n", ""))
            self.assertEqual(run(library, sys.executable, "-c", HAS_HANDLER, NP_SAMPLE_BYTES="4K"), (0, "1\n", ""))
        self.for_each_library(test)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
