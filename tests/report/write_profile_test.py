#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Profiles of pools can be read by pprof and as folded stacks.   write_profile_test.py PROGRAM

pprof, if it is installed (go install github.com/google/pprof@latest), must name functions and pools.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from pprof import PPROF, bytes_of, pprof  # noqa: E402

(PROGRAM,) = sys.argv[1:]


def run(mean, path, **variables):
    result = subprocess.run([PROGRAM, str(mean), str(path)], env={**os.environ, **variables}, stderr=subprocess.PIPE,
                            timeout=100, check=False)
    return result.returncode, result.stderr.decode()


class Profile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def in_use(self, mean):
        """Returns the bytes in use by the outermost frame of folded stacks."""
        path = self.folder / "out.folded"
        self.assertEqual(run(mean, path), (0, ""))
        totals = {}
        for line in path.read_text().splitlines():
            stack, bytes_in_use = line.rsplit(" ", 1)
            pool = stack.split(";")[0]
            totals[pool] = totals.get(pool, 0) + int(bytes_in_use)
        return totals

    def test_folds_stacks_below_the_names_of_pools(self):
        self.assertEqual(self.in_use(1), {"orders": 3_200_000, "jobs": 4_000_000}, "exact")
        self.assertEqual(self.in_use(0), {}, "off")
        estimates = self.in_use(400)
        self.assertAlmostEqual(estimates["orders"] / 3_200_000, 1, delta=0.05)
        self.assertAlmostEqual(estimates["jobs"] / 4_000_000, 1, delta=0.05)

    @unittest.skipUnless(PPROF, "there is no pprof: go install github.com/google/pprof@latest")
    def test_pprof_names_functions_and_pools_within_five_percent(self):
        path = self.folder / "pprof.pb"
        self.assertEqual(run(400, path), (0, ""))
        in_use = pprof("-top", "-nodefraction=0", PROGRAM, path)
        self.assertAlmostEqual(bytes_of("read_orders", in_use) / 3_200_000, 1, delta=0.05, msg=in_use)
        self.assertAlmostEqual(bytes_of("plan_jobs", in_use) / 4_000_000, 1, delta=0.05, msg=in_use)
        self.assertEqual(bytes_of("run_jobs", in_use), 0, in_use)
        self.assertNotIn("block_pool", in_use.split("flat%")[1], "starts with the caller of the pool")
        allocated = pprof("-top", "-nodefraction=0", "-sample_index=alloc_space", PROGRAM, path)
        self.assertAlmostEqual(bytes_of("run_jobs", allocated) / 8_000_000, 1, delta=0.05, msg=allocated)
        self.assertRegex(pprof("-peek", "^read_orders$", PROGRAM, path), r"\bmain\n")
        tags = pprof("-tags", PROGRAM, path)
        self.assertRegex(tags, r"pool: Total .*\n.*: (jobs|orders)\n.*: (jobs|orders)\n")
        jobs = pprof("-top", "-nodefraction=0", "-tagfocus=pool=jobs", PROGRAM, path)
        self.assertEqual(bytes_of("read_orders", jobs), 0, jobs)

    def test_lists_blocks_in_use_when_pools_are_destroyed_and_sets_the_status(self):
        path = self.folder / "out.txt"
        status, text = run(1, path, NP_LEAKS_EXIT="99")
        self.assertEqual(status, 99)
        self.assertIn("memory_pool: pool 'orders': in use, by call site:\n", text)
        self.assertIn("  in all  50000 blocks  3200000 bytes\n", text)
        self.assertIn("memory_pool: pool 'jobs': in use, by call site:\n", text)
        self.assertIn("  in all  10000 blocks  4000000 bytes\n", text)
        self.assertIn("; pool 'orders':\n", path.read_text())
        status, text = run(1, path, NP_LEAKS="1")
        self.assertEqual(status, 0, text)

    def test_takes_the_mean_from_the_environment_unless_the_program_sets_it(self):
        path = self.folder / "out.txt"
        self.assertEqual(run("-", path, NP_PROFILE_BYTES="1")[0], 0)
        self.assertTrue(path.read_text().startswith("memory_pool: allocations by call stack\n"), path.read_text())
        self.assertEqual(run("-", path, NP_PROFILE_BYTES="4K")[0], 0)
        self.assertIn("one per 4096 bytes", path.read_text())
        self.assertEqual(run(1000, path, NP_PROFILE_BYTES="4K")[0], 0)
        self.assertIn("one per 1000 bytes", path.read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
