#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The committed benchmark report matches its data, and the README quotes it."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from report import markdown, model, page, plots, readme, reduced  # pylint: disable=wrong-import-position

DIRECTORY = ROOT / "docs" / "benchmarks"
REMEDY = ("run ./dev report --from docs/benchmarks/report.json --reduced docs/benchmarks, and change README.md as it "
          "says, or with --update-readme")


class Documents(unittest.TestCase):
    def setUp(self):
        self.report = json.loads((DIRECTORY / "report.json").read_text(encoding="utf-8"))

    def test_the_report_is_a_small_copy_of_a_whole_run(self):
        self.assertEqual(self.report["schema"], model.SCHEMA)
        self.assertTrue(self.report["is_reduced"])
        self.assertIsNone(self.report["unfinished"])
        self.assertEqual([section["name"] for section in self.report["sections"]],
                         ["blocks", "originals", "heaps", "scaling", "latency", "memory"])
        self.assertEqual(reduced.reduce(self.report), self.report)

    def test_files_are_small(self):
        drawn = list(DIRECTORY.glob("*.svg"))
        self.assertIn(len(drawn), range(4, 9))
        for path in drawn:
            self.assertLess(path.stat().st_size, 60_000, path)
        self.assertLess((DIRECTORY / "report.json").stat().st_size, 100_000)

    def test_the_page_matches_its_data(self):
        pictures = plots.drawn(self.report, DIRECTORY)
        self.assertEqual(sorted(file for file, _ in pictures.values()),
                         sorted(path.name for path in DIRECTORY.glob("*.svg")))
        with tempfile.TemporaryDirectory() as directory:
            made = Path(directory) / "report.md"
            markdown.write(page.parts_of(self.report, pictures), made)
            self.assertEqual(made.read_text(encoding="utf-8"), (DIRECTORY / "report.md").read_text(encoding="utf-8"),
                             REMEDY)

    def test_the_readme_quotes_it(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        self.assertEqual(list(readme.differences(text, self.report)), [], REMEDY)

    def test_the_first_page_of_the_site_quotes_it(self):
        text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        self.assertEqual(list(readme.missing_in_index(text, self.report)), [])
        self.assertEqual(len(list(readme.claims_of_index(self.report))), 3)

    def test_it_is_linked(self):
        self.assertIn("(docs/benchmarks/report.md)", (ROOT / "README.md").read_text(encoding="utf-8"))
        self.assertIn("(benchmarks/report.md)", (ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
        self.assertIn(": benchmarks/report.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
