#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""drop_ins.py compares the two rows of each cell, tested with programs that report given times."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "drop_ins.py"


def row(name, **figures):
    return {"name": name, "run_name": name, "run_type": "iteration", "time_unit": "ns", "real_time": 0.0,
            "cpu_time": 0.0, **figures}


class DropIns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name)

    def program(self, name, *rounds):
        """Creates a program that reports the rows of the first round in its first run, and so on."""
        reports = self.build / f"{name}.json"
        reports.write_text(json.dumps([{"context": {}, "benchmarks": rows} for rows in rounds]), encoding="utf-8")
        path = self.build / f"{name}_benchmark"
        path.write_text(f"""#!{sys.executable}
import json
with open({os.fspath(reports)!r}) as file:
    first, *rest = json.load(file)
with open({os.fspath(reports)!r}, "w") as file:
    json.dump(rest, file)
print(json.dumps(first))
""", encoding="utf-8")
        path.chmod(0o755)

    def compare(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, f"--build={self.build}", *arguments], capture_output=True,
                              text=True, check=False, timeout=60)

    def line_of(self, result, cell):
        lines = [line.split() for line in result.stdout.splitlines() if line.startswith(cell + " ")]
        self.assertEqual(len(lines), 1, result.stdout + result.stderr)
        return lines[0][1:]

    def test_compares_medians_over_all_rounds(self):
        stand_in = row("pair/16/8/stand_in", cpu_time=10.0)
        self.program("memory_pool",
                     *[[stand_in, row("pair/16/8/drop_in", cpu_time=time)] for time in (4.0, 100.0, 5.0)])
        result = self.compare("--rounds=3", "--check")
        self.assertEqual(self.line_of(result, "pair/16/8"), ["10.00", "5.00", "0.500"])
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("0 goals missed", result.stdout)

    def test_uses_per_block_or_manual_time_or_cpu_time(self):
        self.program("ArenaMR", [
            row("a/1/8/stand_in", cpu_time=10.0, real_time=1.0), row("a/1/8/drop_in", cpu_time=5.0, real_time=1.0),
            row("b/1/8/stand_in/manual_time", cpu_time=1.0, real_time=10.0),
            row("b/1/8/drop_in/manual_time", cpu_time=1.0, real_time=0.002, time_unit="us"),
            row("c/1/8/stand_in", cpu_time=1.0, per_block=10e-9), row("c/1/8/drop_in", cpu_time=1.0, per_block=7e-9)])
        result = self.compare("--rounds=1", "ArenaMR")
        self.assertEqual([self.line_of(result, f"{shape}/1/8")[2] for shape in "abc"], ["0.500", "0.200", "0.700"])

    def test_sorts_numbers_by_their_value(self):
        self.program("custAlloc", [row(f"a/16/{n}/{side}", cpu_time=1.0)
                                   for n in (128, 8, 32) for side in ("stand_in", "drop_in")])
        cells = [line.split()[0] for line in self.compare("--rounds=1").stdout.splitlines() if line.startswith("a/")]
        self.assertEqual(cells, ["a/16/8", "a/16/32", "a/16/128"])

    def test_fails_if_a_cell_takes_too_long(self):
        self.program("memory_pool", [row("a/1/8/stand_in", cpu_time=10.0), row("a/1/8/drop_in", cpu_time=1.0),
                                     row("b/1/8/stand_in", cpu_time=10.0), row("b/1/8/drop_in", cpu_time=10.6)])
        result = self.compare("--rounds=1", "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("1 goals missed\n  memory_pool: b/1/8: the drop-in takes 1.060 times", result.stdout)

    def test_fails_if_a_drop_in_is_not_ahead_on_average(self):
        self.program("memory_pool", *[[row("a/1/8/stand_in", cpu_time=10.0), row("a/1/8/drop_in", cpu_time=10.0)]] * 2)
        result = self.compare("--rounds=1", "--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the geometric mean of the ratios is 1.000, not below 1", result.stdout)
        self.assertEqual(self.compare("--rounds=1").returncode, 0, "without --check, nothing fails")

    def test_reports_faulty_programs(self):
        for name, rows, text in (("ArenaMR", [row("pair/drop_in", cpu_time=1.0)], "a row is named pair/drop_in"),
                                 ("custAlloc", [row("a/1/8/drop_in", error_occurred=True, error_message="overlap")],
                                  "a/1/8/drop_in: overlap"),
                                 ("memory_pool", [row("a/1/8/drop_in", cpu_time=1.0)], "no cell matches . with both")):
            self.program(name, rows)
            result = self.compare("--rounds=1", name)
            self.assertEqual(result.returncode, 1)
            self.assertIn(text, result.stderr)

    def test_rejects_unknown_drop_ins_and_missing_programs(self):
        result = self.compare("pool")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'pool' is none of memory_pool, ", result.stderr)
        result = self.compare("boost_intrusive_pool")
        self.assertEqual(result.returncode, 1)
        self.assertIn("boost_intrusive_pool_benchmark is not in", result.stderr)


if __name__ == "__main__":
    unittest.main()
