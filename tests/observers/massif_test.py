#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that massif sees the blocks of a pool.   massif_test.py VALGRIND PROGRAM

PROGRAM allocates 1,000 blocks of 1,000 bytes from a pool with massif_policy in its function take_all.
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

VALGRIND, PROGRAM = sys.argv[1:3]


class Massif(unittest.TestCase):
    def test_attributes_pool_blocks_to_their_caller(self):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory, "massif.out")
            subprocess.run([VALGRIND, "--tool=massif", "--detailed-freq=1", f"--massif-out-file={file}", PROGRAM],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100, check=True)
            lines = re.findall(r"n\d+: (\d+) 0x[0-9A-F]+: .*take_all", file.read_text(encoding="utf-8"))
        self.assertGreaterEqual(max(map(int, lines)), 990_000)
        self.assertLess(max(map(int, lines)), 1_100_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
