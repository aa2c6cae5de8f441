#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Each public header has a row in tests/fuzz/README.md, with fuzzers that include it, or with the reason for having
none. Each fuzzer has a tape, a unit test, and a corpus of small inputs."""
import functools
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/memory_pool"
FUZZ = ROOT / "tests/fuzz"
TABLE = (FUZZ / "README.md").read_text(encoding="utf-8")
MOST_BYTES = 512


def public_headers():
    return {
        path.name
        for path in HEADERS.iterdir()
        if path.suffix in (".hpp", ".h")
    }


def rows_of(table):
    """Returns {header in the first column: second column}."""
    table = table[table.index("| header in "):]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE))


@functools.lru_cache(maxsize=None)
def includes_of(source):
    """Returns the files of the project that a source includes."""
    names = re.findall(r"^#include [<\"]([^>\"]+)[>\"]", source.read_text(encoding="utf-8"), re.MULTILINE)
    paths = (folder / name for name in names for folder in (ROOT / "include", ROOT / "tests"))
    return [path for path in paths if path.is_file()]


@functools.lru_cache(maxsize=None)
def included_by(source):
    """Returns the files of the project that a source includes directly or indirectly."""
    seen = set()
    left = [source]
    while left:
        new = [path for path in includes_of(left.pop()) if path not in seen]
        seen.update(new)
        left += new
    return seen


def faults(table, headers):
    """Returns the errors in the table."""
    rows = rows_of(table)
    found = [f"{header} has no row" for header in sorted(headers - rows.keys())]
    found += [f"{header} does not exist" for header in sorted(rows.keys() - headers)]
    for header, entry in rows.items():
        if re.fullmatch("none: .{10,}", entry):
            continue
        targets = re.findall("`([a-z_]+)`", entry)
        if not targets or re.sub("`[a-z_]+`|, ", "", entry):
            found.append(f"{header} has neither targets nor a reason: {entry}")
        for target in targets:
            source = FUZZ / f"{target}_fuzzer.cpp"
            if not source.is_file():
                found.append(f"{header} is in {target}, which does not exist")
            elif HEADERS / header not in included_by(source):
                found.append(f"{target}, which {header} is in, does not include it")
    return found


class FuzzTable(unittest.TestCase):
    def test_the_table_is_complete_and_correct(self):
        self.assertEqual(faults(TABLE, public_headers()), [])

    def test_errors_are_detected(self):
        self.assertEqual(faults(TABLE, public_headers() | {"new.hpp"}), ["new.hpp has no row"])
        for old, new, fault in (
            ("| `pooled.hpp` |", "| `gone.hpp` |", "gone.hpp does not exist"),
            ("| `pooled.hpp` | `item_pool` |", "| `pooled.hpp` | `block_pool` |", "does not include it"),
            ("| `pooled.hpp` | `item_pool` |", "| `pooled.hpp` | `no_pool` |", "no_pool, which does not exist"),
            ("| `pooled.hpp` | `item_pool` |", "| `pooled.hpp` | none |", "neither targets nor a reason"),
            ("| `pooled.hpp` | `item_pool` |", "| `pooled.hpp` | `item_pool` soon |", "neither targets nor a reason"),
        ):
            with self.subTest(new):
                self.assertIn(old, TABLE)
                self.assertIn(fault, "\n".join(faults(TABLE.replace(old, new), public_headers())))

    def test_each_target_is_complete(self):
        targets = {path.name[: -len("_fuzzer.cpp")] for path in FUZZ.glob("*_fuzzer.cpp")}
        tapes = {path.name[: -len("_tape.hpp")] for path in FUZZ.glob("*_tape.hpp")}
        self.assertEqual(targets, tapes)
        for target in targets:
            with self.subTest(target):
                self.assertIn(f"\n| `{target}` |", TABLE)
                self.assertIn("DEATH", (FUZZ / f"{target}_tape_test.cpp").read_text(encoding="utf-8"), "a fault")
                inputs = list((FUZZ / "corpus" / target).iterdir())
                self.assertTrue(0 < len(inputs) <= 16, inputs)
                for path in inputs:
                    self.assertLessEqual(path.stat().st_size, MOST_BYTES, path)


if __name__ == "__main__":
    unittest.main()
