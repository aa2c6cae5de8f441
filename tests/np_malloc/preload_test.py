#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Programs do the same with libnp_malloc.so in place of the C library's malloc.

preload_test.py LIBRARY SOURCE_DIRECTORY OWN_NEW     (the last: a program that replaces operator new itself)
"""
import os
import shutil
import subprocess
import sys
import unittest

LIBRARY = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
OWN_NEW = os.path.abspath(sys.argv[3])


def run(command, **environment):
    """Returns what the command prints, and how it ends."""
    done = subprocess.run(command, env={**os.environ, **environment}, cwd=SOURCE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


class Preload(unittest.TestCase):
    def expect_the_same(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"there is no {command[0]}")
        self.assertEqual(run(command, LD_PRELOAD=LIBRARY), run(command))

    def test_the_library_is_the_malloc_of_the_process(self):
        status, _, errors = run(["ls", "/"], LD_PRELOAD=LIBRARY, LD_DEBUG="bindings")
        self.assertEqual(status, 0)
        self.assertIn(f"to {LIBRARY} [0]: normal symbol `malloc'", errors.decode())

    def test_shell(self):
        self.expect_the_same("bash", "-c", "for i in {1..200}; do echo $i; done | sort | tail -n 3; echo $(ls include)")

    def test_python_with_threads(self):
        program = ("import threading, re\n"
                   "found = []\n"
                   "def work(n): found.append(sum(len(str(i)) for i in range(n)) + len(re.findall('1+', str(2 ** n))))\n"
                   "threads = [threading.Thread(target=work, args=(2000 + n,)) for n in range(20)]\n"
                   "[t.start() for t in threads]; [t.join() for t in threads]\n"
                   "print(sorted(found))")
        self.expect_the_same("python3", "-c", program)

    def test_perl(self):
        self.expect_the_same("perl", "-e", "my %h; $h{$_ * 7 % 10007} .= $_ for 1..50000; print scalar(keys %h), \"\\n\"")

    def test_compiler(self):
        self.expect_the_same("g++", "-std=c++17", "-fsyntax-only", "-Iinclude", "examples/my_struct.cpp")

    def test_a_program_with_an_operator_new_of_its_own(self):
        self.assertEqual(run([OWN_NEW])[0], 0)
        self.expect_the_same(OWN_NEW)

    def test_cmake(self):
        self.expect_the_same("cmake", "-P", "cmake/warnings.cmake")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
