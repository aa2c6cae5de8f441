#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""How many instructions malloc and free take for a small block that is cached.   instructions_test.py LIBRARY

The way of such a call is straight: from the first instruction to the first `ret`, with no jump taken. Both are printed.
"""
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY = sys.argv[1]

MOST = {"malloc": 13, "free": 20}


def straight_way(function):
    """Returns the instructions from the beginning of a function to the first `ret`."""
    listing = subprocess.run(["objdump", "--disassemble=" + function, "--no-show-raw-insn", LIBRARY],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
    way = []
    for line in listing.splitlines():
        instruction = re.match(r"\s*[0-9a-f]+:\t(.*)", line)
        if instruction:
            way.append(instruction.group(1).strip())
            if way[-1].startswith("ret"):
                return way
    raise AssertionError(f"{function} has no end:\n{listing}")


@unittest.skipUnless(shutil.which("objdump"), "there are no binutils")
class Instructions(unittest.TestCase):
    def test_small_blocks_take_no_more_than(self):
        for function, most in MOST.items():
            with self.subTest(function=function):
                way = straight_way(function)
                print(f"{function}: {len(way)} instructions\n    " + "\n    ".join(way))
                self.assertFalse([each for each in way if each.startswith("call")], "nothing is called on the way")
                self.assertLessEqual(len(way), most)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
