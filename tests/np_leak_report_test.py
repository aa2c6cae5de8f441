#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The example in C reports its leak with the line of the allocation, even at process exit.

    np_leak_report_test.py NP_LEAK_REPORT
"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = ""
ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "examples" / "np_leak_report.c"


def run(**environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    return subprocess.run([PROGRAM], env={**kept, **environment}, capture_output=True, encoding="utf-8", timeout=60,
                          check=False)


def leak() -> str:
    """Returns the report, without the folder of the source."""
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "NEW_BLOCK(bytes);" in text)
    return ("np_alloc: in use, by call site:\n"
            f"  np_leak_report.c:{line}  1 block  6 bytes\n"
            "  in all  1 block  6 bytes\n")


def without_folder(text: str) -> str:
    return re.sub(r"  \S*/np_leak_report\.c", "  np_leak_report.c", text)


class NpLeakReport(unittest.TestCase):
    def test_lists_the_leak_of_the_message_that_is_malformed(self):
        result = run()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual(without_folder(result.stdout), f'"colour=green" leaks 0\n{leak()}"green" leaks 1\n'
                                                        f"all that is in use at the end:\n{leak()}")

    def test_lists_the_leak_when_the_process_ends(self):
        result = run(NP_LEAKS="1")
        self.assertEqual((result.returncode, without_folder(result.stderr)), (0, leak()))

    def test_exits_with_the_requested_status(self):
        result = run(NP_LEAKS_EXIT="99")
        self.assertEqual((result.returncode, without_folder(result.stderr)), (99, leak()))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
