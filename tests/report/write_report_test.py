#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Reports can be read by others.   write_report_test.py SCHEMA PROGRAM PROGRAM_WITH_NP_ALLOC [LIBRARY]

Both programs print a report in the format that they are told, with np_alloc or without; LIBRARY replaces malloc.
"""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's packages, also for a python3 that is not Debian's.
import jsonschema  # noqa: E402

SCHEMA = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
PLAIN, WITH_NP_ALLOC = sys.argv[2:4]
LIBRARY = sys.argv[4] if len(sys.argv) > 4 else None


def output_of(program, report_format, **environment):
    return subprocess.run([program, report_format], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          timeout=100, check=True).stdout.decode("utf-8")


def report_of(program, **environment):
    report = json.loads(output_of(program, "json", **environment))
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    return report


class Report(unittest.TestCase):
    def test_as_json_is_what_the_schema_says(self):
        report = report_of(PLAIN)
        self.assertEqual([pool["name"] for pool in report["pools"]], ["mine \"quoted\"\t\ufffd", "shared", "limit"])
        self.assertEqual(report["pools"][1]["allocations"], 1000)
        self.assertIsNone(report["np_alloc"])

    def test_a_wrong_report_does_not_pass(self):
        for wrong in ({"version": 2}, {"pools": [{}]}, {"left_out": -1}, {"more": 1}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**report_of(PLAIN), **wrong}, SCHEMA, cls=jsonschema.Draft202012Validator)

    def check_np_alloc(self, report):
        statistics = report["np_alloc"]
        parts = ("in_use", "cached", "in_transit", "free_in_slabs", "never_carved", "dirty", "of_metadata")
        self.assertEqual(sum(statistics[f"bytes_{part}"] for part in parts), statistics["bytes_committed"])

    def test_has_the_equation_of_np_alloc_if_that_is_linked(self):
        self.check_np_alloc(report_of(WITH_NP_ALLOC))
        self.assertIn("bytes committed, the sum of", output_of(WITH_NP_ALLOC, "text"))

    def test_has_it_in_the_metrics(self):
        metrics = output_of(WITH_NP_ALLOC, "prometheus")
        parts = dict(re.findall(r'^np_alloc_committed_bytes\{part="(\w+)"\} (\d+)$', metrics, re.MULTILINE))
        self.assertEqual(len(parts), 7)
        self.assertNotIn("np_alloc", output_of(PLAIN, "prometheus"))

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc here")
    def test_has_it_if_the_library_replaces_malloc(self):
        report = report_of(PLAIN, LD_PRELOAD=LIBRARY)
        self.check_np_alloc(report)
        self.assertGreater(report["np_alloc"]["bytes_in_use"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
