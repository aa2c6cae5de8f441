#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Each workload of the race runs, has reproducible output, and detects a malloc that allocates a block twice.

    workloads_test.py DIRECTORY LIBRARY [--sanitized]

DIRECTORY has the programs; LIBRARY is faulty_malloc, which is not preloaded into sanitized programs.
"""
import os
import re
import subprocess
import sys
import unittest

# Each workload, with arguments that make it take milliseconds. Every byte is marked.
TINY = {
    "table": "blocks=500 live=50 threads=3 stride=1",
    "six_tables": "threads=3 live=50 live_of_one=50 divisor=20000 stride=1",
    "pairs": "pairs=2000 most=100 stride=1",
    "random_sizes": "steps=500 live=50 threads=2 stride=1",
    "server": "threads=3 lives=2 steps=200 live=20 stride=1",
    "producer_consumer": "batches=10 room=2 stride=1",
    "exchange": "threads=3 rounds=3 slots=10 steps=100 live=10 most=1024 stride=1",
    "ring": "threads=3 batches=5 ahead=2 stride=1",
    "big_buffers": "buffers=5 live=2 most=2048 stride=1024",
    "growing_vectors": "arrays=30 live=5 most=5000 stride=1",
    "strings": "lines=60 live=10",
    "tree": "depth=7 rounds=1",
    "aligned": "steps=500 live=20 stride=1",
    "calloc": "steps=300 live=20 most=4096 stride=1",
    "thread_churn": "threads=2 lives=5 blocks=20 left=5 stride=1",
    "fragmentation": "rounds=1 full=512 stride=1",
    "littered_heap": "litter=500 left=10 steps=500 live=50 stride=1",
    "after_peak": "threads=2 bytes=200000 wait=1 stride=1",
}
# Workloads without random numbers.
WITHOUT_SEED = ("pairs", "tree")
# Arguments for a malloc that returns one block in a hundred twice: enough blocks for an overlap, and one thread, so
# that the result is deterministic.
UNDER_FAULTY_MALLOC = {
    **TINY,
    "table": "blocks=3000 live=500 stride=1",
    "six_tables": "order=246 live_of_one=500 divisor=300 stride=1",
    "random_sizes": "steps=3000 live=50 stride=1",
    "server": "threads=1 lives=3 steps=2000 live=50 stride=1",
    "producer_consumer": "batches=100 stride=1",
    "exchange": "threads=1 rounds=3 slots=100 steps=2000 live=50 most=1024 stride=1",
    "ring": "threads=1 batches=50 stride=1",
    "after_peak": "threads=1 bytes=200000 wait=1 stride=1",
    "big_buffers": "buffers=2000 live=8 least=1 most=4 stride=16",
    "growing_vectors": "arrays=500 live=5 most=5000 stride=1",
    "strings": "lines=500 live=10",
    "thread_churn": "threads=1 lives=20 blocks=200 left=20 stride=1",
}


def run(program, arguments, **environment):
    return subprocess.run([os.path.join(PROGRAMS, program), *arguments.split()], env={**os.environ, **environment},
                          capture_output=True, text=True, check=False, timeout=60)


class Workloads(unittest.TestCase):
    def line_of(self, program, arguments):
        result = run(program, arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertRegex(result.stdout, rf"\A{program} operations=[1-9]\d* sum=[0-9a-f]{{16}} \|( \w+=\d+)*\n\Z")
        return result.stdout.partition("|")[0]

    def test_each_program_is_tested(self):
        self.assertEqual(sorted(set(os.listdir(PROGRAMS)) & {*TINY}), sorted(TINY))

    def test_output_is_reproducible(self):
        for program, arguments in TINY.items():
            with self.subTest(program):
                self.assertEqual(self.line_of(program, arguments), self.line_of(program, arguments))

    def test_another_seed_changes_the_work(self):
        for program, arguments in TINY.items():
            if program not in WITHOUT_SEED:
                with self.subTest(program):
                    self.assertNotEqual(self.line_of(program, arguments), self.line_of(program, arguments + " seed=2"))

    def test_fragmentation_reports_memory(self):
        figures = {name: int(value) for name, value in
                   re.findall(r"(\w+)=(\d+)\b", run("fragmentation", TINY["fragmentation"]).stdout.partition("|")[2])}
        self.assertGreaterEqual(figures["max_in_use"], 512)
        self.assertLess(figures["in_use_at_end"], 100)
        self.assertGreaterEqual(figures["max_taken"], figures["max_in_use"])
        self.assertLessEqual(figures["taken_at_end"], figures["max_taken"])

    def test_after_peak_reports_memory(self):
        figures = {name: int(value) for name, value in
                   re.findall(r"(\w+)=(\d+)\b", run("after_peak", "bytes=4000000 wait=1").stdout.partition("|")[2])}
        self.assertGreaterEqual(figures["max_taken"], 4000)
        self.assertGreater(figures["taken_after"], 0)

    def test_invalid_arguments(self):
        for argument in ("thread=2", "threads=", "threads=2x", "threads=0", "threads=-1", "threads", "most=4294967297"):
            with self.subTest(argument):
                result = run("table", argument)
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"not understood: {argument}\n", result.stderr)

    def test_a_least_size_above_the_most(self):
        for argument in ("least=20 most=10", "least=9000", "most=99"):
            with self.subTest(argument):
                result = run("table", argument)
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, r"\Anot understood: most=\d+, which is below least=\d+\n")

    def test_help_lists_all_arguments(self):
        result = run("table", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("  live=10000  ", result.stdout)
        self.assertIn("  stride=4096  ", result.stdout)

    def test_each_runs_under_another_malloc(self):
        if SANITIZED:
            self.skipTest("a sanitizer replaces malloc")
        for program, arguments in TINY.items():
            with self.subTest(program):
                result = run(program, arguments, LD_PRELOAD=FAULTY_MALLOC)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual(result.stdout.partition("|")[0], self.line_of(program, arguments))

    def test_each_detects_a_block_that_is_allocated_twice(self):
        if SANITIZED:
            self.skipTest("a sanitizer replaces malloc")
        for program, arguments in UNDER_FAULTY_MALLOC.items():
            with self.subTest(program):
                result = run(program, arguments, LD_PRELOAD=FAULTY_MALLOC, FAULTY_MALLOC="1")
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertRegex(result.stderr, r"\Aa (block|word|node) was overwritten\n\Z")


if __name__ == "__main__":
    PROGRAMS, FAULTY_MALLOC, SANITIZED = sys.argv[1], sys.argv[2], "--sanitized" in sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
