#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The check of the documents accepts a good tree, names the errors in a bad one, and corrects counts."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_documents  # noqa: E402

READING = """# Read it

| folder | what | files | lines |
|---|---|---|---|
| [public headers](../include/memory_pool) | pools | 1 | 2 |
| [`slabs/`](../include/memory_pool/slabs) | slabs, [see](#read-it) | 2 | 1,100 |

| [`slabs/`](../include/memory_pool/slabs) | in another table | 7 | 7 |
"""

GOOD = {
    "README.md": "# All of it\n[a](docs/reading.md#read-it) [b](#all-of-it) [`c`](include) "
                 "`[d](none.md)` [e](https://x/y)\n"
                 "```md\n[f](none.md)\n" + 130 * "x" + "\n```\n| " + 130 * "x" + " |\n" + 120 * "x" + "\n",
    "docs/reading.md": READING,
    "include/memory_pool/pool.hpp": "// remedy: none\nputs(\"no\\n  remedy: do this and\\n\"); return \"x\";\n",
    "include/memory_pool/slabs/a.hpp": "//\n" * 600,
    "include/memory_pool/slabs/b.cpp": "//\n" * 500,
    "docs/errors.md": "do this and do that\n",
    "docs/performance.md": "# a\n12 ns (`./dev bench x`)\n## b\nNanoseconds, 3 times as fast\n```sh\nX=1 build/a\n```\n"
                           "## c\n2 seconds\n```\n5 ns\n# 6 ns\n```\n",
    "docs/design.md": "# a\n12 ns\n",
    "include/memory_pool/slabs/notes.txt": "not a source\n",
}

# A changed file of the good tree, its text, and the place and words of the error message.
BAD = {
    "a link to no file": ("README.md", "\n[a](docs/none.md)\n", "README.md:2:", "no such file: docs/none.md"),
    "a link out of the tree": ("README.md", "[a](..)\n", "README.md:1:", "no such file: .."),
    "a link to no heading": ("README.md", "[a](docs/reading.md#none)\n", "README.md:1:", "no such heading"),
    "a heading only in code": ("README.md", "```\n# b\n```\n[a](#b)\n", "README.md:4:", "no such heading: #b"),
    "a heading of a source": ("README.md", "[a](include/memory_pool/pool.hpp#b)\n", "README.md:1:", "no such heading"),
    "a link in docs": ("docs/more.md", "[a](README.md)\n", "docs/more.md:1:", "no such file: README.md"),
    "a link below docs": ("docs/tasks/one.md", "[a](reading.md)\n", "docs/tasks/one.md:1:", "no such file: reading.md"),
    "a long line": ("docs/more.md", "\n" + 121 * "x" + "\n", "docs/more.md:2:", "121 columns, more than 120"),
    "a time without a command": ("docs/performance.md",
                                 "# a\n`./dev bench`\n## b\n`x ./dev bench`\ntakes 12 ns\n3 us\n",
                                 "docs/performance.md:5:", "a figure in a section without a command: 12 ns"),
    "a ratio without a command": ("docs/security.md", "it takes 1.5 times as long\n# b\n`ctest -R x`\n",
                                  "docs/security.md:1:", "without a command: 1.5 times as"),
    "instructions without a command": ("docs/np_alloc.md", "| a pair | 25 instructions |\n", "docs/np_alloc.md:1:",
                                       "without a command: 25 instructions"),
    "lines far off": ("include/memory_pool/slabs/a.hpp", "//\n" * 660, "docs/reading.md:6:",
                      "has 2 files with 1160 lines"),
    "a file more": ("include/memory_pool/c.hpp", "", "docs/reading.md:5:", "include/memory_pool has 2 files"),
    "a folder without a row": ("drop_in/a.h", "", "docs/reading.md:1:", "drop_in has 0 rows"),
    "a folder with two rows": ("docs/reading.md",
                               READING.replace("2 |\n", "2 |\n| [x](../include/memory_pool) | 1 | 2 |\n"),
                               "docs/reading.md:1:", "include/memory_pool has 2 rows"),
    "a remedy that is not in the table": ("include/memory_pool/pool.hpp", "//\nputs(\"remedy: do all of it\\n\");\n",
                                          "include/memory_pool/pool.hpp:2:", "has no remedy: do all of it"),
    "a remedy of a function": ("include/memory_pool/pool.hpp", "const char* remedy_for(error_kind kind) noexcept\n"
                               "    return \"do that\"; return \"do nothing\";\n", "include/memory_pool/pool.hpp:2:",
                               "has no remedy: do nothing"),
    "a row of a file": ("docs/reading.md", READING.replace("2 |\n", "2 |\n| [x](../README.md) | 1 | 2 |\n"),
                        "docs/reading.md:6:", "not a folder"),
}


class CheckDocuments(unittest.TestCase):
    def make(self, files: dict):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        for name, text in files.items():
            path = Path(directory.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return directory.name

    def run_checker(self, *arguments):
        """Returns the exit status of the checker and its output lines."""
        output = io.StringIO()
        with mock.patch.object(sys, "argv", ["check_documents.py", *arguments]), contextlib.redirect_stdout(output):
            return check_documents.main(), output.getvalue().splitlines()

    def test_good_tree_passes(self):
        self.assertEqual(self.run_checker(self.make(GOOD)), (0, ["5 documents, 0 violations"]))

    def test_small_changes_pass(self):
        tree = self.make({**GOOD, "include/memory_pool/slabs/a.hpp": "//\n" * 640})
        self.assertEqual(self.run_checker(tree)[0], 0)

    def test_each_violation_is_named(self):
        for what, (name, text, place, words) in BAD.items():
            with self.subTest(what):
                status, output = self.run_checker(self.make({**GOOD, name: text}))
                self.assertEqual((status, len(output)), (1, 2), output)
                self.assertTrue(output[0].startswith(place), output[0])
                self.assertIn(words, output[0])

    def test_fix_updates_only_the_counts(self):
        tree = self.make({**GOOD, "include/memory_pool/slabs/c.h": "//\n" * 1000})
        self.assertEqual(self.run_checker(tree)[0], 1)
        self.assertEqual(self.run_checker("--fix", tree)[0], 0)
        written = Path(tree, "docs/reading.md").read_text(encoding="utf-8")
        self.assertEqual(written, READING.replace("| 2 | 1,100 |", "| 3 | 2,100 |"))


if __name__ == "__main__":
    unittest.main()
