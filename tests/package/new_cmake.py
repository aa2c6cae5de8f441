#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Provides a newer CMake than the minimum of the project.   new_cmake.py DIRECTORY

Installs CMake with pip into DIRECTORY, unless version 4.3 or later is available there, as `cmake` in PATH or at the
path in the environment variable MEMORY_POOL_NEW_CMAKE. Exits 77 if the installation fails.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def version(cmake):
    """Returns the major and minor version; (0, 0) if it does not run."""
    try:
        says = subprocess.run([cmake, "--version"], capture_output=True, text=True, check=False, timeout=60).stdout
    except OSError:
        return 0, 0
    numbers = re.match(r"cmake version (\d+)\.(\d+)", says)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def find(directory, minimum):
    """Returns a CMake of at least the minimum version, or None."""
    for cmake in (os.environ.get("MEMORY_POOL_NEW_CMAKE"), "cmake", f"{directory}/bin/cmake"):
        if cmake and version(cmake) >= minimum:
            return cmake
    return None


def find_or_skip(directory, minimum):
    """Returns a CMake of at least the minimum version; exits 77 without one."""
    cmake = find(directory, minimum)
    if not cmake:
        print(f"skipped: needs CMake {'.'.join(map(str, minimum))}, set MEMORY_POOL_NEW_CMAKE, or run: "
              f"python3 -m venv {directory} && {directory}/bin/pip install cmake")
        sys.exit(SKIPPED)
    return cmake


def install(directory):
    pip = [Path(directory, "bin/python3"), "-m", "pip", "--retries", "1", "--timeout", "10"]
    for command in ([sys.executable, "-m", "venv", directory], [*pip, "install", "--quiet", "cmake>=4.3,<5"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(f"{done.stdout}skipped: cannot install CMake with pip")
            sys.exit(SKIPPED)


if __name__ == "__main__":
    if not find(sys.argv[1], (4, 3)):
        install(sys.argv[1])
    print(find_or_skip(sys.argv[1], (4, 3)))
