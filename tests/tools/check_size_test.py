#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""check_size.py reads and writes its table, and finds headers that have grown."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_size  # pylint: disable=wrong-import-position

FIGURES = {"a.hpp": (38_490, 1.64, 2_000, 1.5, 73), "boost/b.hpp": (100, 0.1, 51, 0.1, 51)}


class CheckSize(unittest.TestCase):
    def test_reads_the_table_that_it_writes_and_keeps_the_text_around_it(self):
        text = check_size.with_table("before\n\n| header | old |\n|---|\n| `c.hpp` | 1 |\n\nafter\n", FIGURES)
        self.assertEqual(check_size.read_table(text), FIGURES)
        self.assertTrue(text.startswith("before\n\n| header |") and text.endswith("|\n\nafter\n"), text)

    def test_reports_each_value_beyond_its_tolerance(self):
        self.assertEqual(list(check_size.complaints(FIGURES, FIGURES)), [])
        grown = {**FIGURES, "a.hpp": (39_400, 2.3, 2_141, 1.5, 73)}
        found = list(check_size.complaints(FIGURES, grown))
        self.assertEqual([line.split(":")[1] for line in found], [" lines", " time", " text"])
        within = {**FIGURES, "a.hpp": (39_300, 2.2, 2_139, 1.0, 60)}
        self.assertEqual(list(check_size.complaints(FIGURES, within)), [])

    def test_reports_headers_that_only_one_side_has(self):
        found = list(check_size.complaints({"a.hpp": FIGURES["a.hpp"]}, {"c.hpp": FIGURES["a.hpp"]}))
        self.assertEqual(found, ["a.hpp: in docs/sizes.md, but there is no such header", "c.hpp: not in docs/sizes.md"])


if __name__ == "__main__":
    unittest.main()
