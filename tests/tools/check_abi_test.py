#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The ABI check accepts an unchanged interface, and distinguishes additions from incompatible changes."""
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_abi  # noqa: E402

FIRST = """
struct np_figures { unsigned long blocks; unsigned bytes; };
extern "C" void np_get(np_figures* figures) { figures->blocks = 1; }
extern "C" int np_free(void* block) { return block != nullptr; }
"""
WITH_ONE_MORE = FIRST + 'extern "C" int np_more() { return 1; }\n'
WITHOUT_ONE = FIRST.replace('extern "C" int np_free', "static int np_free") + "auto* kept = &np_free;\n"
WITH_ANOTHER_TYPE = FIRST.replace("unsigned bytes", "unsigned long bytes")


@unittest.skipUnless(shutil.which("abidw") and shutil.which("g++"), "needs abidw and g++")
class CheckAbi(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        (self.root / "abi").mkdir()
        for name in ("libnp_alloc.suppr", "libmemory_pool.suppr"):
            shutil.copy(ROOT / "abi" / name, self.root / "abi")

    def library(self, source, name="libnp_alloc.so"):
        path = self.root / name
        (self.root / "source.cpp").write_text(source, encoding="utf-8")
        subprocess.run(["g++", "-g", "-shared", "-fPIC", "-o", path, self.root / "source.cpp"], check=True)
        return str(path)

    def check(self, *options):
        """Returns the exit status and the output."""
        said = io.StringIO()
        arguments = ["check_abi.py", str(self.root), "--architecture", "x86_64", *options]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(said):
            return check_abi.main(), said.getvalue()

    def describe(self, source):
        self.assertEqual(self.check("--library", self.library(source), "--update", "compatible"), (0, ""))

    def test_accepts_an_unchanged_interface(self):
        self.describe(FIRST)
        self.assertEqual(self.check("--library", self.library(FIRST)), (0, ""))

    def test_reports_additions_and_accepts_them_on_request(self):
        self.describe(FIRST)
        status, said = self.check("--library", self.library(WITH_ONE_MORE))
        self.assertEqual(status, 1)
        self.assertIn("np_more", said)
        self.assertIn("\ncompatible: ", said)
        self.describe(WITH_ONE_MORE)
        self.assertEqual(self.check("--library", self.library(WITH_ONE_MORE)), (0, ""))

    def test_accepts_incompatible_changes_only_on_explicit_request(self):
        for source, named in ((WITHOUT_ONE, "np_free"), (WITH_ANOTHER_TYPE, "bytes")):
            with self.subTest(named=named):
                self.check("--library", self.library(FIRST), "--update", "incompatible")
                for options in ((), ("--update", "compatible")):
                    status, said = self.check("--library", self.library(source), *options)
                    self.assertEqual(status, 1)
                    self.assertIn(named, said)
                    self.assertIn("\nincompatible: ", said)
                options = ("--library", self.library(source), "--update", "incompatible")
                self.assertEqual(self.check(*options), (0, ""))

    def test_describes_the_symbols_of_a_library_with_a_soname_for_each_release(self):
        first = ("namespace memory_pool { struct pool { int blocks; void trim(); };"
                 "void pool::trim() {} void release() {} }")

        def check(source, *options):
            return self.check("--library", self.library(source, "libmemory_pool.so"), *options)

        self.assertEqual(check(first, "--update", "compatible"), (0, ""))
        self.assertEqual(check(first.replace("int blocks", "long blocks")), (0, ""))
        self.assertEqual(check("#include <new>\n" + first + "int other() { return 1; }"), (0, ""))
        for changed in (first.replace("void release", "static void release"), first.replace("trim", "clear")):
            with self.subTest(changed=changed):
                status, said = check(changed)
                self.assertEqual(status, 1)
                self.assertIn("\ncompatible: ", said)
        self.assertEqual(check(first.replace("trim", "clear"), "--update", "compatible"), (0, ""))
        self.assertEqual(check(first.replace("trim", "clear")), (0, ""))

    def test_exits_2_if_the_check_cannot_be_run(self):
        status, said = self.check("--library", self.library(FIRST))
        self.assertEqual(status, 2)
        self.assertIn("no such description", said)
        self.describe(FIRST)
        for name, reason in (("other.so", "no library with an interface description"), ("no/libnp_alloc.so", "abidw")):
            status, said = self.check("--library", str(self.root / name))
            self.assertEqual(status, 2)
            self.assertIn(reason, said)
        with mock.patch.object(check_abi, "run", side_effect=check_abi.NotKnown("abidw: not installed")):
            self.assertEqual(self.check("--library", self.library(FIRST)), (2, "abidw: not installed\n"))


if __name__ == "__main__":
    unittest.main()
