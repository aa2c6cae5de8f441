#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The link check accepts a good site, and names the errors in a bad one."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "site"))
import check_links  # noqa: E402

GOOD = {
    "index.html": "<p id=here>\n<a href='tasks/one.html#two%20words'>a</a> <a href='#here'>b</a> <a href='#'>c</a>"
                  "<a href='https://x/y'>d</a> <a href='mailto:x@y'>e</a> <a href='tasks/'>f</a>"
                  "<link rel=stylesheet href='site.css?v=1'><link rel=canonical href='https://x/'>"
                  "<img src='data:image/png;base64,AA'><iframe src='javascript:void(0)'></iframe>",
    "tasks/index.html": "<a href='../index.html'>a</a> <a href='/tasks/one.html'>b</a>",
    "tasks/one.html": "<h2 id='two words'>a</h2><a name=old></a><a href='#old'>b</a>",
    "site.css": "",
}

# The changed page, its text, and the error message.
BAD = {
    "a link to no page": ("index.html", "<a href='none.html'>", "index.html:1: no such page: none.html"),
    "a link out of the site": ("index.html", "<a href='../x.html'>", "no such page: ../x.html"),
    "a link to a folder without pages": ("tasks/index.html", None, "no such page: tasks/"),
    "a link to no anchor": ("tasks/one.html", "<h2 id='two words'>\n<a href='../index.html#none'>",
                            "tasks/one.html:2: no such anchor: ../index.html#none"),
    "an anchor in the page": ("index.html", "<a href='#none'>", "index.html:1: no such anchor: #none"),
    "the name of a form field is not an anchor": ("index.html", "<input name=q><a href='#q'>",
                                                  "index.html:1: no such anchor: #q"),
    "a missing style sheet": ("index.html", "<link rel=stylesheet href='none.css'>", "no such page: none.css"),
    "a script of another host": ("index.html", "<script src='https://x/y.js'></script>",
                                 "is loaded from elsewhere: https://x/y.js"),
    "a font of another host": ("index.html", "<link rel=stylesheet href='//x/y'>", "is loaded from elsewhere: //x/y"),
}


class CheckLinks(unittest.TestCase):
    def check(self, files: dict):
        """Returns the exit status of the checker and its output."""
        output = io.StringIO()
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                path = Path(directory, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            with mock.patch.object(sys, "argv", ["check_links.py", directory]), contextlib.redirect_stdout(output):
                return check_links.main(), output.getvalue()

    def test_good_site_passes(self):
        self.assertEqual(self.check(GOOD), (0, "3 pages, 9 links, 0 violations\n"))

    def test_bad_sites_fail(self):
        for name, (page, text, words) in BAD.items():
            with self.subTest(name):
                files = {**GOOD, page: text}
                status, output = self.check({each: text for each, text in files.items() if text is not None})
                self.assertEqual(status, 1)
                self.assertIn(words, output)

    def test_a_site_without_pages_fails(self):
        self.assertEqual(self.check({"site.css": ""})[0], 1)


if __name__ == "__main__":
    unittest.main()
