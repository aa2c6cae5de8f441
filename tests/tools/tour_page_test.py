#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The page of the tour shows all figures, needs neither network nor JavaScript, fits a phone, and is never partial.

The tests in a browser are skipped where there is no Chromium.
"""

import copy
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import chromium  # noqa: E402

TOUR_PAGE = Path(__file__).resolve().parents[2] / "tools" / "tour_page.py"


def side(name, nanoseconds, peak_memory, heap_calls=7, wasted=2048):
    return {"side": name, "is_pool": "pool" in name, "nanoseconds": nanoseconds, "peak_memory": peak_memory,
            "heap_calls": heap_calls, "wasted": wasted}


def job(name, *sides):
    return {"name": name, "explanation": f"what the {name} does", "sides": list(sides)}


FIGURES = {
    "schema": "memory_pool.tour", "version": 1, "command": ["tour", "a text"], "text": "10.5 KiB in 1 file from a text",
    "text_notes": ["There is more."], "rounds": 5, "threads": 2,
    "machine": [{"name": "processor", "explanation": "A quick one"}, {"name": "compiler", "explanation": "GCC 12"}],
    "sides": [{"name": "new/delete", "explanation": "from the heap"}, {"name": "object_pool", "explanation": "pooled"}],
    "jobs": [job("word index", side("new/delete", 40_000_000, 8 << 20, 1_234_567, None),
                 side("object_pool", 10_000_000, 2 << 20), side("concurrent_object_pool", 9_123_000, 1000 << 10, None)),
             job("parse tree", side("new/delete", 5_000_000, 1 << 20), side("object_pool", 20_000_000, 4 << 20))],
    "legend": [{"name": "time", "explanation": "to do it"}], "agreement": "All sides agree.",
    "conclusion": "For this text, pools save 75 % of the time; for the parse tree they take 4.0 times the time.",
}


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.page = self.directory / "page.html"

    def run_tool(self, figures, page=None, *arguments):
        path = self.directory / "figures.json"
        path.write_text(figures if isinstance(figures, str) else json.dumps(figures), encoding="utf-8")
        return subprocess.run([sys.executable, TOUR_PAGE, path, "-o", page or self.page, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=100,
                              check=False)

    def page_of(self, figures, *arguments):
        result = self.run_tool(figures, None, *arguments)
        self.assertEqual((result.returncode, result.stdout), (0, f"{self.page}\n"), result.stderr)
        return self.page.read_text(encoding="utf-8")

    def assert_fails(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, r"\Atour_page: [^\n]*\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual([each.name for each in self.directory.iterdir() if each.suffix != ".json"], [])


class Tool(Files):
    def test_shows_each_value_and_text(self):
        text = re.sub(r"<[^>]*>", "|", self.page_of(FIGURES).partition("</style>")[2]).replace("&nbsp;", " ")
        for shown in (FIGURES["conclusion"], "10.5 KiB in 1 file", "There is more.", "5 times", "A quick one", "GCC 12",
                      "what the parse tree does", "from the heap", "to do it", "All sides agree.",
                      "tour &#x27;a text&#x27;", "40.0 ms", "10.0 ms", "9.123 ms", "1.00x", "4.00x", "0.25x", "8.0 MiB",
                      "1000.0 KiB", "1,234,567",
                      "2.0 KiB", "n/a"):
            self.assertIn(shown, text)
        self.assertNotIn("{{", text)

    def test_bars_are_in_proportion_within_a_job(self):
        bars = re.findall(r'class="bar"><span style="width: ([\d.]+)%"', self.page_of(FIGURES))
        self.assertEqual(bars, ["100.0", "100.0", "25.0", "25.0", "22.8", "12.2", "25.0", "25.0", "100.0", "100.0"])

    def test_times_of_zero_have_bars(self):
        figures = copy.deepcopy(FIGURES)
        figures["jobs"] = [job("nothing", side("new/delete", 0, 0), side("object_pool", 0, 0))]
        self.assertIn("0.000 ms", self.page_of(figures))

    def test_names_are_escaped(self):
        name, figures = '<script>alert("&")</script>{{title}}{{nothing}}', copy.deepcopy(FIGURES)
        for key in ("text", "agreement", "conclusion"):
            figures[key] = name
        figures["text_notes"] = figures["command"] = [name]
        for key in ("machine", "sides", "legend"):
            figures[key] = [{"name": name, "explanation": name}]
        figures["jobs"] = [dict(job(name, side(name, 1, 1)), explanation=name)]
        text = self.page_of(figures)
        self.assertNotIn("<script", text)
        self.assertEqual(text.count(html.escape(name)), 15)

    def test_shows_the_given_command(self):
        self.assertIn("<code>./dev tour --html &#x27;a&lt;b&#x27;</code>",
                      self.page_of(FIGURES, "--command", "./dev tour --html 'a<b'"))

    def test_is_one_file_without_scripts(self):
        text = self.page_of(FIGURES)
        self.assertNotRegex(text, r'<script|<link (?!rel="icon" href="data:,")|<img|url\(|@import|https?:| on[a-z]+=')
        self.assertIn("default-src 'none'", text)

    def test_replaces_an_earlier_page(self):
        self.page.write_text("an earlier one", encoding="utf-8")
        self.assertNotIn("an earlier one", self.page_of(FIGURES))
        self.assertEqual(sorted(each.name for each in self.directory.iterdir()), ["figures.json", "page.html"])

    def test_reports_invalid_input(self):
        without_legend = {key: FIGURES[key] for key in FIGURES if key != "legend"}
        for content, problem in (("{", "is no JSON"), ("[]", 'has no "schema"'), ({"schema": "x"}, 'has no "schema"'),
                                 (dict(FIGURES, version=2), 'has no "schema"'), (without_legend, "is incomplete: Key"),
                                 (dict(FIGURES, jobs=7), "is incomplete"),
                                 (dict(FIGURES, conclusion=None), "is incomplete: Attribute"),
                                 (dict(FIGURES, rounds="<i>"), "is incomplete: Value"),
                                 (dict(FIGURES, threads=None), "is incomplete: Type"),
                                 (dict(FIGURES, threads=float("nan")), "is no JSON: NaN is not a JSON number")):
            with self.subTest(content):
                self.assert_fails(self.run_tool(content), "figures.json' " + problem, "; write ")
        result = subprocess.run([sys.executable, TOUR_PAGE, self.directory / "none.json", "-o", self.page],
                                capture_output=True, encoding="utf-8", timeout=100, check=False)
        self.assert_fails(result, "none.json' cannot be read: No such file", "; write the figures with: tour --json")

    def test_reports_an_unwritable_page(self):
        self.assert_fails(self.run_tool(FIGURES, self.directory / "none" / "page.html"),
                          "none/page.html' cannot be written: No such file or directory; name a file")
        folder = self.directory / "folder.json"
        folder.mkdir()
        self.assert_fails(self.run_tool(FIGURES, folder), "folder.json' cannot be written: it is a folder; name a file")
        pipe = self.directory / "pipe.json"
        os.mkfifo(pipe)
        self.assert_fails(self.run_tool(FIGURES, pipe), "pipe.json' cannot be written: it is not a regular file; name")


@unittest.skipUnless(chromium.PROGRAM, "no Chromium here")
class Page(Files):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Browser()
        cls.browser.__enter__()
        cls.addClassCleanup(cls.browser.__exit__)

    def open(self, **how):
        figures = copy.deepcopy(FIGURES)
        figures["text"] = "1 file from " + "a_long_name_without_a_space/" * 10
        figures["command"] = ["x" * 200]
        self.page_of(figures)
        page = self.browser.open(self.page, **how)
        self.addCleanup(page.close)
        return page

    def test_fits_on_a_phone_and_on_a_desk(self):
        for width in (320, 360, 641, 1280):
            with self.subTest(width):
                page = self.open(width=width)
                self.assertLessEqual(page.value_of("document.documentElement.scrollWidth"), width)
                outside = page.value_of("""[...document.querySelectorAll('body *')].filter(each => {
                    const place = each.getBoundingClientRect();
                    const width = document.documentElement.clientWidth;
                    return place.width > 1 && (place.left < 0 || place.right > width + 1);
                    }).map(each => each.outerHTML.slice(0, 80))""")
                self.assertEqual(outside, [])

    def test_loads_nothing_and_logs_nothing(self):
        page = self.open()
        self.assertEqual([each for each in page.requested if not each.startswith(("file:", "data:"))], [])
        self.assertEqual(page.problems, [])

    def test_text_and_bars_stand_out_in_light_and_dark(self):
        contrast = """(() => {
            const numbers = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
                .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
            const ratio = (a, b) => { const [x, y] = [light(numbers(a)), light(numbers(b))];
                return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
            const style = selector => getComputedStyle(document.querySelector(selector));
            const page = style('body').backgroundColor;
            return {text: ratio(style('body').color, page), quiet: ratio(style('.quiet').color, page),
                    pool: ratio(style('.pool .bar span').backgroundColor, page),
                    other: ratio(style('tbody tr:not(.pool) .bar span').borderRightColor, page)}; })()"""
        backgrounds = set()
        for scheme in ("light", "dark"):
            page = self.open(scheme=scheme)
            found = page.value_of(contrast)
            self.assertGreaterEqual(min(found["text"], found["quiet"]), 4.5, (scheme, found))
            self.assertGreaterEqual(min(found["pool"], found["other"]), 3, (scheme, found))
            backgrounds.add(page.value_of("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(backgrounds), 2)

    def test_bars_differ_in_more_than_colour(self):
        page = self.open()
        self.assertIn("gradient", page.value_of(
            "getComputedStyle(document.querySelector('tbody tr:not(.pool) .bar span')).backgroundImage"))
        self.assertEqual(page.value_of("getComputedStyle(document.querySelector('.pool .bar span')).backgroundImage"),
                         "none")


if __name__ == "__main__":
    unittest.main()
