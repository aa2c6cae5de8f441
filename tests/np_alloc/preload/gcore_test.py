#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests core files that gdb writes of programs under libnp_malloc.so. The files are not much larger than with the C
library's malloc, and contain the blocks.   gcore_test.py LIBRARY...

Exits with 77 if gdb is missing, or is not permitted to run programs.
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
# Prevents a core with all reserved memory from filling the disk.
MAX_CORE_BYTES = 512 * MEBIBYTE

# Creates a block with unique contents, then stops for the debugger.
PROGRAM = """
import hashlib, os, signal
block = hashlib.sha256(b"in the block").digest() * 4000
os.kill(os.getpid(), signal.SIGTRAP)
"""
CONTENT = hashlib.sha256(b"in the block").digest() * 4000


def core_of(library, directory):
    """Returns the contents of a core file, and the bytes that the file takes on disk."""
    core = Path(directory, "core")
    # gdb stops writing a mapping when it reaches a guard page.
    preload = ["NP_GUARD_PAGES=0", f"LD_PRELOAD={library}"] if library else []
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex",
         " ".join(["set exec-wrapper env PYTHONMALLOC=malloc", *preload]), "-ex", "run", "-ex",
         f"generate-core-file {core}", "--args", sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_CORE_BYTES, MAX_CORE_BYTES)))
    if re.search(r"ptrace: Operation not permitted|Could not trace", done.stderr):
        print(done.stderr)
        sys.exit(SKIPPED)
    if not core.exists():
        raise AssertionError(f"gdb has written no core: {done.stdout} {done.stderr}")
    return core.read_bytes(), core.stat().st_blocks * 512


class Gcore(unittest.TestCase):
    def test_a_core_is_small_and_contains_the_blocks(self):
        with tempfile.TemporaryDirectory() as directory:
            _, of_c_library = core_of(None, directory)
        for library in LIBRARIES:
            with self.subTest(library), tempfile.TemporaryDirectory() as directory:
                core, on_disk = core_of(library, directory)
                self.assertTrue(CONTENT in core)
                self.assertLess(on_disk, of_c_library + 128 * MEBIBYTE)


if __name__ == "__main__":
    if shutil.which("gdb") is None:
        print("skipped: needs gdb")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
