#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""compare.py runs its programs under several mallocs and on littered heaps, tested with programs that report their
environment."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import compare  # pylint: disable=wrong-import-position

# Reports ten nanoseconds under glibc; under another malloc, the length of its name; for a pool, two.
PROGRAM = f"""#!{sys.executable}
import json, os, sys
preloaded = [path for path in os.environ["LD_PRELOAD"].split(":") if path]
if "LITTER" in os.environ and os.environ.get("IS_LAZY") is None:
    assert preloaded.pop(0).endswith("/np_alloc/litter.so")
    assert os.environ["LITTER"] == "20 8 16 40 1"
    with open(os.environ["LITTER_REPORT"], "w") as report:
        report.write("1 1 1")
time = len(preloaded[0].rpartition("/")[2]) if preloaded else 10
def row(side, nanoseconds):
    return {{"name": side, "run_name": "list/" + side + "/100", "run_type": "iteration",
            "per_block": nanoseconds / 1e9}}
print(json.dumps({{"context": {{}}, "benchmarks": [row("new_delete", time), row("object_pool", 2)]}}))
"""


# Stands in for all preloaded libraries.
LISTED = subprocess.run(["ldd", sys.executable], stdout=subprocess.PIPE, text=True, check=True).stdout
ANY_LIBRARY = next(line.split()[2] for line in LISTED.splitlines() if "libm.so" in line)


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name) / "benchmarks"
        (self.build / "np_alloc").mkdir(parents=True)
        program = self.build / "structures_benchmark"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        self.libraries = {}
        for name in ("one", "three"):
            path = self.build / name
            path.symlink_to(ANY_LIBRARY)
            self.libraries[name] = str(path)

    def compare(self, *arguments, programs=("structures_benchmark",)):
        """Returns (status or message, output)."""
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["compare.py", f"--build={self.build}", *arguments]), \
                mock.patch.object(compare, "PROGRAMS", programs), \
                mock.patch.dict(compare.mallocs.LIBRARIES, self.libraries), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                return compare.main(), said.getvalue()
            except SystemExit as end:
                return end.code, said.getvalue()

    def lines(self, said):
        return [line.split() for line in said.splitlines() if line.startswith("list/")]

    def test_one_malloc_has_a_table_of_sides(self):
        status, said = self.compare()
        self.assertEqual(status, 0)
        self.assertEqual(self.lines(said), [["list/100", "new_delete", "10.00", "[10.00]", "1.00", "0.20"],
                                            ["list/100", "object_pool", "2.00", "[2.00]", "5.00", "1.00"]])

    def test_several_mallocs_have_adjacent_columns(self):
        written = self.build / "figures.json"
        status, said = self.compare("--mallocs=glibc,one,three", f"--json={written}")
        self.assertEqual(status, 0)
        self.assertEqual(self.lines(said), [
            ["list/100", "new_delete", "10.00", "(1.00)", "3.00", "(1.00)", "5.00", "(1.00)"],
            ["list/100", "object_pool", "2.00", "(5.00)", "2.00", "(1.50)", "2.00", "(2.50)"]])
        reports = json.loads(written.read_text(encoding="utf-8"))
        self.assertEqual(list(reports["structures_benchmark"]), ["glibc", "one", "three"])

    def test_a_competitor_may_be_level(self):
        def missed(ours, n):
            rows = {("iterate", n): {"object_pool": compare.Row(ours, ours), "plf_colony": compare.Row(1.0, 1.0)}}
            return list(compare.missed_goals(rows, "object_pool"))
        self.assertEqual(missed(1.14, 1000), [])
        self.assertEqual(missed(1.16, 1000), ["iterate/1000: object_pool takes 1.16 ns a block, plf_colony 1.00"])
        self.assertEqual(missed(9.0, 10), [], "rows of a few blocks are only shown")

    def test_the_heap_is_littered_under_each_malloc(self):
        (self.build / "np_alloc" / "litter.so").symlink_to(ANY_LIBRARY)
        littered = ("--mallocs=glibc,three", "--litter=20", "--litter-sizes=8-16")
        status, said = self.compare(*littered)
        self.assertEqual(status, 0)
        self.assertIn("litter     20 blocks of 8 to 16 bytes, 40 % kept, seed 1\n", said)
        self.assertEqual(self.lines(said)[0][2:], ["10.00", "(1.00)", "5.00", "(1.00)"])

    def test_a_heap_that_is_not_littered_has_no_results(self):
        (self.build / "np_alloc" / "litter.so").symlink_to(ANY_LIBRARY)
        with mock.patch.dict(os.environ, IS_LAZY="1"):
            status, said = self.compare("--litter=20")
        self.assertEqual(status, "compare.py: the heap of structures_benchmark was not littered")
        self.assertEqual(self.lines(said), [])

    def test_an_invalid_library(self):
        os.unlink(self.libraries["one"])
        Path(self.libraries["one"]).touch()
        status, _ = self.compare("--mallocs=one")
        self.assertIn("cannot be preloaded", status)

    def test_missing_programs_and_mallocs(self):
        status, _ = self.compare("--litter=20")
        self.assertIn(f"there is no {self.build}/np_alloc/litter.so; build the target `race` first", status)
        status, said = self.compare("--mallocs=np_alloc")
        self.assertEqual(status, "compare.py: there is no malloc to run")
        self.assertIn("np_alloc is left out: there is no ", said)
        status, said = self.compare("--mallocs=fastest")
        self.assertEqual(status, 2)
        self.assertIn("no such malloc: fastest", said)
        status, _ = self.compare(programs=("block_pool_benchmark",))
        self.assertIn("block_pool_benchmark is not in", status)


if __name__ == "__main__":
    unittest.main()
