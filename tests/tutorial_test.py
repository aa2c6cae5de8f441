#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The counts of the tutorial match its claims: a pool makes no malloc call after warm-up. It fails otherwise.

    tutorial_test.py TUTORIAL
"""

import os
import re
import subprocess
import sys
import unittest

TUTORIAL = ""

# The expected steps: (a part of the title, the calls of malloc). The creation of a pool may take a few calls.
MAKING_A_POOL = range(1, 9)
STEPS = [
    ("std::shared_ptr<message>(new message)", [2]),
    ("std::make_shared", [1]),
    ("boost::intrusive_ptr<message>(new message)", [1]),
    ("a copy", [0]),
    ("intrusive_pool<message>", MAKING_A_POOL),
    ("100 messages from it", [1]),
    ("last pointers go", [0]),
    ("100 more", [0]),
    ("recycling_pool<message>", MAKING_A_POOL),
    ("100 messages from it", [101]),
    ("last pointers go", [0]),
    ("100 more", [0]),
    ("shared_pool<message>", MAKING_A_POOL),
    ("100 std::shared_ptr and std::weak_ptr", [1]),
    ("last std::shared_ptr go", [0]),
    ("last std::weak_ptr go", [0]),
    ("bounded to two", [1]),
    ("one returns", [0]),
    ("ends before one of its messages", [0]),
    ("the last pointer goes", [0]),
]


def run(*arguments):
    return subprocess.run([TUTORIAL, *arguments], capture_output=True, timeout=60, check=False)


def steps(output: bytes):
    """Returns the steps, as [(title, calls of malloc, bytes, the claimed calls)]."""
    found = []
    for part in re.split(r"^\d+\. ", output.decode("ascii"), flags=re.MULTILINE)[1:]:
        line = re.search(r"^   mallocs: (\d+), claimed: (\d+)(?: to (\d+))?, bytes: (\d+)(?:  WRONG)?$", part,
                         flags=re.MULTILINE)
        least, most = int(line[2]), int(line[3] or line[2])
        found.append((part.splitlines()[0], int(line[1]), int(line[4]), range(least, most + 1)))
    return found


def facts(output: bytes):
    """Returns the other claims, as [(subject, counted value, claimed value)]."""
    return re.findall(r"^   (?!mallocs)([a-z ]+): (\d+), claimed: (\d+)", output.decode("ascii"), flags=re.MULTILINE)


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = run()
        cls.steps = steps(cls.result.stdout)

    def test_succeeds(self):
        self.assertEqual((self.result.returncode, self.result.stderr), (0, b""), self.result.stdout)
        self.assertNotIn(b"WRONG", self.result.stdout)
        self.assertRegex(self.result.stdout, rb"chunks of memory held: 0, claims that were wrong: 0\n\Z")

    def test_every_step_calls_malloc_the_expected_number_of_times(self):
        self.assertEqual(len(self.steps), len(STEPS), self.result.stdout)
        for (title, calls, _, _), (part, right) in zip(self.steps, STEPS):
            with self.subTest(title):
                self.assertIn(part, title)
                self.assertIn(calls, right)

    def test_claims_match_the_counts(self):
        for title, calls, _, claimed in self.steps:
            with self.subTest(title):
                self.assertIn(calls, claimed)
        self.assertGreaterEqual(len(facts(self.result.stdout)), 10)
        for what, number, claimed in facts(self.result.stdout):
            self.assertEqual(number, claimed, what)

    def test_bytes_are_plausible(self):
        size = int(re.search(rb"A message has (\d+) bytes", self.result.stdout)[1])
        shared, made, intrusive = (self.steps[step][2] for step in range(3))
        self.assertGreater(shared, size + 8, "the object and its control block")
        self.assertGreater(made, size + 8, "the object and its control block in one block")
        self.assertTrue(size < intrusive <= size + 8, "the object and its count")
        for title, calls, used, _ in self.steps:
            self.assertEqual(calls == 0, used == 0, title)
            if "with room for 100" in title:
                self.assertGreater(used, 100 * size, title)

    def test_output_is_reproducible(self):
        self.assertEqual(run().stdout, self.result.stdout)

    def test_detects_an_additional_malloc(self):
        result = run("--faulty")
        self.assertEqual(result.returncode, 1)
        wrong = 0
        for (title, calls, _, claimed), (_, right_calls, _, _) in zip(steps(result.stdout), self.steps):
            self.assertEqual(calls, right_calls + 1, title)
            wrong += calls not in claimed
        self.assertGreaterEqual(wrong, 17)
        self.assertEqual(result.stdout.count(b"WRONG"), wrong)
        self.assertRegex(result.stdout, rb"claims that were wrong: %d\n\Z" % wrong)


if __name__ == "__main__":
    TUTORIAL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
