#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests profiles of a program that does not use np_alloc itself.   profile_test.py PROGRAM LIBRARY...

Some tests need pprof: go install github.com/google/pprof@latest
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from pprof import PPROF, UNITS, bytes_of, pprof  # noqa: E402

PROGRAM, *LIBRARIES = sys.argv[1:]


def run(library, *arguments, **variables):
    result = subprocess.run([PROGRAM, *map(str, arguments)], env={**os.environ, "LD_PRELOAD": library, **variables},
                            stderr=subprocess.PIPE, timeout=100, check=True)
    return result.stderr.decode()


class Profile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_is_written_at_exit(self):
        for library in LIBRARIES:
            self.assertEqual(run(library, NP_PROFILE=str(self.folder / "at_end.%p")), "")
            (path,) = self.folder.glob("at_end.*")
            self.assertRegex(path.name, r"^at_end\.[0-9]+$")
            self.assertIn(b"inuse_space", path.read_bytes())
            path.unlink()

    def test_memory_of_the_c_library_is_no_leak(self):
        for library in LIBRARIES:
            for options in ({}, {"NP_REPORT": str(self.folder / "report.json")}):
                result = subprocess.run(["echo", "text"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100,
                                        check=False, env={**os.environ, "LD_PRELOAD": library, "NP_PROFILE_BYTES": "1",
                                                          "NP_LEAKS_EXIT": "99", **options})
                self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_is_written_on_a_signal(self):
        path = self.folder / "on_signal.txt"
        for library in LIBRARIES:
            with subprocess.Popen([PROGRAM, "wait"], stdout=subprocess.PIPE,
                                  env={**os.environ, "LD_PRELOAD": library, "NP_PROFILE": str(path)}) as process:
                process.stdout.readline()
                self.assertFalse(path.exists())
                process.send_signal(signal.SIGUSR1)
                for _ in range(1000):
                    if path.exists():
                        break
                    time.sleep(0.01)
                process.kill()
            self.assertIn("bytes in use", path.read_text())
            path.unlink()

    def test_write_errors_are_reported(self):
        for library in LIBRARIES:
            self.assertIn("the profile of NP_PROFILE=/no/such cannot be written",
                          run(library, NP_PROFILE="/no/such"))
            self.assertIn("NP_PROFILE is ignored: the path has more than", run(library, NP_PROFILE="x" * 2000))

    def test_is_empty_by_default(self):
        for library in LIBRARIES:
            path = self.folder / "off.txt"
            run(library, path, self.folder / "second.txt")
            self.assertEqual(len(path.read_text().splitlines()), 1, "only the heading")

    def test_folds_stacks(self):
        path = self.folder / "out.folded"
        for library in LIBRARIES:
            run(library, NP_PROFILE=str(path), NP_PROFILE_BYTES="256")
            total = 0
            for line in path.read_text().splitlines():
                stack, in_use = line.rsplit(" ", 1)
                total += int(in_use)
                self.assertNotIn(Path(library).name, stack.split(";")[-1], "stacks omit frames of the library")
                self.assertTrue(all(stack.split(";")))
            self.assertAlmostEqual(total / (3_200_000 + 10_000_000 + 4_000_000), 1, delta=0.05, msg=library)

    @unittest.skipUnless(PPROF, "needs pprof: go install github.com/google/pprof@latest")
    def test_pprof_names_functions_within_five_percent(self):
        for library in LIBRARIES:
            path = self.folder / "pprof.pb"
            run(library, NP_PROFILE=str(path), NP_PROFILE_BYTES="256")
            in_use = pprof("-top", "-nodefraction=0", PROGRAM, path)
            self.assertAlmostEqual(bytes_of("read_names", in_use) / 3_200_000, 1, delta=0.05, msg=in_use)
            self.assertAlmostEqual(bytes_of("make_pages", in_use) / 10_000_000, 1, delta=0.05, msg=in_use)
            self.assertEqual(bytes_of("parse_lines", in_use), 0)
            self.assertNotIn("malloc", in_use.split("flat%")[1], "call stacks start with the caller of np_alloc")
            allocated = pprof("-top", "-nodefraction=0", "-sample_index=alloc_space", PROGRAM, path)
            self.assertAlmostEqual(bytes_of("parse_lines", allocated) / 12_000_000, 1, delta=0.05, msg=allocated)
            self.assertRegex(pprof("-peek", "^make_pages$", PROGRAM, path), r"\bmain\n")

    @unittest.skipUnless(PPROF, "needs pprof: go install github.com/google/pprof@latest")
    def test_pprof_compares_two_profiles(self):
        for library in LIBRARIES:
            before, after = self.folder / "before", self.folder / "after"
            run(library, before, after, NP_PROFILE_BYTES="256")
            grown = pprof("-top", "-nodefraction=0", "-base", before, PROGRAM, after)
            self.assertEqual(bytes_of("make_pages", grown), 0, grown)
            total = re.search(r"of (-?[\d.]+)([kMG]?B) total", grown)
            self.assertAlmostEqual(float(total[1]) * UNITS[total[2]] / 4_000_000, 1, delta=0.05, msg=grown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
