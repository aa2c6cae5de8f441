#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""litter_table.py shows races on fresh and littered heaps side by side."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "litter_table.py"


def times(*processor, failure=None):
    return {"failure": failure, "processor": processor}


class LitterTable(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name)

    def race(self, name, rows, litter=None):
        path = self.directory / name
        path.write_text(json.dumps({"litter": litter, "rows": rows}), encoding="utf-8")
        return path

    def table(self, fresh, littered):
        return subprocess.run([sys.executable, SCRIPT, "--fresh", *fresh, "--littered", *littered],
                              capture_output=True, text=True, check=False, timeout=60)

    def test_cells_are_ratios_to_the_best_fresh_one(self):
        fresh = [self.race("a", {"pairs": {"glibc": times(4, 9, 3), "mine": times(2, 2, 2)}}),
                 self.race("b", {"tree": {"glibc": times(1), "mine": times(failure="it ended")},
                                 "ring": {"glibc": times(1)}})]
        littered = [self.race("c", {"pairs": {"glibc": times(16), "mine": times(3)},
                                    "tree": {"glibc": times(4), "mine": times(1)}}, "20 blocks")]
        result = self.table(fresh, littered)
        self.assertEqual(result.stdout.splitlines(), [
            "| row | glibc | mine |",
            "|---|---|---|",
            "| pairs | 2.00 / 8.00 | 1.00 / 1.50 |",
            "| tree | 1.00 / 4.00 |  |",
            "| **slow-down** | 4.00 | 1.50 |"], result.stderr)

    def test_what_is_not_a_race_of_that_kind(self):
        fresh, littered = self.race("fresh", {}), self.race("littered", {}, "20 blocks")
        self.assertIn("is of a race without --litter", self.table([fresh], [fresh]).stderr)
        self.assertIn("is of a race with --litter", self.table([littered], [littered]).stderr)
        self.assertIn("is not a file", self.table([fresh], [self.directory / "none"]).stderr)


if __name__ == "__main__":
    unittest.main()
