#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The extraction of snippets takes the right blocks, skips others, and rejects malformed ones."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

EXTRACTOR = Path(__file__).resolve().parents[2] / "tools" / "extract_snippets.py"

DOCUMENT = """# Title
```cpp
#include <vector>
int main() {}
```
Text.

- in a list:
  ```cpp
  #include <memory_pool/block_pool.hpp>
  memory_pool::block_pool pool(48);
  ```

```cpp no-compile
this is not C++
```
```sh
int main
```
````
```cpp
int inside_another_block;
```
````
"""


class ExtractSnippets(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.document = Path(directory.name, "page.md")
        self.output = Path(directory.name, "out")

    def run_extractor(self, text: str):
        self.document.write_text(text, encoding="utf-8")
        return subprocess.run(
            [sys.executable, EXTRACTOR, "--output", self.output, self.document],
            capture_output=True, text=True, check=False)

    def test_takes_programs_and_fragments(self):
        result = self.run_extractor(DOCUMENT)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = [Path(line).name for line in result.stdout.splitlines()]
        self.assertEqual(names, ["program_page_3.cpp", "fragment_page_10.cpp"])
        program = (self.output / names[0]).read_text(encoding="utf-8").splitlines()
        self.assertEqual(program[1:], ["#include <vector>", "int main() {}"])
        fragment = (self.output / names[1]).read_text(encoding="utf-8").splitlines()
        includes = [line for line in fragment if line.startswith("#include")]
        self.assertEqual(includes, ["#include <memory_pool/block_pool.hpp>"], "only the contents of the document")
        self.assertLess(fragment.index("{"), fragment.index("memory_pool::block_pool pool(48);"))

    def test_unchanged_files_are_not_written_again(self):
        self.run_extractor(DOCUMENT)
        program = self.output / "program_page_3.cpp"
        before = program.stat().st_mtime_ns
        self.run_extractor(DOCUMENT)
        self.assertEqual(program.stat().st_mtime_ns, before)

    def test_programs_with_a_name_get_that_name(self):
        for word, name in (("c++20", "program20_page_2.cpp"), ("np_alloc", "program_np_alloc_page_2.cpp")):
            with self.subTest(word):
                result = self.run_extractor(f"```cpp {word}\nint main() {{}}\n```\n")
                self.assertEqual([Path(line).name for line in result.stdout.splitlines()], [name])
                result = self.run_extractor(f"```cpp {word}\nint x;\n```\n")
                self.assertEqual(result.returncode, 1)
                self.assertIn(f"{self.document}:1: a block with {word} must be a program with main", result.stderr)

    def test_unclosed_block_is_an_error(self):
        result = self.run_extractor("text\n```cpp\nint x;\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.document}:2: the code block is not closed", result.stderr)

    def test_misspelt_info_is_an_error(self):
        result = self.run_extractor("```cpp nocompile\nint x;\n```\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{self.document}:1: unknown words after ```cpp: nocompile", result.stderr)


if __name__ == "__main__":
    unittest.main()
