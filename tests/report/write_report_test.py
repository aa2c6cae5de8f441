#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Reports can be read by other programs.   write_report_test.py SCHEMA PROGRAM PROGRAM_WITH_NP_ALLOC [LIBRARY]

Both programs print a report in the format of their argument, with and without np_alloc. LIBRARY replaces malloc.
"""
import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.append("/usr/lib/python3/dist-packages")  # The packages of Debian, even for another python3.
import jsonschema  # noqa: E402

SCHEMA = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
PLAIN, WITH_NP_ALLOC = sys.argv[2:4]
LIBRARY = sys.argv[4] if len(sys.argv) > 4 else None


DOCS = "".join(Path(sys.argv[1]).with_name(name).read_text(encoding="utf-8")
               for name in ("observability.md", "memory.md"))


def properties_of(schema):
    """Yields the names of all members of a schema, at every depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from properties_of(each)


def output_of(program, report_format, **environment):
    return subprocess.run([program, report_format], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          timeout=100, check=True).stdout.decode("utf-8")


def report_of(program, **environment):
    report = json.loads(output_of(program, "json", **environment))
    jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
    return report


class Report(unittest.TestCase):
    def test_json_matches_the_schema(self):
        report = report_of(PLAIN)
        self.assertEqual([pool["name"] for pool in report["pools"]], ["mine \"quoted\"\t\ufffd", "shared", "limit"])
        self.assertEqual(report["pools"][1]["allocations"], 1000)
        self.assertIsNone(report["np_alloc"])

    def test_the_schema_rejects_invalid_reports(self):
        for wrong in ({"version": 2}, {"pools": [{}]}, {"left_out": -1}, {"more": 1}, {"slabs": [{}]}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**report_of(PLAIN), **wrong}, SCHEMA, cls=jsonschema.Draft202012Validator)

    def check_np_alloc(self, report):
        statistics = report["np_alloc"]
        parts = ("in_use", "cached", "in_transit", "free_in_slabs", "never_carved", "dirty", "of_metadata")
        self.assertEqual(sum(statistics[f"bytes_{part}"] for part in parts), statistics["bytes_committed"])

    def test_includes_the_equation_of_np_alloc_if_it_is_linked(self):
        self.check_np_alloc(report_of(WITH_NP_ALLOC))
        self.assertIn("bytes committed, the sum of", output_of(WITH_NP_ALLOC, "text"))

    def test_each_value_is_documented(self):
        report = report_of(WITH_NP_ALLOC, NP_REPORT_SLABS="1")
        names = {*properties_of(SCHEMA), *report["pools"][0], *report["np_alloc"], *report["np_alloc"]["classes"][0],
                 *report["slabs"][0]}
        metrics = output_of(WITH_NP_ALLOC, "prometheus")
        names.update(re.findall(r"^# TYPE (\w+)", metrics, re.MULTILINE))
        names.update(re.findall(r'part="(\w+)"', metrics))
        self.assertGreater(len(names), 70, names)
        self.assertEqual([name for name in sorted(names) if f"`{name}`" not in DOCS], [])

    def test_lists_named_heaps_of_np_alloc_after_the_pools(self):
        heap = report_of(WITH_NP_ALLOC)["pools"][3]
        self.assertEqual((heap["kind"], heap["name"], heap["in_use"], heap["bytes_in_use"]),
                         ("np_heap", "requests", 1, 64))
        self.assertIn("\nrequests                np_heap  ", output_of(WITH_NP_ALLOC, "text"))
        self.assertIn('memory_pool_in_use_bytes{kind="np_heap",name="requests",block_size="0"} 64\n',
                      output_of(WITH_NP_ALLOC, "prometheus"))

    def test_metrics_include_np_alloc(self):
        metrics = output_of(WITH_NP_ALLOC, "prometheus")
        parts = dict(re.findall(r'^np_alloc_committed_bytes\{part="(\w+)"\} (\d+)$', metrics, re.MULTILINE))
        self.assertEqual(len(parts), 7)
        self.assertNotIn("np_alloc", output_of(PLAIN, "prometheus"))

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc here")
    def test_includes_np_alloc_if_the_library_replaces_malloc(self):
        report = report_of(PLAIN, LD_PRELOAD=LIBRARY)
        self.check_np_alloc(report)
        self.assertGreater(report["np_alloc"]["bytes_in_use"], 0)

    @staticmethod
    def states_of(slab):
        packed = base64.b64decode(slab["states"], validate=True)
        states = [byte >> shift & 3 for byte in packed for shift in (0, 2, 4, 6)]
        return states[:slab["blocks"]]

    def check_slabs(self, report):
        """Compares the states of blocks with the statistics. No thread may be in a call."""
        counts = {}
        for slab in report["slabs"]:
            of_class = counts.setdefault(slab["block_bytes"], [0, 0, 0, 0])
            for state in self.states_of(slab):
                of_class[state] += 1
        for each in report["np_alloc"]["classes"]:
            if each["block_bytes"] in counts:
                _, free, cached, in_use = counts[each["block_bytes"]]
                self.assertEqual((free, cached, in_use), (each["free"], each["cached"], each["outstanding"]), each)
        self.assertGreater(sum(in_use for _, _, _, in_use in counts.values()), 0)

    def test_includes_slabs_on_request(self):
        self.assertNotIn("slabs", report_of(WITH_NP_ALLOC))
        self.assertNotIn("slabs", report_of(PLAIN, NP_REPORT_SLABS="1"))
        self.assertGreater(len(report_of(WITH_NP_ALLOC, NP_REPORT_SLABS="1")["slabs"]), 0)

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc here")
    def test_slabs_agree_with_the_statistics_on_a_signal_and_at_exit(self):
        for report in self.wait_for_signal(PLAIN, signal.SIGUSR1, LD_PRELOAD=LIBRARY, NP_REPORT_SLABS="1"):
            self.check_slabs(report)

    def wait_for_signal(self, program, signal_number, **environment):
        """Returns the reports on a signal and at exit."""
        with tempfile.TemporaryDirectory() as directory:
            pattern = os.path.join(directory, "report.%p.json")
            with subprocess.Popen([program, "wait"], env={**os.environ, "NP_REPORT": pattern, **environment},
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                self.assertEqual(running.stdout.readline(), b"ready\n")
                path = Path(pattern.replace("%p", str(running.pid)))
                running.send_signal(signal_number)
                end = time.monotonic() + 30
                while not path.exists() and time.monotonic() < end:
                    time.sleep(0.01)
                on_signal = json.loads(path.read_text(encoding="utf-8"))
                running.stdin.close()
                self.assertEqual(running.wait(60), 0)
            at_end = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(os.listdir(directory), [path.name])
        for report in (on_signal, at_end):
            jsonschema.validate(report, SCHEMA, cls=jsonschema.Draft202012Validator)
            self.check_np_alloc(report)
        return on_signal, at_end

    def test_is_written_on_a_signal_and_at_exit_if_np_report_is_set(self):
        on_signal, at_end = self.wait_for_signal(WITH_NP_ALLOC, signal.SIGUSR1)
        self.assertEqual([pool["name"] for pool in on_signal["pools"]],
                         ["mine \"quoted\"\t\ufffd", "shared", "limit", "requests"])
        self.assertGreater(on_signal["totals"]["bytes_reserved"], 0)
        self.assertEqual(at_end["pools"], on_signal["pools"][3:], "the other pools are destroyed by then")

    def test_is_written_on_the_configured_signal(self):
        on_signal, _ = self.wait_for_signal(WITH_NP_ALLOC, signal.SIGUSR2, NP_REPORT_SIGNAL=str(int(signal.SIGUSR2)))
        self.assertEqual(len(on_signal["pools"]), 4)

    @unittest.skipIf(LIBRARY is None, "no library replaces malloc here")
    def test_is_written_for_an_unmodified_program(self):
        on_signal, _ = self.wait_for_signal(PLAIN, signal.SIGUSR1, LD_PRELOAD=LIBRARY)
        self.assertEqual([pool["kind"] for pool in on_signal["pools"]],
                         ["object_pool", "concurrent_object_pool", "limit_resource"])

    def test_explains_why_there_is_no_report(self):
        for wrong, expected in (({"NP_REPORT": "/no such directory/x"}, "cannot be written"),
                                ({"NP_REPORT": "x" * 2000}, "more than 1023 characters"),
                                ({"NP_REPORT": "/dev/null/x", "NP_REPORT_SIGNAL": "9"}, "signal 9 cannot be handled")):
            errors = subprocess.run([WITH_NP_ALLOC, "text"], env={**os.environ, **wrong}, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, timeout=100, check=True).stderr.decode()
            self.assertIn(expected, errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
