#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests the effects of NP_LEAKS and NP_LEAKS_EXIT when a process ends.   leaks_test.py PROGRAM UNTRACKED

PROGRAM (leak_at_end) ends in the given way, and leaks one block of orders.c:42 or none. UNTRACKED
(leak_without_site) never calls np_alloc_at.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM, UNTRACKED = (os.path.abspath(path) for path in sys.argv[1:3])

LIST = ("np_alloc: in use, by call site:\n"
        "  orders.c:42  1 block  64 bytes\n"
        "  in all  1 block  64 bytes\n")
ALL_IS_FREED = "thread_local is freed\nhandler is freed\nstatic is freed\n"


def run(way, status=0, program=PROGRAM, **variables):
    """Returns the exit status, the standard output and the standard error of the program."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NP_")}
    # LeakSanitizer would report the same leaks.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    silent_input, nothing_comes_from = os.pipe()
    try:
        done = subprocess.run([program, way, str(status)], env={**environment, **variables}, stdin=silent_input,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
    finally:
        os.close(silent_input)
        os.close(nothing_comes_from)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class LeaksAtTheEnd(unittest.TestCase):
    def test_are_not_listed_by_default(self):
        self.assertEqual(run("return"), (0, ALL_IS_FREED, ""))

    def test_are_listed_after_destructors_and_handlers_have_run(self):
        for way in "return", "exit":
            self.assertEqual(run(way, NP_LEAKS="1"), (0, ALL_IS_FREED, LIST))

    def test_include_blocks_of_running_threads_when_another_thread_ends_the_process(self):
        status, output, errors = run("thread", NP_LEAKS="1", NP_LEAKS_EXIT="77")
        self.assertEqual((status, output), (77, ALL_IS_FREED.replace("thread_local is freed\n", "")))
        self.assertEqual(
            errors.splitlines()[1:],
            ["  orders.c:42  1 block  64 bytes", "  thread_local:1  1 block  10 bytes", "  in all  2 blocks  74 bytes"],
        )

    def test_are_listed_as_json(self):
        site = {"file": "orders.c", "line": 42, "blocks": 1, "bytes": 64}
        self.assertEqual(json.loads(run("return", NP_LEAKS="2")[2]),
                         {"tracked": True, "blocks": 1, "bytes": 64, "sites": [site]})
        self.assertEqual(json.loads(run("clean", NP_LEAKS="2")[2]),
                         {"tracked": True, "blocks": 0, "bytes": 0, "sites": []})

    def test_keep_the_exit_status_by_default(self):
        self.assertEqual(run("return", 5, NP_LEAKS="1"), (5, ALL_IS_FREED, LIST))

    def test_replace_the_exit_status_on_request_and_are_listed_then(self):
        for leaks in "0", "1":
            for before in 0, 5:
                self.assertEqual(run("return", before, NP_LEAKS=leaks, NP_LEAKS_EXIT="77"), (77, ALL_IS_FREED, LIST))

    def test_print_nothing_and_keep_the_exit_status_if_there_are_none(self):
        self.assertEqual(run("clean", 5, NP_LEAKS="1", NP_LEAKS_EXIT="77"), (5, ALL_IS_FREED, ""))

    def test_are_ignored_in_a_process_that_does_not_end_by_exit(self):
        for way, status in (("_Exit", 5), ("quick_exit", 5), ("abort", -signal.SIGABRT)):
            with self.subTest(way):
                self.assertEqual(run(way, 5, NP_LEAKS="1", NP_LEAKS_EXIT="77"), (status, "", ""))

    def test_replace_the_exit_status_while_a_thread_waits_for_input(self):
        self.assertEqual(run("while_a_thread_reads", NP_LEAKS_EXIT="77"), (77, ALL_IS_FREED, LIST))

    def test_are_listed_for_the_child_of_a_fork(self):
        status, output, errors = run("fork", NP_LEAKS_EXIT="77")
        self.assertEqual(status, 77)
        self.assertIn("the child ends with 77\n", output)
        heading, lists = errors.split("\n", 1)
        self.assertRegex(heading, r"^np_alloc: of process \d+, the child of a fork:$")
        self.assertEqual(lists, LIST.replace("1 block  64 bytes", "2 blocks  128 bytes") + LIST)

    def test_are_listed_after_the_program_has_closed_its_standard_error(self):
        self.assertEqual(run("closes_stderr", NP_LEAKS="1"), (0, ALL_IS_FREED, LIST))

    def test_are_not_written_to_another_file_that_reuses_the_file_number(self):
        self.assertEqual(run("replaces_files", NP_LEAKS="1"), (0, ALL_IS_FREED, LIST))


class LeaksOfProgramsWithoutCallSites(unittest.TestCase):
    def test_are_reported_as_not_tracked_and_keep_the_exit_status(self):
        message = (r"^np_alloc: leaks are not tracked: [23]\d{5} bytes are in use, none with a call site\n"
                   r"  remedy: .*\n$")
        for leaks, leaks_exit in ("1", "0"), ("0", "77"), ("1", "77"):
            status, _, errors = run("2", 5, UNTRACKED, NP_LEAKS=leaks, NP_LEAKS_EXIT=leaks_exit)
            self.assertEqual(status, 5)
            self.assertRegex(errors, message)

    def test_are_not_tracked_in_json(self):
        status, _, errors = run("1", 0, UNTRACKED, NP_LEAKS="2", NP_LEAKS_EXIT="77")
        self.assertEqual((status, json.loads(errors)), (0, {"tracked": False, "blocks": 0, "bytes": 0, "sites": []}))

    def test_are_none_if_nothing_is_in_use(self):
        self.assertEqual(run("0", 5, UNTRACKED, NP_LEAKS="1", NP_LEAKS_EXIT="77"), (5, "", ""))


@unittest.skipUnless(hasattr(os, "geteuid") and os.geteuid() == 0, "only root can make setuid programs of another user")
class ProgramsOfAnotherUser(unittest.TestCase):
    UNPRIVILEGED_UID = 65534

    def run_as_nobody(self, mode):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(PROGRAM, folder)
            os.chmod(program, mode)
            variables = {"NP_LEAKS": "1", "NP_LEAKS_EXIT": "77", "ASAN_OPTIONS": "detect_leaks=0"}
            done = subprocess.run([program, "return", "0"], env=variables, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  preexec_fn=lambda: os.setuid(self.UNPRIVILEGED_UID), timeout=100, check=False)
        return done.returncode, done.stderr.decode()

    def test_ignore_the_environment_of_the_calling_user(self):
        self.assertEqual(self.run_as_nobody(0o755), (77, LIST))
        with open("/proc/self/status", encoding="ascii") as status:
            if "NoNewPrivs:\t1\n" in status.read():
                self.skipTest("this process may not run setuid programs")
        self.assertEqual(self.run_as_nobody(0o4755), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
