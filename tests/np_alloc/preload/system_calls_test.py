#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that libnp_malloc.so makes only the system calls that docs/np_alloc.md lists.

    system_calls_test.py SOURCE_DIRECTORY LIBRARY CHECKED_LIBRARY PROGRAM...

strace prints the call stack of each system call. The library makes a call if its frame is the innermost one outside of
the C library.

Exits with 77 if no strace with call stacks is available, or strace is not permitted to trace.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(sys.argv[1])
LIBRARY, CHECKED = (str(Path(name).resolve()) for name in sys.argv[2:4])
PROGRAMS = sys.argv[4:]
TRACED = PROGRAMS[0]
SKIPPED = 77
C_LIBRARY = re.compile(r"/(libc|libpthread|ld-linux[^/]*|ld-musl[^/]*)[.-][^/(]*\(|\[vdso\]|/ld\.so")
def documented():
    """Returns the documented system calls: two sets, without and with options."""
    text = (SOURCE / "docs" / "np_alloc.md").read_text(encoding="utf-8")
    section = re.search(r"\n## System calls\n(.*?)\n## ", text, re.DOTALL).group(1)
    tables = [re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part, re.MULTILINE) for part in section.split("\n\nOnly ")]
    return [set(re.findall(r"\w+", " ".join(names))) for names in tables]


BY_DEFAULT, WITH_OPTIONS = documented()


def is_of_library(frames, library):
    """Returns whether the library makes the call with these frames, innermost first."""
    outside = [frame for frame in frames if not C_LIBRARY.search(frame)]
    return bool(outside) and outside[0].lstrip(" >").startswith(library)


def calls_of_library(command, library, calls, **options):
    """Returns {name of a system call: a call stack}, for calls of the library that strace selects by `calls`."""
    with tempfile.TemporaryDirectory() as directory:
        trace = Path(directory, "trace")
        done = subprocess.run(
            ["strace", "-f", "-k", "-qq", "-e", f"trace={calls}", "-e", "signal=none", "-o", trace, "-E",
             f"LD_PRELOAD={library}", *(word for name, value in options.items() for word in ("-E", f"{name}={value}")),
             *command], cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace", timeout=240, check=False)
        if re.search(r"Operation not permitted|invalid option|not supported|stack.*unavailable", done.stderr):
            print(done.stderr)
            sys.exit(SKIPPED)
        if done.returncode != 0:
            raise AssertionError(f"{command} exits with {done.returncode}: {done.stderr}")
        found = {}
        name, frames = None, []
        for line in [*trace.read_text(errors="replace").splitlines(), "0 end("]:
            if line.startswith(" >"):
                frames.append(line)
            elif call := re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed>)", line):
                if name is not None and is_of_library(frames, library):
                    found.setdefault(name, "\n".join(frames))
                name, frames = call.group(1), []
        return found


class SystemCalls(unittest.TestCase):
    def expect_only(self, documented_calls, command, library, **options):
        # The question mark makes strace ignore names that this processor does not have.
        others = "!" + ",".join(f"?{name}" for name in sorted(documented_calls))
        found = calls_of_library(command, library, others, **options)
        self.assertFalse(found, "\n".join(f"{name}\n{frames}" for name, frames in found.items()))

    def test_detects_system_calls(self):
        names = {"mmap", "mprotect", "madvise", "mremap"}
        self.assertEqual(set(calls_of_library([TRACED], LIBRARY, ",".join(names))), names)

    def test_calls_by_default(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.expect_only(BY_DEFAULT, [program], LIBRARY)

    def test_calls_of_the_checked_build(self):
        self.expect_only(BY_DEFAULT, [TRACED], CHECKED)

    def test_calls_with_options(self):
        with tempfile.TemporaryDirectory() as directory:
            self.expect_only(BY_DEFAULT | WITH_OPTIONS, [TRACED], LIBRARY, NP_BACKGROUND_THREAD="1", NP_PRESSURE="1",
                             NP_STATISTICS_AT_END="1", NP_SAMPLE_BYTES="1M", NP_PROFILE=f"{directory}/profile",
                             NP_REPORT=f"{directory}/report")


if __name__ == "__main__":
    if shutil.which("strace") is None:
        print("skipped: needs strace")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
