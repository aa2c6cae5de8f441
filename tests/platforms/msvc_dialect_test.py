#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Compiles the header-only part in the MSVC mode of Clang (-fms-compatibility), with the headers of MinGW-w64.
The units of tests/headers use every public class template.

    msvc_dialect_test.py SOURCE_DIRECTORY

Exits with 77 if Clang 19 or these headers are missing.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
CLANG = ["clang++-19", "--target=x86_64-w64-mingw32", "-std=c++17"]
DIALECT = ["-fms-extensions", "-fms-compatibility", "-fms-compatibility-version=19.40"]
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-builtin-macro-redefined", "-Wno-#warnings"]
UNITS = ["names", "pools", "resources"]


def macros(options):
    """Returns the macros that the compiler defines."""
    said = subprocess.run(CLANG + options + ["-dM", "-E", "-x", "c++", "/dev/null"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return dict(line.split(" ", 2)[1:] if line.count(" ") > 1 else (line.split(" ")[1], "")
                for line in said.splitlines())


def missing_macros():
    """Returns definitions of the macros that the headers of MinGW need, and that MSVC mode lacks."""
    there = macros(DIALECT)
    return [f"-D{name}={value}" for name, value in macros([]).items()
            if name not in there and not name.startswith(("__STRICT_ANSI__", "__declspec"))]


def compile_unit(root, unit, definitions, directory):
    """Returns the compiler's messages if it fails."""
    source = directory / f"{unit}.cpp"
    source.write_text(f'#include "{root}/tests/headers/{unit}.cpp"\n', encoding="utf-8")
    done = subprocess.run(
        CLANG + DIALECT + WARNINGS + definitions +
        ["-fsyntax-only", f"-I{root}/include", f"-I{root}/tests", "-include",
         f"{root}/tests/platforms/msvc_dialect.hpp", str(source)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout


def main():
    root = Path(sys.argv[1])
    try:
        probe = subprocess.run(CLANG + ["-fsyntax-only", "-x", "c++", "-"], input="#include <windows.h>\n", text=True,
                               stderr=subprocess.PIPE, check=False)
    except FileNotFoundError:
        print("clang++-19: not installed")
        return SKIPPED
    if probe.returncode != 0:
        print("the headers of MinGW-w64 are not installed")
        return SKIPPED
    definitions = missing_macros()
    with tempfile.TemporaryDirectory() as directory:
        failures = [said for unit in UNITS if (said := compile_unit(root, unit, definitions, Path(directory)))]
    print("".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
