#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The single header in three units of one program.   single_header_test.py SOURCE_DIRECTORY SINGLE_HEADER COMPILER...

SINGLE_HEADER is the generated file. Exits 77 if the compiler is not installed.
"""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, SINGLE_HEADER, *COMPILER = sys.argv[1:]
SKIPPED = 77

UNITS = {
    "main.cpp": """
        #include "memory_pool.hpp"
        #include "memory_pool.hpp" // include guard
        #include "pools.hpp"
        int main()
        {
            memory_pool::object_pool<int> pool;
            int* const number = numbered(pool, 42);
            const bool is_right = *number == 42 && pool.in_use() == 1 && text_length() == 100;
            pool.destroy(number);
            return is_right ? 0 : 1;
        }""",
    "objects.cpp": """
        #include "pools.hpp"
        int* numbered(memory_pool::object_pool<int>& pool, int number)
        {
            return pool.create(number);
        }
        #if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
        namespace {
        struct session : memory_pool::pooled<session>
        {
        };
        const auto first = memory_pool::intrusive_pool<session>{}.make();
        } // namespace
        #endif""",
    "resources.cpp": """
        #include "pools.hpp"
        #include <string>
        std::size_t text_length()
        {
            memory_pool::unsynchronized_arena_resource arena;
            memory_pool::tracking_resource tracking(&arena);
            return std::pmr::string(100, 'x', &tracking).size();
        }""",
    "pools.hpp": """
        #pragma once
        #include "memory_pool.hpp"
        int* numbered(memory_pool::object_pool<int>& pool, int number);
        std::size_t text_length();""",
}
SOURCES = [name for name in UNITS if name.endswith(".cpp")]


class SingleHeader(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()  # outside of the source tree
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        shutil.copy(SINGLE_HEADER, self.directory / "memory_pool.hpp")
        for name, text in UNITS.items():
            (self.directory / name).write_text(text + "\n", encoding="utf-8")

    def run_in_directory(self, *command):
        return subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=False, timeout=100)

    def compile_beside_headers(self, source):
        return self.run_in_directory(*COMPILER, "-std=c++17", f"-I{SOURCE}/include", "-fsyntax-only", source)

    def test_the_build_generates_the_output_of_the_script(self):
        subprocess.run([sys.executable, f"{SOURCE}/tools/amalgamate.py", self.directory / "again.hpp"], check=True)
        self.assertEqual((self.directory / "again.hpp").read_bytes(), Path(SINGLE_HEADER).read_bytes())

    def test_three_units_compile_without_warnings_and_link(self):
        for level in ("c++17", "c++20"):
            with self.subTest(level):
                for source in SOURCES:
                    compiled = self.run_in_directory(*COMPILER, f"-std={level}", "-Wall", "-Wextra", "-Wpedantic",
                                                     "-Werror", "-MD", "-c", source)
                    self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))
                    included = (self.directory / source).with_suffix(".d").read_text(encoding="utf-8")
                    self.assertIn("memory_pool.hpp", included)
                    self.assertNotIn(SOURCE, included)
                objects = [source.replace(".cpp", ".o") for source in SOURCES]
                linked = self.run_in_directory(*COMPILER, *objects, "-o", "program", "-pthread")
                self.assertEqual((linked.returncode, linked.stderr), (0, ""))
                self.assertEqual(self.run_in_directory("./program").returncode, 0)

    def test_other_headers_in_the_same_unit_are_an_error(self):
        lines = ['#include "memory_pool.hpp"', "#include <memory_pool/block_pool.hpp>"]
        for what, unit in (("before", lines[::-1]), ("after", lines)):
            with self.subTest(what):
                (self.directory / "both.cpp").write_text("\n".join(unit) + "\n", encoding="utf-8")
                compiled = self.compile_beside_headers("both.cpp")
                self.assertEqual(compiled.returncode, 1)
                self.assertEqual(compiled.stderr.count("error: "), 1, compiled.stderr)
                self.assertIn("these headers need a translation unit without the single header",
                              compiled.stderr)

    def test_np_alloc_h_can_be_included_as_well(self):
        text = '#include "memory_pool.hpp"\n#include <memory_pool/np_alloc.h>\nint main() { return 0; }\n'
        (self.directory / "both.cpp").write_text(text, encoding="utf-8")
        compiled = self.compile_beside_headers("both.cpp")
        self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))


if __name__ == "__main__":
    if not shutil.which(COMPILER[0]):
        print(f"skipped: {COMPILER[0]} is not installed")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
