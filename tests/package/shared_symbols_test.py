#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""libnp_alloc.so exports the functions of its headers, the functions that pools and reports call, and the error
handler, each with a version; has a SONAME with the major and minor version; and depends on the C library alone.

    shared_symbols_test.py SOURCE_DIRECTORY DIRECTORY_OF_LIBRARIES VERSION
"""
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE, LIBRARIES, VERSION = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
INTERFACE_VERSION = re.match(r"0\.\d+|\d+", VERSION).group()
HEADERS = ("np_alloc.h", "no_allocation_scope.h")
FOR_POOLS = {f"memory_pool_np_{name}" for name in (
    "add_pools", "add_reports", "get_statistics", "print_slabs", "print_statistics", "remove_pools", "remove_reports",
    "set_no_allocation_scope", "visit_heaps")}
ERROR_HANDLER = {"memory_pool::process_wide::abort_program(memory_pool::error_report const&)",
                 "memory_pool::process_wide::current_error_handler"}


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def declared_functions():
    """Returns the names of the functions that the headers declare without an inline definition."""
    names = set()
    for header in HEADERS:
        text = (SOURCE / "include/memory_pool" / header).read_text(encoding="utf-8")
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        names |= set(re.findall(r"\b(np_\w+)\([^;{}]*\) MEMORY_POOL_NP_NOEXCEPT;", text))
        names |= set(re.findall(r"\b(np_\w+)\([^;{}]*\);", text))
    return names


@unittest.skipUnless(shutil.which("nm") and shutil.which("readelf"), "needs binutils")
class SharedLibrary(unittest.TestCase):
    def for_each_library(self, test):
        for name in ("np_alloc", "np_alloc_checked"):
            with self.subTest(library=name):
                test(name, str(LIBRARIES / f"lib{name}.so"))

    def test_exports_the_declared_functions_only(self):
        def test(_, library):
            exported = output_of("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
            versioned = dict(line.split(maxsplit=2)[2].rsplit("@@", 1) for line in exported if "@@" in line)
            self.assertEqual(set(versioned.values()), {"NP_ALLOC_0.1"})
            self.assertEqual(set(versioned), declared_functions() | FOR_POOLS | ERROR_HANDLER)
        self.for_each_library(test)

    def test_soname_has_the_interface_version(self):
        def test(name, library):
            dynamic = output_of("readelf", "--dynamic", "--wide", library)
            self.assertIn(f"Library soname: [lib{name}.so.{INTERFACE_VERSION}]", dynamic)
            self.assertEqual(Path(library).resolve().name, f"lib{name}.so.{VERSION}")
        self.for_each_library(test)

    def test_depends_on_the_c_library_alone(self):
        def test(_, library):
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", library))
            self.assertEqual([name for name in needed if not re.match(r"lib(c|dl|pthread)\b|ld-", name)], [])
        self.for_each_library(test)

    def test_does_not_need_static_tls(self):
        def test(_, library):
            self.assertNotIn("STATIC_TLS", output_of("readelf", "--dynamic", "--wide", library))
        self.for_each_library(test)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
