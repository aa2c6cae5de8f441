#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests the number of instructions of malloc and free for a small cached block.   instructions_test.py LIBRARY

This fast path takes no jump: it goes from the first instruction to the first `ret`. Prints both paths.
"""
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY = sys.argv[1]

MAX_INSTRUCTIONS = {"malloc": 13, "free": 20}


def fast_path(function):
    """Returns the instructions from the start of a function to the first `ret`."""
    listing = subprocess.run(["objdump", "--disassemble=" + function, "--no-show-raw-insn", LIBRARY],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
    path = []
    for line in listing.splitlines():
        instruction = re.match(r"\s*[0-9a-f]+:\t(.*)", line)
        if instruction:
            path.append(instruction.group(1).strip())
            if path[-1].startswith("ret"):
                return path
    raise AssertionError(f"{function} has no ret:\n{listing}")


@unittest.skipUnless(shutil.which("objdump"), "needs binutils")
class Instructions(unittest.TestCase):
    def test_small_blocks_take_few_instructions(self):
        for function, limit in MAX_INSTRUCTIONS.items():
            with self.subTest(function=function):
                path = fast_path(function)
                print(f"{function}: {len(path)} instructions\n    " + "\n    ".join(path))
                self.assertFalse([each for each in path if each.startswith("call")], "the fast path has no calls")
                self.assertLessEqual(len(path), limit)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
