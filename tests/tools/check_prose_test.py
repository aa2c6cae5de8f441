#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The prose check finds constructions in comments, documents and names, and nothing in code or in plain sentences."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_prose  # noqa: E402

FOREIGN = ("Returns: what is free", "from what it holds", "counts what was freed", "has the heap give back memory",
           "Rounds up. The same, for pages", "as is said above", "the block is to be freed", "held by whoever frees it")
PLAIN = ("Returns the free blocks.", "Returns: whether the block is free.", "The heap returns memory.", "What is new",
         "This is to be able to grow.")


class CheckProse(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(directory.name)

    def check(self, **files):
        """Checks these files; returns the exit status and the findings."""
        paths = [name.replace("__", ".") for name in files]
        for path, text in zip(paths, files.values()):
            Path(path).write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            return check_prose.main(paths), said.getvalue()

    def test_finds_each_construction_in_every_kind_of_comment(self):
        for sentence in FOREIGN:
            for name, text in (("file_a__hpp", f"int a; ///< {sentence}\n"),
                               ("file_a__cpp", f"/// {sentence}\nint a;\n"),
                               ("file_a__h", f"/** Text.\n *  {sentence} */\nint a;\n"),
                               ("file_a__py", f"a = 1\n# {sentence}\n"), ("file_a__md", f"# Title\n\n{sentence}\n")):
                with self.subTest(sentence=sentence, name=name):
                    status, said = self.check(**{name: text})
                    self.assertEqual((status, said.count("\n")), (1, 1))
                    self.assertIn(sentence, said)

    def test_accepts_plain_sentences(self):
        for sentence in PLAIN:
            with self.subTest(sentence=sentence):
                self.assertEqual(self.check(file_a__cpp=f"// {sentence}\n", file_a__md=sentence), (0, ""))

    def test_finds_names_in_code_only(self):
        status, said = self.check(file_a__cpp="int most_bytes = its.bytes; // most_bytes\n")
        self.assertEqual((status, said.count("\n")), (1, 2))
        self.assertEqual(self.check(file_a__cpp="int max_bytes; // as most_bytes was\n"), (0, ""))

    def test_ignores_code_string_literals_and_fences(self):
        self.assertEqual(self.check(file_a__cpp='auto a = "what is free // what is free";\n',
                                    file_a__md="```\nWhat is free\n```\nCall `as what is free` now.\n"), (0, ""))

    def test_accepts_listed_exceptions_and_reports_unused_ones(self):
        exceptions = {("file_a.md", "What is free"): "a quotation"}
        with mock.patch.object(check_prose, "EXCEPTIONS", exceptions):
            self.assertEqual(self.check(file_a__md="What is free\n"), (0, ""))
            status, said = self.check(file_a__md="Free blocks\n")
            self.assertEqual(status, 1)
            self.assertIn("no longer has the exception", said)
            with mock.patch.object(check_prose, "MAX_EXCEPTIONS", 0):
                status, said = self.check(file_a__md="What is free\n")
                self.assertEqual(status, 1)
                self.assertIn("at most 0 are allowed", said)

    def test_skips_files_of_other_kinds_and_texts_of_others(self):
        self.assertEqual(self.check(file_a__txt="What is free\n"), (0, ""))
        Path("tests/contract").mkdir(parents=True)
        self.assertEqual(self.check(**{"tests/contract/pool__cpp": "// What is free\n"}), (0, ""))


if __name__ == "__main__":
    unittest.main()
