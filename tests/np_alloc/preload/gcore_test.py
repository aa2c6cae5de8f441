#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""gdb writes a core of a program under libnp_malloc.so that is not much larger than with the C library's malloc, and
has the content of its blocks.   gcore_test.py LIBRARY...

Exits 77 if there is no gdb, or it may not run programs here.
"""
import hashlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIBRARIES = [str(Path(name).resolve()) for name in sys.argv[1:]]
SKIPPED = 77
MEBIBYTE = 1 << 20
# So that a reservation does not fill the disk.
MOST = 512 * MEBIBYTE

# A block whose content stands nowhere else, and then the debugger's turn.
PROGRAM = """
import hashlib, os, signal
block = hashlib.sha256(b"in the block").digest() * 4000
os.kill(os.getpid(), signal.SIGTRAP)
"""
CONTENT = hashlib.sha256(b"in the block").digest() * 4000


def core_of(library, directory):
    """Returns: the bytes of a core, and how many of the disk it takes."""
    core = Path(directory, "core")
    # gdb gives up on a mapping where it comes to a guard.
    preload = ["NP_GUARD_PAGES=0", f"LD_PRELOAD={library}"] if library else []
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex",
         " ".join(["set exec-wrapper env PYTHONMALLOC=malloc", *preload]), "-ex", "run", "-ex",
         f"generate-core-file {core}", "--args", sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST)))
    if re.search(r"ptrace: Operation not permitted|Could not trace", done.stderr):
        print(done.stderr)
        sys.exit(SKIPPED)
    if not core.exists():
        raise AssertionError(f"gdb has written no core, or ended before: {done.stdout} {done.stderr}")
    return core.read_bytes(), core.stat().st_blocks * 512


class Gcore(unittest.TestCase):
    def test_a_core_is_small_and_has_the_content_of_blocks(self):
        with tempfile.TemporaryDirectory() as directory:
            _, of_c_library = core_of(None, directory)
        for library in LIBRARIES:
            with self.subTest(library), tempfile.TemporaryDirectory() as directory:
                core, on_disk = core_of(library, directory)
                self.assertTrue(CONTENT in core)
                self.assertLess(on_disk, of_c_library + 128 * MEBIBYTE)


if __name__ == "__main__":
    if shutil.which("gdb") is None:
        print("there is no gdb")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
