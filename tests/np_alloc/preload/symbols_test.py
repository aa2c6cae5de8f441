#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that libnp_malloc.so exports only malloc, operator new, related functions, and some functions for pools and
programs, and that it depends on the C library only.

    symbols_test.py LIBRARY
"""
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY = sys.argv[1]

MALLOC = """
malloc calloc realloc reallocarray free free_sized free_aligned_sized cfree memalign posix_memalign aligned_alloc valloc
pvalloc malloc_usable_size malloc_trim mallinfo mallinfo2 malloc_stats malloc_info
""".split()

FOR_POOLS = [f"memory_pool_np_{name}" for name in (
    "add_pools", "add_reports", "get_statistics", "print_slabs", "print_statistics", "remove_pools", "remove_reports",
    "set_no_allocation_scope")]
FOR_PROGRAMS = """
np_profile_dump np_profile_write np_set_no_allocation_scope np_trim np_thread_idle np_statistics_by_name np_option_set
np_option_get np_option_by_name np_option_set_by_name np_set_soft_limit_callback
""".split()

SIZE, NOTHROW, ALIGN = "unsigned long", "std::nothrow_t const&", "std::align_val_t"
NEW = [(SIZE,), (SIZE, NOTHROW), (SIZE, ALIGN), (SIZE, ALIGN, NOTHROW)]
DELETE = [(), (SIZE,), (NOTHROW,), (ALIGN,), (SIZE, ALIGN), (ALIGN, NOTHROW)]
OPERATORS = [f"operator new{array}({', '.join(form)})" for array in ("", "[]") for form in NEW]
OPERATORS += [f"operator delete{array}({', '.join(('void*', *form))})" for array in ("", "[]") for form in DELETE]


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


@unittest.skipUnless(shutil.which("nm") and shutil.which("readelf"), "needs binutils")
class Symbols(unittest.TestCase):
    def test_exports_exactly_these_symbols(self):
        exported = output_of("nm", "--dynamic", "--defined-only", "--demangle", LIBRARY).splitlines()
        names = [line.split(maxsplit=2)[2] for line in exported]
        self.assertEqual(sorted(names), sorted(MALLOC + OPERATORS + FOR_POOLS + FOR_PROGRAMS))

    def test_needs_only_the_c_library(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", LIBRARY))
        self.assertTrue(needed)
        self.assertEqual([name for name in needed if not re.match(r"lib(c|dl|pthread)\b|ld-", name)], [])

    def test_has_no_text_relocations(self):
        self.assertNotIn("TEXTREL", output_of("readelf", "--dynamic", "--wide", LIBRARY))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
