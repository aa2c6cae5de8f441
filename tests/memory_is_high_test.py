#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The program of docs/observability.md has the defect that is found there, in the lines that the page names.

    memory_is_high_test.py PROGRAM
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = ""
ROOT = Path(__file__).resolve().parents[1]
LINES = {
    "render": "page.reserve(",
    "page": "pages_.emplace(",
    "(anonymous namespace)::serve_all": "all.serve(",
    "(anonymous namespace)::server::serve": "cache_.page(",
    "main": "serve_all(waiting)",
}


class MemoryIsHigh(unittest.TestCase):
    def test_only_the_fault_fills_the_cache(self):
        self.assertEqual(subprocess.run([PROGRAM], timeout=60, check=False).returncode, 0)

    def test_serves_as_described_in_the_guide(self):
        for argument, pages in (("wait", 40000), ("fixed", 100)):
            done = subprocess.run([PROGRAM, argument], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=True)
            self.assertRegex(done.stdout, rf"^process [0-9]+: {pages} pages in the cache\n$")

    def test_the_guide_quotes_the_program(self):
        guide = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
        source = (ROOT / "examples" / "memory_is_high.cpp").read_text(encoding="utf-8").splitlines()
        found = re.findall(r"%  (\S.*) \.\.\./examples/memory_is_high\.cpp:(\d+)", guide)
        self.assertEqual({function for function, _ in found}, set(LINES))
        for function, line in found:
            self.assertIn(LINES[function], source[int(line) - 1], function)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
