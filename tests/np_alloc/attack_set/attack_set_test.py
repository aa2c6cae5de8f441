#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests which attacks of attack_set.cpp np_alloc stops in place of malloc.   attack_set_test.py PROGRAM LIBRARY

The checked build allocates blocks in random order, so each attack runs several times, and once more in address order:
it must be stopped each time.
"""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
import attacks  # pylint: disable=wrong-import-position

PROGRAM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:3])
IS_CHECKED = "_checked" in os.path.basename(LIBRARY)

# The attacks that are stopped with small, medium and large blocks. `?`: may be stopped.
EXPECTED = """
attack                              plain    if checked
overflow of 1 byte                  - - -    s m l
overflow of 8 bytes                 - - -    s m l
overflow of 32 bytes                - - -    s m l
overflow by memcpy                  - - -    s m l
overflow of 1 MiB                   - - -    s m l
overflow of the last block          - - -    s m l
a byte in the slack                 - - -    s m l
underflow of 1 byte                 - - -    s m l
underflow of 32 bytes               - - -    s m l
underflow by memcpy                 - - -    s m l
free of the stack                   - - -    s m l
free of a static                    - - -    s m l
free of mapped pages                - - -    s m l
free 1 GiB further on               - - -    s m l
free of block + 1                   s m l    s m l
free of block + 16                  - - l    s m l
free of block + 8, twice            s m l    s m l
double free                         s m l    s m l
double free, another between        - - l    s m l
double free of many                 s m l    s m l
double free, much later             s m l    s m l
double free by two threads          s m l    s m l
free of what realloc has moved      s m l    s m l
free of an uninitialized pointer    - - -    s m l
malloc_usable_size after free       - - l    s m l
realloc after free                  s m l    s m l
write after free, 8 bytes           - - -    s m l
write after free, a byte within     - - -    s m l
write after free, last of all       - - -    s m l
write to what realloc has moved     - - -    s m l
read after free                     - - -    s m l
read of new memory                  - - -    s m l
malloc, delete                      - - -    s m l
new[], delete                       - - -    s m l
delete with another size            - - -    s m l
write to a block of 0 bytes         - - -    s m l
"""
# How many of the 108 attacks the checked build stops at least.
LEAST = 100


def rows(text):
    """Returns the rows of a table as lists of columns."""
    return [[column.strip() for column in line.split("  ") if column.strip()] for line in text.strip().splitlines()]


def cells_of(rows_of_table, column, marks):
    """Returns the cells that have one of these marks in that column."""
    return {attacks.Cell(row[0], size) for row in rows_of_table
            for size, mark in zip(attacks.SIZES, row[column].split()) if mark in marks}


def expectations(is_checked):
    """Returns (cells that must be stopped, cells that may be)."""
    table = rows(EXPECTED)[1:]
    column = 2 if is_checked else 1
    return cells_of(table, column, "sml"), cells_of(table, column, "?")


def differences(endings, must, may):
    """Returns a line for each cell that has ended otherwise than expected."""
    stopped = {cell for cell, ending in endings.items() if ending.result == "stopped"}
    return [f"{cell.kind}, {cell.size}: {endings[cell].result} ({endings[cell].text})"
            for cell in endings if (cell in stopped) != (cell in must) and cell not in may]


class AttackSet(unittest.TestCase):
    def test_has_36_kinds_of_attacks_and_a_control(self):
        kinds = attacks.kinds_of(PROGRAM)
        self.assertEqual(kinds, [attacks.CONTROL] + [row[0] for row in rows(EXPECTED)[1:]])
        self.assertEqual(len(kinds), 37)

    def test_is_stopped_as_expected_in_any_order_of_blocks(self):
        must, may = expectations(IS_CHECKED)
        for variables in ({}, {}, {}, {"NP_RANDOM_ORDER": "0"}) if IS_CHECKED else ({},):
            endings = attacks.attack_all(PROGRAM, LIBRARY, **variables)
            with self.subTest(str(variables)):
                self.assertEqual(differences(endings, must, may), [])
                self.assertNotIn("not made", {ending.result for ending in endings.values()})

    def test_the_checked_build_stops_most(self):
        self.assertGreaterEqual(len(expectations(True)[0]), LEAST)


class Judges(unittest.TestCase):
    """Tests of the functions that judge the attacks."""

    def test_tells_what_is_stopped(self):
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

    def test_finds_each_difference(self):
        cells = [attacks.Cell("a", size) for size in attacks.SIZES]
        endings = dict(zip(cells, (attacks.Ending(result, "") for result in ("stopped", "missed", "stopped"))))
        self.assertEqual(differences(endings, {cells[0], cells[2]}, set()), [])
        self.assertEqual(len(differences(endings, {cells[0]}, set())), 1)
        self.assertEqual(differences(endings, {cells[0]}, {cells[2]}), [])
        self.assertEqual(len(differences(endings, set(cells), set())), 1)

    def test_counts_what_each_round_has_stopped(self):
        cells = [attacks.Cell("a", size) for size in attacks.SIZES]
        first = dict.fromkeys(cells, attacks.Ending("stopped", ""))
        second = {**first, cells[1]: attacks.Ending("told", "")}
        stopped = attacks.stopped_in_all([first, second])
        self.assertEqual(attacks.table(["a"], {"one": stopped, "none": set()}), [
            "| attack | one | none |", "|---|---|---|", "| a | s - l | - - - |", "| of 3 | 2 | 0 |"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
