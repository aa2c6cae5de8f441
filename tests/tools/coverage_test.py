#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines that run count, in any program and in processes that abort; all others must be listed with a reason."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import coverage  # noqa: E402

COMPILER = shutil.which("clang++-19")
RUNTIME = next(Path("/usr/lib/llvm-19/lib/clang/19/lib").glob("**/libclang_rt.profile-*.a"), None)

LIBRARY = """\
#pragma once
#include <cstdlib>
inline int of_both(int value)
{
    if (value == 1)
        return 10;
    return 20;
}
inline void give_up(int value)
{
    if (value == 1)
        std::abort();
    std::exit(3);
}
"""
PROGRAM = '#include "../include/library.hpp"\nint main() { return of_both(VALUE) + (give_up(VALUE), 0); }\n'


@unittest.skipUnless(COMPILER and RUNTIME and (coverage.LLVM / "llvm-cov").exists(), "needs Clang 19 and its runtime")
class Coverage(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.source = Path(directory.name) / "source"
        self.build = Path(directory.name) / "build"
        for folder in (self.source / "include", self.source / "src", self.source / "tests", self.build / "profiles"):
            folder.mkdir(parents=True)
        (self.source / "include/library.hpp").write_text(LIBRARY)
        (self.source / "tests/program.cpp").write_text(PROGRAM)

    def run_program(self, value):
        program = self.build / f"program_{value}"
        subprocess.run([COMPILER, f"-fprofile-instr-generate={self.build}/profiles/%m%c.profraw", "-fcoverage-mapping",
                        "-mllvm", "-runtime-counter-relocation", f"-DVALUE={value}", "-o", program,
                        self.source / "tests/program.cpp"], check=True)
        return subprocess.run([program], check=False).returncode

    def check(self, *options):
        said = io.StringIO()
        with mock.patch.object(sys, "argv", ["coverage.py", *options, str(self.source), str(self.build)]):
            with contextlib.redirect_stdout(said):
                status = coverage.main()
        return status, said.getvalue()

    def test_lines_of_a_process_that_aborts_count(self):
        self.assertLess(self.run_program(1), 0)
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("include/library.hpp:7: 1 lines are not run, and tests/uncovered.txt has no reason: return 20;",
                      said)
        self.assertIn("include/library.hpp:13:", said)
        self.assertNotIn("library.hpp:12", said)

    def test_a_line_counts_as_run_if_any_program_ran_it(self):
        self.run_program(1)
        self.assertEqual(self.run_program(2), 3)
        status, said = self.check()
        self.assertEqual((status, said.splitlines()[0][:8]), (0, "100.00 %"))

    def test_functions_omitted_by_a_program_do_not_make_comments_code(self):
        commented = LIBRARY.replace("inline int of_both", "inline namespace NAME {\ninline int of_both").replace(
            "    return 20;\n}", "    // 20.\n#if defined(__APPLE__)\n    return 30;\n#endif\n    return 20;\n}\n}")
        (self.source / "include/library.hpp").write_text("#define NAME one\n" + commented)
        self.assertEqual(self.run_program(2), 3)
        (self.source / "include/library.hpp").write_text("#define NAME two\n" + commented)
        program = '#include "../include/library.hpp"\nint main() { give_up(1); }\n'
        (self.source / "tests/program.cpp").write_text(program)
        self.assertLess(self.run_program(1), 0)
        status, said = self.check()
        self.assertEqual(status, 1)
        self.assertIn("include/library.hpp:8: 1 lines are not run", said)
        self.assertEqual(len(said.splitlines()), 2, said)

    def test_a_line_with_a_reason_passes_if_enough_other_lines_run(self):
        self.run_program(1)
        (self.source / coverage.LIST).write_text("# Why.\n\nOnly 1 is tested:\n    include/library.hpp: return 20;\n"
                                                 "    include/library.hpp: std::exit(3);\n")
        self.assertEqual(self.check()[0], 1, "5 of 7 lines are too few")
        with mock.patch.object(coverage, "LEAST_PERCENT", 60):
            self.assertEqual(self.check()[0], 0)

    def test_update_lists_lines_which_then_need_a_reason(self):
        self.run_program(1)
        with mock.patch.object(coverage, "LEAST_PERCENT", 60):
            self.assertEqual(self.check("--update")[0], 1)
            listed = (self.source / coverage.LIST).read_text()
            self.assertIn("    include/library.hpp: return 20;\n", listed)
            self.assertEqual(self.check("--update")[0], 1)
            self.assertEqual((self.source / coverage.LIST).read_text(), listed, "once")
            (self.source / coverage.LIST).write_text(listed.replace(coverage.NO_REASON, "Only 1 is tested:"))
            self.assertEqual(self.check()[0], 0)

    def test_a_listed_line_that_is_run_now_is_reported(self):
        self.assertEqual(self.run_program(2), 3)
        self.run_program(1)
        (self.source / coverage.LIST).write_text("Only 1 is tested:\n    include/library.hpp: return 20;\n")
        status, said = self.check()
        self.assertEqual(status, 0)
        self.assertIn("no range of lines that do not run begins with this line: include/library.hpp: return 20;", said)

    def test_missing_counts_are_reported_with_a_remedy(self):
        with self.assertRaisesRegex(SystemExit, "run the tests of the preset `coverage` first"):
            self.check()


if __name__ == "__main__":
    os.environ.pop("LLVM_PROFILE_FILE", None)
    unittest.main()
