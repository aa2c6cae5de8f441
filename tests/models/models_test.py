#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spin finds no fault in the models and finds one in each deliberately faulty variant.

    models_test.py SPIN C_COMPILER [CLASS]
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SPIN = ""
C_COMPILER = ""
FOLDER = Path(__file__).resolve().parent


def errors_in(model: str, *defined: str):
    """Returns the number of errors in all executions of the model, at most 1, and the report of the verifier."""
    with tempfile.TemporaryDirectory() as directory:

        def run(*command):
            result = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=100, check=False)
            if result.returncode != 0:
                raise RuntimeError(f"{command}: {result.stdout}{result.stderr}")
            return result.stdout

        generated = run(SPIN, *(f"-D{name}" for name in defined), "-a", str(FOLDER / f"{model}.pml"))
        if not Path(directory, "pan.c").exists():
            raise RuntimeError(generated)
        # Without partial order reduction: the models are small enough to check every order. This step takes most time.
        run(C_COMPILER, "-w", "-O0", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=2000", "-o", "pan", "pan.c")
        report = run("./pan", "-m1000000")
    if "Search not completed" in report and "errors: 0" in report or "max search depth too small" in report:
        raise RuntimeError(report)
    return int(re.search(r"errors: (\d+)", report)[1]), report


class Models(unittest.TestCase):
    def assert_holds(self, model, *defined):
        with self.subTest(model=model, defined=defined):
            errors, report = errors_in(model, *defined)
            self.assertEqual(errors, 0, report)
            # An unreached statement would prove nothing.
            unreached = [
                line for line in re.findall(r"^\t.*, state \d+, (.*)$", report, re.MULTILINE) if line != '"-end-"'
            ]
            self.assertEqual(unreached, [], report)

    def assert_fails(self, model, *defined):
        with self.subTest(model=model, defined=defined):
            errors, report = errors_in(model, *defined)
            self.assertEqual(errors, 1, report)
            self.assertIn("assertion violated", report)


class CacheHandshake(Models):
    def test_no_block_is_lost_or_allocated_twice(self):
        self.assert_holds("cache_handshake")
        self.assert_holds("cache_handshake", "NO_FLOOR_FENCE")

    def test_no_block_is_lost_without_a_barrier(self):
        self.assert_holds("cache_handshake", "SLOW_OWNER")

    def test_every_part_is_needed(self):
        for fault in ("NO_BARRIER", "NO_WAIT", "LOAD_TWICE", "CHECK_FIRST", "CLOSE_LATE", "OPEN_UNLOCKED",
                      "RELOAD_STORES", "ONE_MAGAZINE"):
            self.assert_fails("cache_handshake", fault)

    def test_the_fences_are_needed_without_the_barrier(self):
        self.assert_fails("cache_handshake", "SLOW_OWNER", "NO_FLOOR_FENCE")


class TaggedStack(Models):
    def test_no_node_is_lost_or_popped_twice(self):
        self.assert_holds("tagged_stack")

    def test_the_tag_is_needed(self):
        self.assert_fails("tagged_stack", "TAGS=1")

    def test_the_tag_must_not_wrap_around(self):
        self.assert_fails("tagged_stack", "TAGS=2")
        self.assert_fails("tagged_stack", "TAGS=4")


class RemoteFrees(Models):
    def test_no_block_is_lost_or_drained_twice(self):
        self.assert_holds("remote_frees")

    def test_every_step_and_the_order_are_needed(self):
        for fault in ("SEND_BLINDLY", "LOOK_ONCE", "DRAIN_TWO", "NO_RELEASE", "NO_ACQUIRE", "NEXT_LATE"):
            self.assert_fails("remote_frees", fault)


class HandOver(Models):
    def test_no_block_is_lost_or_allocated_twice(self):
        self.assert_holds("hand_over")

    def test_every_lock_and_the_order_are_needed(self):
        for fault in ("NO_LOCK", "NO_TRY", "PARK_EMPTY", "PARK_EARLY", "ADOPT_UNLOCKED", "COLLECT_MAGAZINE",
                      "FORK_UNLOCKED", "KEEP_SENT", "ADOPT_IN_CHILD"):
            self.assert_fails("hand_over", fault)


if __name__ == "__main__":
    SPIN, C_COMPILER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
