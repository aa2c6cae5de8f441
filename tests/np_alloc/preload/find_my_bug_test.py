#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that np_alloc reports the bugs of examples/find_my_bug.cpp as docs/find-my-bug.md shows, in the lines it names.

    find_my_bug_test.py PROGRAM CHECKED_LIBRARY ROOT
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM, LIBRARY, ROOT = (os.path.abspath(path) for path in sys.argv[1:4])
SOURCE = (Path(ROOT) / "examples" / "find_my_bug.cpp").read_text(encoding="utf-8").splitlines()
PAGE = (Path(ROOT) / "docs" / "find-my-bug.md").read_text(encoding="utf-8")
FIRST_ARGUMENT = "rdi" if os.uname().machine == "x86_64" else "x0"
BUGS = ("overflow", "double-free", "use-after-free")


def run(*command, **variables):
    """Returns the exit status and the output of a command."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    done = subprocess.run(command, env={**environment, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=100, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def run_checked(*arguments, **variables):
    return run(PROGRAM, *arguments, LD_PRELOAD=LIBRARY, **variables)


def run_in_gdb(*commands):
    """Returns the exit status of gdb, and the output of gdb and the program, which frees a block twice."""
    wrapper = f"set exec-wrapper env NP_RANDOM_ORDER=0 LD_PRELOAD={LIBRARY}"
    options = [word for command in (wrapper, *commands) for word in ("-ex", command)]
    status, output, errors = run("gdb", "-q", "-nx", "-batch", *options, "--args", PROGRAM, "double-free")
    return status, output + errors


def masked(text):
    """Returns a text with all addresses, threads, processes and offsets replaced by zero."""
    return re.sub(r"(thread|process|at byte) \d+", r"\1 0", re.sub(r"0x[0-9a-f]+", "0x0", text))


def first_lines(report, calls):
    """Returns a report up to the first call of the program after the line `calls`, masked."""
    before, _, after = masked(report).partition(f"  {calls} by:\n")
    first = next(line for line in after.splitlines() if os.path.basename(PROGRAM) in line)
    return f"{before}  {calls} by:\n    ./{first.split('/')[-1]}\n"


def sampled_report(bug):
    """Returns the exit status and the report of an access to a sample. One sample in four cannot detect an overflow."""
    for _ in range(40):
        status, _, errors = run_checked(bug, NP_SAMPLE_BYTES="1", NP_SAMPLES_PER_SECOND="0")
        if "accessed by:" in errors:
            return status, errors
    return None, ""


def lines_of(report, title):
    """Returns the source lines of the calls below a title, from addr2line."""
    calls = re.search(rf"  {title} by:\n((?:    .*\n)+)", report)
    offsets = re.findall(rf"^    .*{re.escape(os.path.basename(PROGRAM))}\+(0x[0-9a-f]+)", calls.group(1), re.MULTILINE)
    found = subprocess.run(["addr2line", "-i", "-e", PROGRAM, *offsets], stdout=subprocess.PIPE, text=True, check=True)
    return [int(line) for line in re.findall(r"find_my_bug\.cpp:(\d+)", found.stdout)]


def rows_of_lines():
    """Returns (part, line, code) of each row of the page that names a line."""
    return [(part, int(line), code) for part, line, code in
            re.findall(r"^\| (\w+) by \| `find_my_bug\.cpp:(\d+)` \| `(.*)` \|$", PAGE, re.MULTILINE)]


class FindMyBug(unittest.TestCase):
    def test_reports_nothing_without_a_bug(self):
        expected = (0, "12 x floor lamps\nfloor lamps: back\n", "")
        self.assertEqual(run(PROGRAM), expected)
        self.assertEqual(run_checked(), expected)
        self.assertEqual(run_checked(NP_SAMPLE_BYTES="1", NP_SAMPLES_PER_SECOND="0"), expected)

    def test_reports_match_the_page(self):
        for bug in BUGS:
            status, _, errors = run_checked(bug, NP_RANDOM_ORDER="0")
            self.assertEqual(status, -signal.SIGABRT, bug)
            self.assertRegex(errors, r"^memory_pool: .*\n  remedy: .*\n  thread \d+ of process \d+\n  called by:\n    ")
            self.assertIn(f"```text\n{first_lines(errors, 'called')}    ...\n```", masked(PAGE), bug)

    def test_reports_of_samples_match_the_page(self):
        for bug in ("overflow", "use-after-free"):
            status, errors = sampled_report(bug)
            self.assertIn(status, (-signal.SIGSEGV, -signal.SIGBUS), bug)
            shown = first_lines(errors, "accessed").partition("  accessed")[0]
            self.assertIn(f"```text\n{shown}", masked(PAGE), bug)

    def test_the_page_names_lines_of_the_program(self):
        self.assertEqual(len(rows_of_lines()), 5)
        for _, line, code in rows_of_lines():
            self.assertIn(code, SOURCE[line - 1])
        for line in re.findall(r"find_my_bug\.cpp:(\d+)\n", PAGE):
            self.assertRegex(SOURCE[int(line) - 1], r"^    .*;$")

    @unittest.skipUnless(shutil.which("addr2line"), "needs addr2line")
    def test_call_stacks_of_samples_contain_these_lines(self):
        found = {bug: sampled_report(bug)[1] for bug in ("overflow", "use-after-free")}
        rows = rows_of_lines()
        for bug, rows_of_bug in (("use-after-free", rows[:3]), ("overflow", rows[3:])):
            for part, line, _ in rows_of_bug:
                self.assertIn(line, lines_of(found[bug], part), f"{bug}, {part}:\n{found[bug]}")

    @unittest.skipUnless(shutil.which("gdb"), "needs gdb")
    def test_gdb_stops_at_both_frees(self):
        status, output = run_in_gdb("run", "backtrace")
        if status != 0 or "ptrace" in output:
            self.skipTest(f"gdb cannot run programs here: {output}")
        second, first = re.findall(r"at examples/find_my_bug\.cpp:(\d+)\n#\d+ +main", PAGE)
        self.assertRegex(output, rf"find_my_bug\.cpp:{second}\n")
        address = re.search(r"double free: address (0x[0-9a-f]+)", output).group(1)
        stops = [f"break {function} if ${FIRST_ARGUMENT} == {address}" for function in ("operator delete", "free")]
        _, output = run_in_gdb("break main", "run", *stops, "continue", "backtrace")
        self.assertRegex(output, rf"find_my_bug\.cpp:{first}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
