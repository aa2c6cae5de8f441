#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The scripts reject invalid arguments by name, before any measurement."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

REFUSED = {
    "race.py": {
        "--rounds": ("0", "-1", "x", "1.5"),
        "--timeout": ("0", "-1", "nan", "inf", "x"),
        "--filter": ("(", "[a"),
        "--warm": ("-1", "x", ""),
        "--checked": ("(",),
        "--json": ("/nowhere/figures.json", "/"),
        "--litter": ("0", "x", "4294967297"),
        "--litter-sizes": ("16", "16-", "7-16", "32-16", "16-4294967297"),
        "--litter-kept": ("-1", "101", "x"),
        "--litter-seed": ("0", "x"),
    },
    "compare.py": {
        "--repetitions": ("0", "x"),
        "--min-time": ("0", "-1", "x"),
        "--filter": ("(",),
        "--json": ("/nowhere/figures.json",),
        "--litter": ("0", "x"),
    },
    "drop_ins.py": {
        "--rounds": ("0", "x"),
        "--repetitions": ("0", "x"),
        "--min-time": ("0", "x"),
        "--filter": ("(",),
        "--json": ("/nowhere/figures.json",),
    },
    "returning_patterns.py": {
        "--repetitions": ("0",),
        "--items": ("0", "x"),
        "--steps": ("1,x", "-1", ""),
        "--csv": ("/nowhere/figures.csv",),
    },
}


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, BENCHMARKS / script, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


class Arguments(unittest.TestCase):
    def test_rejects_invalid_arguments(self):
        for script, options in REFUSED.items():
            for option, values in options.items():
                for value in values:
                    with self.subTest(script=script, option=option, value=value):
                        result = run(script, f"{option}={value}")
                        self.assertEqual(result.returncode, 2)
                        self.assertIn(f"argument {option}: {value.rpartition(',')[2]!r} ", result.stderr)
                        self.assertNotIn("Traceback", result.stderr)

    def test_accepts_valid_arguments(self):
        with tempfile.TemporaryDirectory() as nothing:
            for script, arguments in {
                "race.py": (
                    "--rounds=1",
                    "--timeout=.5",
                    "--filter=^a|b$",
                    "--warm=0",
                    f"--json={nothing}/new",
                    f"--build={nothing}",
                ),
                "compare.py": ("--repetitions=1", "--min-time=1e-3", f"--json={nothing}/new", f"--build={nothing}"),
                "drop_ins.py": ("--rounds=1", "--min-time=1e-3", f"--json={nothing}/new", f"--build={nothing}"),
                "returning_patterns.py": ("--steps=0,10", f"--csv={nothing}/new", f"--program={nothing}/none"),
            }.items():
                with self.subTest(script=script):
                    result = run(script, *arguments)
                    self.assertEqual(result.returncode, 1, "there is no program to run")
                    self.assertIn(nothing, result.stderr)


if __name__ == "__main__":
    unittest.main()
