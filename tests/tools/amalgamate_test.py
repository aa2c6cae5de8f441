#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The single header has each header once, in order, and the script reports errors in the headers."""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import amalgamate  # noqa: E402

VERSION = "".join(f"#define MEMORY_POOL_VERSION_{part} {number}\n"
                  for part, number in (("MAJOR", 4), ("MINOR", 5), ("PATCH", 16)))
GOOD = {
    "LICENSE": "MIT License\n\nFree of charge.\n",
    "include/memory_pool/version.h": VERSION,
    "include/memory_pool/base/config.hpp": "// SPDX-License-Identifier: MIT\n#pragma once\n",
    "include/memory_pool/a.hpp": "// SPDX-License-Identifier: MIT\n// Copyright (c) 2026 The memory_pool authors\n"
                                 "#pragma once\n\n#include <memory_pool/b.hpp>\n\n#include <vector>\nint a = b;\n",
    "include/memory_pool/b.hpp": "#pragma once\n#include <memory_pool/base/config.hpp>\n#include <array> // For b.\n"
                                 "#define B_VALUE 1\nint b = B_VALUE;\n#undef B_VALUE\n",
    "include/memory_pool/c.h": "/* SPDX-License-Identifier: MIT\n * Copyright (c) 2026 The memory_pool authors\n */\n"
                               "#ifndef MEMORY_POOL_C_H\n#define MEMORY_POOL_C_H\n\n#include <stddef.h>\n"
                               "int c;\n#endif\n",
    "include/memory_pool/d.hpp": "#pragma once\n#if defined(_WIN32)\n#include <memory_pool/os/e.hpp>\n"
                                 "#include <cerrno>\n#endif\nint d;\n",
    "include/memory_pool/os/e.hpp": "#pragma once\n#include <unistd.h>\nint e;\n",
    "include/memory_pool/report/f.hpp": "#pragma once\n#include <memory_pool/a.hpp>\nint f = a;\n",
    "include/memory_pool/intrusive_pool.hpp": "#pragma once\n#include <memory_pool/core/g.hpp>\n"
                                              "#include <boost/smart_ptr/intrusive_ptr.hpp>\nint h;\n",
    "include/memory_pool/core/g.hpp": "#pragma once\nint g;\n",
    "include/memory_pool/np_alloc.h": "int np_alloc;\n",
    "include/memory_pool/tracy_policy.hpp": "#include <tracy/Tracy.hpp>\n",
}

# The changed file, its text, and the expected message after the directory.
BAD = {
    "a missing header": ("include/memory_pool/b.hpp", "#pragma once\n\n#include <memory_pool/none.hpp>\n",
                         "include/memory_pool/b.hpp:3: cannot read memory_pool/none.hpp: No such file or directory"),
    "one on another platform": ("include/memory_pool/b.hpp", "#if 0\n#include <memory_pool/none.hpp>\n#endif\n",
                                "include/memory_pool/b.hpp:2: cannot read memory_pool/none.hpp"),
    "a circle": ("include/memory_pool/b.hpp", "#include <memory_pool/a.hpp>\n",
                 "include/memory_pool/b.hpp:1: memory_pool/a.hpp includes itself: "
                 "memory_pool/a.hpp > memory_pool/b.hpp"),
    "a header of another library": ("include/memory_pool/d.hpp", "#include <heaptrack_api.h>\n",
                                    "include/memory_pool/d.hpp:1: <heaptrack_api.h> is not a standard header"),
    "no version": ("include/memory_pool/version.h", "#define MEMORY_POOL_VERSION_MAJOR 1\n",
                   "include/memory_pool/version.h: no version"),
}


class Amalgamate(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.output = self.directory / "out/memory_pool.hpp"

    def run_script(self, root: Path, output=None):
        """Returns the exit status of the script and its messages."""
        errors = io.StringIO()
        words = ["amalgamate.py", "--root", str(root), str(output or self.output)]
        with mock.patch.object(sys, "argv", words), contextlib.redirect_stderr(errors):
            return amalgamate.main(), errors.getvalue()

    def make(self, files: dict) -> Path:
        root = self.directory / "project"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    def made_of_good_tree(self) -> list:
        self.assertEqual(self.run_script(self.make(GOOD)), (0, ""))
        return self.output.read_text(encoding="utf-8").splitlines()

    def test_each_header_appears_once_after_its_includes(self):
        lines = self.made_of_good_tree()
        self.assertEqual([line for line in lines if line.startswith("int ")],
                         ["int b = B_VALUE;", "int a = b;", "int c;", "int e;", "int d;", "int f = a;", "int g;",
                          "int h;"])

    def test_licence_and_version_are_on_top_and_only_there(self):
        lines = self.made_of_good_tree()
        self.assertEqual(lines[:2],
                         ["// SPDX-License-Identifier: MIT", "// memory_pool 4.5.16: memory pools for C++17"])
        self.assertIn("// Free of charge.", lines)
        self.assertEqual(sum("SPDX" in line or "Copyright" in line for line in lines), 1)
        self.assertNotIn("*/", " ".join(lines))

    def test_standard_headers_are_on_top_unless_conditional(self):
        lines = self.made_of_good_tree()
        self.assertEqual([line for line in lines if re.match(r"#(include <(?!memory_pool:)|if )", line)], [
            "#include <array>", "#include <stddef.h>", "#include <vector>", "#include <unistd.h>",
            "#if defined(_WIN32)", "#include <cerrno>", "#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)",
            "#include <boost/smart_ptr/intrusive_ptr.hpp>"])

    def test_macros_and_guards_stay_where_they_are(self):
        text = "\n".join(self.made_of_good_tree())
        self.assertIn("#define B_VALUE 1\nint b = B_VALUE;\n#undef B_VALUE\n", text)
        self.assertIn("#ifndef MEMORY_POOL_C_H\n#define MEMORY_POOL_C_H\n\nint c;\n#endif\n", text)
        self.assertNotIn("pragma once", text)

    def test_the_output_is_reproducible(self):
        outputs = []
        for output in (self.directory / "first.hpp", self.directory / "elsewhere/second.hpp"):
            self.assertEqual(self.run_script(ROOT, output), (0, ""))
            outputs.append(output.read_bytes())
        self.assertEqual(outputs[0], outputs[1])
        self.assertNotIn(str(ROOT).encode(), outputs[0])

    def test_errors_are_reported_and_nothing_is_written(self):
        for what, (name, text, words) in BAD.items():
            with self.subTest(what):
                root = self.make({**GOOD, name: text})
                status, errors = self.run_script(root)
                self.assertEqual(status, 1)
                self.assertTrue(errors.startswith(f"amalgamate.py: {root}/{words}"), errors)
                self.assertFalse(self.output.exists())

    def test_a_tree_without_headers_and_an_unwritable_output_are_reported(self):
        self.assertRegex(self.run_script(self.directory)[1], "no headers")
        file = self.directory / "file"
        file.touch()
        status, errors = self.run_script(self.make(GOOD), file / "memory_pool.hpp")
        self.assertEqual(status, 1)
        self.assertIn(str(file), errors)


if __name__ == "__main__":
    unittest.main()
