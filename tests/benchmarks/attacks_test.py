#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""attacks.py classifies the results of attacks."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import attacks  # pylint: disable=wrong-import-position


class Attacks(unittest.TestCase):
    def test_count_as_stopped_at_a_signal_an_error_or_erased_content(self):
        for status, output, errors, expected in (
            (-6, "", "double free", "stopped"),
            (1, "goes on\n", "", "stopped"),
            (0, "nothing is left\n", "", "stopped"),
            (0, "goes on\n", "ignored", "told"),
            (0, "goes on\n", "", "missed"),
            (77, "", "", "not made"),
        ):
            self.assertEqual(attacks.result_of(status, output, errors), expected)
        self.assertRaises(ValueError, attacks.result_of, 0, "", "")

    def test_count_as_stopped_if_every_round_stops_them(self):
        cells = [attacks.Cell("a", size) for size in attacks.SIZES]
        first = dict.fromkeys(cells, attacks.Ending("stopped", ""))
        second = {**first, cells[1]: attacks.Ending("told", "")}
        stopped = attacks.stopped_in_all([first, second])
        self.assertEqual(attacks.table(["a"], {"one": stopped, "none": set()}), [
            "| attack | one | none |", "|---|---|---|", "| a | s - l | - - - |", "| of 3 | 2 | 0 |"])


if __name__ == "__main__":
    unittest.main()
