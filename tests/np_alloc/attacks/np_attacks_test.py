#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests the result of each attack on np_alloc.   np_attacks_test.py PROGRAM LIBRARY

PROGRAM attacks LIBRARY (np_alloc, np_malloc, np_alloc_checked or np_malloc_checked), with each attack in a process of
its own, and prints the results: see np_attacks.cpp. The tables below hold the expected results; docs/security.md
documents them for users.

    double free at once      the faulty call reports the kind, the address and the block size
    double free later        the faulty call or a later one reports it, at the latest when every thread has returned its
                             free blocks; until then, the block may be allocated twice
    ..., of several          adjacent blocks are reported as well
    nothing                  the program continues as if nothing had happened, and np_verify finds no damage
    a crash                  the system ends the program at the faulty access
    nothing or a crash       one of the two
    a report                 a double free or a write after free, at once or later, because threads race for the blocks
    nothing or success       depends on chance
    nothing or a report      a write after free is reported if the memory is reused
    the attack succeeds      the attack has its intended effect

libnp_malloc.so reports and ignores foreign pointers, unless NP_FATAL_FOREIGN is 1: then a foreign pointer ends the
program. With libnp_malloc_checked.so, a foreign pointer ends the program unless NP_FATAL_FOREIGN is 0.
"""
import os
import re
import subprocess
import sys
import unittest
from collections import namedtuple

PROGRAM = os.path.abspath(sys.argv[1])
IS_MALLOC = sys.argv[2].startswith("np_malloc")
IS_CHECKED = sys.argv[2].endswith("_checked")

# The results by pointer, kind of block and function. Blocks are in a `slab` or `large`; `own` blocks belong to the
# attacking thread. `cached` blocks go to its cache when it frees them: own blocks, and others of 64 bytes or more.
POINTERS = """
                          blocks  free, free_sized, realloc   usable_size                 any, if checked
freed                     cached  double free at once         nothing                     double free at once
freed                     slab    double free later           nothing                     double free at once
freed                     large   double free at once         double free at once         double free at once
freed, and another since  slab    double free later           nothing                     double free at once
freed, and another since  large   double free at once         double free at once         double free at once
freed long ago            slab    double free later           nothing                     double free at once
freed long ago            large   double free at once         double free at once         double free at once
freed by its owner        own     double free at once         nothing                     double free at once
freed by its owner        slab    double free later           nothing                     double free at once
freed by its owner        large   double free at once         double free at once         double free at once
freed by a third          slab    double free later           nothing                     double free at once
freed by a third          large   double free at once         double free at once         double free at once
freed, and drained        slab    double free later           nothing                     double free at once
freed, and drained        large   double free at once         double free at once         double free at once
freed, slab freed         all     double free at once         double free at once         double free at once
moved by realloc          cached  double free at once         nothing                     double free at once
moved by realloc          slab    double free later           nothing                     double free at once
moved by realloc          large   double free at once         double free at once         double free at once
freed after realloc       slab    double free later           nothing                     double free at once
freed after realloc       large   double free at once         double free at once         double free at once
1                         all     foreign pointer at once     foreign pointer at once     foreign pointer at once
8                         all     foreign pointer at once     foreign pointer at once     foreign pointer at once
-16                       all     foreign pointer at once     foreign pointer at once     foreign pointer at once
no address                all     foreign pointer at once     foreign pointer at once     foreign pointer at once
the stack                 all     foreign pointer at once     foreign pointer at once     foreign pointer at once
alloca                    all     foreign pointer at once     foreign pointer at once     foreign pointer at once
a global                  all     foreign pointer at once     foreign pointer at once     foreign pointer at once
a function                all     foreign pointer at once     foreign pointer at once     foreign pointer at once
beside the region         all     foreign pointer at once     foreign pointer at once     foreign pointer at once
of a pool                 all     foreign pointer at once     foreign pointer at once     foreign pointer at once
block + 1                 all     misaligned pointer at once  misaligned pointer at once  misaligned pointer at once
block + 8                 all     misaligned pointer at once  misaligned pointer at once  misaligned pointer at once
block + 16                slab    misaligned pointer later    nothing                     misaligned pointer at once
block + 16                large   misaligned pointer at once  misaligned pointer at once  misaligned pointer at once
block + 4096              slab    misaligned pointer later    nothing                     misaligned pointer at once
block + 4096              large   misaligned pointer at once  misaligned pointer at once  misaligned pointer at once
block + 1 GiB             all     foreign pointer at once     foreign pointer at once     double free at once
next block                slab    double free later           nothing                     double free at once
never allocated           slab    double free later           nothing                     double free at once
"""

# Mismatched deallocation. With the interface of np_alloc, the attacks implement new and delete by np_allocate and
# np_free, so most mismatches cannot be detected.
PAIRS = """
                                    blocks  outcome  np_alloc, if checked             malloc, if checked
malloc, delete                      all     nothing  nothing                          mismatched deallocation at once
malloc, aligned delete              all     nothing  nothing                          mismatched deallocation at once
new, free                           all     nothing  nothing                          mismatched deallocation at once
new[], free                         all     nothing  nothing                          mismatched deallocation at once
aligned new, free                   all     nothing  nothing                          mismatched deallocation at once
new, realloc                        all     nothing  nothing                          mismatched deallocation at once
new[], delete                       all     nothing  nothing                          mismatched deallocation at once
new[], delete of the right size     all     nothing  nothing                          mismatched deallocation at once
new, delete[]                       all     nothing  nothing                          mismatched deallocation at once
aligned new, plain delete           all     nothing  nothing                          mismatched deallocation at once
plain new, aligned delete           all     nothing  nothing                          mismatched deallocation at once
aligned new[], aligned delete       all     nothing  nothing                          mismatched deallocation at once
free_aligned_sized, misaligned      all     nothing  mismatched deallocation at once  mismatched deallocation at once
"""

OTHERS = """
                                     blocks   outcome                               if checked
free: A B B A                        all      a report                              double free at once, twice
free: A and B, B and A by others     all      a report                              double free at once, twice
free: by two threads at once         all      a report                              double free at once
free: block + 8, twice               all      misaligned pointer at once, twice     misaligned pointer at once, twice
malloc, free                         all      nothing                               nothing
delete of a smaller size             all      nothing                               size mismatch at once
delete of a larger size              all      nothing                               size mismatch at once
free_sized, smaller                  all      nothing                               size mismatch at once
free_sized, larger                   all      nothing                               size mismatch at once
overflow of 1 byte into slack        all      nothing                               buffer overflow at once
overflow of 8 bytes into slack       all      nothing                               buffer overflow at once
overflow of 32 bytes into slack      slab     nothing                               buffer overflow at once, of several
overflow of 32 bytes into slack      large    nothing                               a crash
overflow into the next block         slab     nothing                               buffer overflow at once, of several
overflow of the last block           slab     nothing                               buffer overflow later, of several
overflow of the last block           large    nothing                               a crash
overflow of 1 MiB                    slab     nothing                               a crash
overflow of 1 MiB                    large    nothing or a crash                    a crash
overflow towards another heap        slab     nothing                               a crash
overflow towards another heap        large    nothing or a crash                    a crash
underflow of 1 byte                  all      nothing                               a crash
underflow of 32 bytes                all      nothing                               a crash
underflow into a block in use        slab     nothing                               buffer underflow at once
underflow into a free block          slab     nothing                               buffer underflow at once, of several
write of 8 bytes after free          slab     nothing                               write after free later
write of 8 bytes after free          large    nothing                               nothing or a report
write of 8 bytes after free          revoked  nothing                               a crash
write of all bytes after free        slab     nothing                               write after free later
write of all bytes after free        large    nothing                               nothing or a report
write of all bytes after free        revoked  nothing                               a crash
read after free                      slab     the attack succeeds                   nothing
read after free                      large    the attack succeeds                   nothing
read after free                      revoked  the attack succeeds                   a crash
read after free                      sparse   the attack succeeds                   nothing or success
forged links                         slab     nothing                               nothing or a report
write to a batch                     slab     write after free later, with losses   write after free later
write to a remotely freed block      slab     nothing                               write after free later
blocks of 0 bytes                    all      nothing                               a crash
"""

ANY_REPORT = r"memory_pool: (double|write after) free: "
Case = namedtuple("Case", "attack bytes owner end stage reports first_report twice in_order address block_bytes text")


def rows(table):
    """Returns the rows of a table, without its heading, as lists of columns."""
    return [re.split(r"  +", line) for line in table.strip().splitlines()[1:]]


def expectations():
    """Returns {(name of the attack, kind of block): the expected result}."""
    expected = {}
    for pointer, blocks, when_freed, when_asked_for, when_checked in rows(POINTERS):
        for function in ("free", "free_sized", "realloc"):
            expected[f"{function}: {pointer}", blocks] = when_checked if IS_CHECKED else when_freed
        expected[f"usable_size: {pointer}", blocks] = when_checked if IS_CHECKED else when_asked_for
    for attack, blocks, outcome, when_np_alloc, when_malloc in rows(PAIRS):
        when_checked = when_malloc if IS_MALLOC else when_np_alloc
        expected[attack, blocks] = when_checked if IS_CHECKED else outcome
    for attack, blocks, outcome, when_checked in rows(OTHERS):
        expected[attack, blocks] = when_checked if IS_CHECKED else outcome
    return expected


def cases(text):
    return [Case(*line.split("\t")) for line in text.splitlines()]


def run(kind, **variables):
    """Starts PROGRAM."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    environment["NP_RANDOM_ORDER"] = "0"  # Makes the checked build deterministic.
    return subprocess.Popen([PROGRAM, kind], env={**environment, **variables}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def kinds_of_blocks(case):
    """Returns the kinds of block of an attack, most specific first."""
    if int(case.bytes) > 32768:
        return ["revoked"] * (int(case.bytes) > 2 << 20) + ["large", "all"]
    is_sparse = int(case.bytes) > 4096
    is_own = case.owner == "attacker"
    is_cached = is_own or int(case.bytes) >= 64
    return ["sparse"] * is_sparse + ["own"] * is_own + ["cached"] * is_cached + ["slab", "all"]


def expected_outcome(case, expected):
    return next(
        (expected[case.attack, kind] for kind in kinds_of_blocks(case) if (case.attack, kind) in expected), "unknown"
    )


def wrong_text(kind, case):
    """Returns the error in a report, or None. Checks the kind, address, size, remedy, thread and call stack."""
    report = re.fullmatch(
        r"memory_pool: ([a-z ]+): address (\S+), block size (\d+) bytes, pool 'np_\w+'\|  remedy: [^|]+\|"
        r"  thread \d+ of process \d+\|  called by:\|(    [^|]+\|)+", case.text
    )
    if not report:
        return "stderr is not one report"
    if report.group(1) != kind:
        return f"it is reported as {report.group(1)}"
    if report.group(2) != case.address:
        return "wrong address"
    may_be_unknown = kind in ("double free", "foreign pointer") or int(case.bytes) > 32768
    if report.group(3) != case.block_bytes and not (may_be_unknown and report.group(3) == "0"):
        return "wrong block size"
    return None


def wrong_end(outcome, case):
    """Returns the failure of an attack whose first report ends the program, or None."""
    if outcome == "a report":
        return None if re.match(ANY_REPORT, case.text) and case.end == "signal 6" else "it is not detected"
    if outcome == "nothing or a report" and case.end == "signal 6":
        return None if case.text.startswith("memory_pool: write after free: ") else "stderr is not one report"
    if outcome.endswith("a crash") and case.end == "signal 11":
        return None if case.stage == "attacked" else "it is detected too late"
    if outcome == "nothing or success" and case.end == "exit 1":
        return None
    if outcome.startswith("nothing"):
        return wrong_going_on(case)
    if outcome == "a crash":
        return "it does not crash"
    if outcome == "the attack succeeds":
        return None if case.end == "exit 1" else "the attack fails"
    kind, when = re.fullmatch(r"(.*) (at once|later)(?:, with losses|, of several|, twice)?", outcome).groups()
    if case.end != "signal 6":
        return "it is not detected"
    if when == "at once" and case.stage != "attacked":
        return "it is detected too late"
    return wrong_text(kind, case)


def wrong_going_on(case):
    """Returns the failure of a program that must continue as if nothing had happened, or None."""
    if (case.end, case.text) != ("exit 0", ""):
        return "it does not continue"
    if case.twice == "1":
        return "a block is allocated twice"
    return None if case.in_order == "1" else "np_verify finds damage"


def wrong_count(outcome, case):
    """Returns the failure of an attack whose reports are counted, or None."""
    if outcome.endswith("a crash") and case.end == "signal 11":
        return None
    if outcome == "the attack succeeds":
        return None if case.end == "exit 1" else "the attack fails"
    if outcome == "nothing or success" and case.end == "exit 1":
        return None
    if case.end != "exit 0":
        return "it does not continue"
    if outcome == "a report":
        return None if case.reports != "0" else "it is not detected"
    if outcome.startswith("nothing") and not (outcome == "nothing or a report" and case.reports == "1"):
        return wrong_going_on(case)
    is_of_several = outcome.endswith(", of several") and case.reports != "0"
    if not is_of_several and case.reports != ("2" if outcome.endswith(", twice") else "1"):
        return f"there are {case.reports} reports"
    if "at once" in outcome and case.first_report != "attacked":
        return "it is detected too late"
    return None if case.in_order == "1" or "with losses" in outcome else "np_verify finds damage"


def wrong_ignoring(outcome, case):
    """Returns the failure of an attack where foreign pointers are ignored, or None."""
    if not outcome.startswith("foreign pointer"):
        return wrong_end(outcome, case)
    if case.end != "exit 0":
        return "it does not continue"
    message = re.fullmatch(
        r"np_alloc: foreign pointer: address (\S+) is not from np_alloc and is ignored[^|]+\|  remedy: [^|]+\|",
        case.text
    )
    return None if message and message.group(1) == case.address else "it is not reported once"


class Attacks(unittest.TestCase):
    def check(self, all_cases, expected, wrong):
        """Expects exactly the attacks in the tables, each with its expected result."""
        self.assertEqual({case.attack for case in all_cases}, {attack for attack, _ in expected})
        failures = []
        for case in all_cases:
            outcome = expected_outcome(case, expected)
            what = wrong(outcome, case)
            if what:
                failures.append(f"{case.attack:36} {case.bytes:>8} {case.owner:9} {outcome}: {what}\n"
                                f"    {case.end}, {case.stage}, {case.reports} reports, {case.address}: {case.text}")
        self.assertFalse(failures, f"{len(failures)} of {len(all_cases)} attacks:\n" + "\n".join(failures))

    def test_each_attack(self):
        if IS_MALLOC:
            by_default, otherwise = (wrong_end, wrong_ignoring) if IS_CHECKED else (wrong_ignoring, wrong_end)
            chosen = "0" if IS_CHECKED else "1"
            runs = [(run("ending"), by_default), (run("ending", NP_FATAL_FOREIGN=chosen), otherwise)]
        else:
            runs = [(run("ending"), wrong_end), (run("counting"), wrong_count)]
        for process, wrong in runs:
            output, errors = process.communicate(timeout=200)
            with self.subTest(wrong.__name__):
                self.assertEqual((process.returncode, errors.decode()), (0, ""))
                self.check(cases(output.decode()), expectations(), wrong)


class Judges(unittest.TestCase):
    """Tests the functions above that check results."""
    REPORT = ("memory_pool: double free: address 0x10, block size 48 bytes, pool 'np_alloc'|  remedy: a|"
              "  thread 7 of process 7|  called by:|    b|")
    GOOD = Case("free: freed", "48", "attacker", "signal 6", "attacked", "0", "ended", "0", "0", "0x10", "48", REPORT)
    COUNTED = GOOD._replace(end="exit 0", stage="ended", reports="1", first_report="attacked", in_order="1")

    def test_accepts_the_expected_end(self):
        self.assertIsNone(wrong_end("double free at once", self.GOOD))
        self.assertIsNone(wrong_end("a crash", self.GOOD._replace(end="signal 11")))
        self.assertIsNotNone(wrong_end("a crash", self.GOOD))
        self.assertIsNone(wrong_end("double free later", self.GOOD._replace(stage="settled")))
        self.assertIsNone(wrong_count("double free at once", self.COUNTED))

    def test_rejects_a_wrong_end(self):
        for change in (
            {"end": "signal 11"},
            {"end": "exit 0"},
            {"stage": "gone on"},
            {"text": ""},
            {"address": "0x20"},
            {"block_bytes": "64"},
            {"text": self.REPORT * 2},
            {"text": self.REPORT.replace("double", "triple")},
        ):
            self.assertIsNotNone(wrong_end("double free at once", self.GOOD._replace(**change)), change)

    def test_rejects_a_wrong_count(self):
        for change in (
            {"end": "signal 6"},
            {"reports": "0"},
            {"reports": "2"},
            {"first_report": "settled"},
            {"in_order": "0"},
        ):
            self.assertIsNotNone(wrong_count("double free at once", self.COUNTED._replace(**change)), change)

    def test_rejects_an_effect_where_nothing_may_happen(self):
        for change in ({"twice": "1"}, {"in_order": "0"}, {"text": "a"}, {"end": "signal 11"}):
            case = self.COUNTED._replace(reports="0", text="", twice="0")
            self.assertIsNone(wrong_count("nothing", case))
            self.assertIsNotNone(wrong_count("nothing", case._replace(**change)), change)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
