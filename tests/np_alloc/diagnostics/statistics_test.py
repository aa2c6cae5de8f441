#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Reads the statistics that np_alloc prints.   statistics_test.py PROGRAM [LIBRARY]

PROGRAM (print_statistics) prints the statistics in the given format. LIBRARY replaces malloc.
"""
import json
import os
import re
import subprocess
import sys
import unittest
from xml.etree import ElementTree

PROGRAM = os.path.abspath(sys.argv[1])
LIBRARY = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None


def with_mallinfo(function, kind):
    """Returns the start of a Python program that can call malloc, and `function`, whose result has members of type
    `kind`."""
    return f"""
import ctypes
names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.{kind}) for name in names]
libc = ctypes.CDLL(None)
libc.{function}.restype = Mallinfo
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
"""


def output_of(*command, **environment):
    return subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, timeout=100, check=True
    ).stdout


class Statistics(unittest.TestCase):
    def test_json_has_a_number_for_each_value_and_an_object_for_each_size_class(self):
        statistics = json.loads(output_of(PROGRAM, "json"))
        classes = statistics.pop("classes")
        self.assertEqual({type(value) for value in statistics.values()}, {int})
        self.assertEqual({frozenset(each) for each in classes}, {frozenset(
            "block_bytes in_use cached in_transit outstanding free bytes_never_carved slab_bytes".split())})
        self.assertEqual((statistics["heaps"], statistics["misuse_reports"]), (1, 0))
        self.assertGreater(statistics["large_blocks"], 0)

    def test_size_classes_add_up_to_the_totals(self):
        statistics = json.loads(output_of(PROGRAM, "json"))
        outstanding = sum(each["block_bytes"] * each["outstanding"] for each in statistics["classes"])
        cached = sum(each["block_bytes"] * each["cached"] for each in statistics["classes"])
        self.assertEqual(
            statistics["bytes_in_use"] + statistics["bytes_in_transit"], outstanding + statistics["bytes_large"]
        )
        for each in statistics["classes"]:
            blocks = each["in_use"] + each["cached"] + each["in_transit"] + each["free"]
            self.assertEqual(blocks * each["block_bytes"] + each["bytes_never_carved"], each["slab_bytes"])
        never_carved = sum(each["bytes_never_carved"] for each in statistics["classes"])
        self.assertEqual(statistics["bytes_never_carved"], never_carved)
        self.assertEqual(statistics["bytes_cached"], cached)
        self.assertLessEqual(statistics["bytes_in_use"], statistics["bytes_reserved"])

    def test_committed_bytes_are_the_sum_of_their_terms(self):
        statistics = json.loads(output_of(PROGRAM, "json"))
        terms = "in_use cached in_transit free_in_slabs never_carved dirty of_metadata".split()
        self.assertEqual(statistics["bytes_committed"], sum(statistics["bytes_" + term] for term in terms))

    def test_resident_bytes_are_a_part_of_the_committed_bytes(self):
        statistics = json.loads(output_of(PROGRAM, "json"))
        self.assertGreater(statistics["bytes_resident"], statistics["bytes_in_use"] // 100)
        self.assertLess(statistics["bytes_resident"], statistics["bytes_committed"])

    def test_text_has_a_line_for_each_value_and_a_row_for_each_size_class(self):
        statistics = json.loads(output_of(PROGRAM, "json"))
        lines = output_of(PROGRAM, "text").decode().splitlines()
        self.assertEqual(lines[0], "np_alloc:")
        values = [line for line in lines[1:len(statistics)] if re.search(r" \d+$", line)]
        self.assertEqual(len(values), len(statistics) - 2)
        self.assertEqual([line.split() for line in lines[1:len(statistics)] if line not in values],
                         [["memory", "pressure", "not", "watched"]])
        sizes = [int(line.split()[0]) for line in lines[len(statistics) + 2:]]
        self.assertEqual(sizes, [each["block_bytes"] for each in statistics["classes"]])

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc")
    def test_mallinfo2_counts_blocks_of_malloc(self):
        program = with_mallinfo("mallinfo2", "c_size_t") + """
before = libc.mallinfo2()
small = [libc.malloc(5000) for i in range(1000)]
large = libc.malloc(10000000)
after = libc.mallinfo2()
assert after.uordblks - before.uordblks >= 5000000, after.uordblks - before.uordblks
assert after.hblkhd - before.hblkhd >= 10000000, after.hblkhd
assert after.hblks > before.hblks
assert after.arena == after.uordblks + after.fordblks
assert after.usmblks >= after.arena + after.hblkhd
"""
        output_of(sys.executable, "-c", program, LD_PRELOAD=LIBRARY)

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc")
    def test_mallinfo_saturates_at_the_largest_int(self):
        program = with_mallinfo("mallinfo", "c_int") + """
block = libc.malloc(10000000)
assert 10000000 <= libc.mallinfo().hblkhd < 2**31 - 1
block = libc.malloc(3 * 2**30)
assert libc.mallinfo().hblkhd == 2**31 - 1, libc.mallinfo().hblkhd
"""
        output_of(sys.executable, "-c", program, LD_PRELOAD=LIBRARY)

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc")
    def test_malloc_stats_prints_the_statistics_of_np_alloc(self):
        program = "import ctypes; ctypes.CDLL(None).malloc_stats()"
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "LD_PRELOAD": LIBRARY},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=True)
        self.assertIn(b"np_alloc:\n", done.stderr)

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc")
    def test_malloc_info_prints_the_statistics_of_np_alloc_as_xml(self):
        program = """
import ctypes, errno
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
block = libc.malloc(10000000)
stream = ctypes.c_void_p.in_dll(libc, "stdout")
assert libc.malloc_info(1, stream) == errno.EINVAL
assert libc.malloc_info(0, stream) == 0
libc.fflush(stream)
"""
        document = ElementTree.fromstring(output_of(sys.executable, "-c", program, LD_PRELOAD=LIBRARY))
        self.assertEqual((document.tag, document.get("version")), ("malloc", "1"))
        large = document.find("total[@type='mmap']")
        self.assertGreaterEqual(int(large.get("count")), 1)
        self.assertGreaterEqual(int(large.get("size")), 10000000)
        self.assertGreaterEqual(int(document.find("system[@type='current']").get("size")), int(large.get("size")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
