#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The Conan package: built with and without np_alloc, used by its test_package, and rejected where unsupported.

    conan_test.py SOURCE_DIRECTORY VERSION WORK_DIRECTORY [--shared]

With --shared, tests only np_alloc as a shared library.

Exits with 77 without Conan 2. Needs no network.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77
NP_LIBRARIES = ("np_alloc", "np_alloc_checked", "np_malloc", "np_malloc_checked")
HEADERS_ONLY = ["-o", "&:np_alloc=False"]


def fail(text):
    sys.exit(f"conan_test: {text}")


def is_installed():
    if not shutil.which("conan"):
        return False
    return "version 2." in subprocess.run(["conan", "--version"], capture_output=True, text=True, check=False).stdout


class Conan:
    def __init__(self, source, work):
        self.source = source
        self.test_folder = work / "test_package"
        self.environment = {**os.environ, "CONAN_HOME": str(work / "home")}
        self.must("profile", "detect")

    def run(self, *arguments):
        return subprocess.run(
            ["conan", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def must(self, *arguments):
        """Returns its stdout (the result) and stderr (the progress)."""
        result = self.run(*arguments)
        if result.returncode != 0:
            fail(f"conan {' '.join(arguments)}:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
        return result.stdout, result.stderr

    def create_arguments(self, *options):
        folder = f"tools.cmake.cmake_layout:test_folder={self.test_folder}"
        return ["create", str(self.source), "--no-remote", "-c", folder, *options]

    def create(self, *options):
        """Returns the targets whose test programs were linked and passed."""
        progress = "\n".join(self.must(*self.create_arguments(*options)))
        return set(re.findall(r"Test +#\d+: with_(\w+) \.+ +Passed", progress))

    def refuses(self, text, *options):
        result = self.run(*self.create_arguments(*options))
        if result.returncode == 0 or text not in result.stderr:
            fail(f"conan create {' '.join(options)} was not rejected with '{text}':\n{result.stderr[-4000:]}")


def check_headers_alone(conan, work):
    linked = conan.create(*HEADERS_ONLY)
    if linked != {"memory_pool", "drop_in"}:
        fail(f"the package without np_alloc has the targets {linked}")
    # One package for every configuration.
    consume = ["install", "--requires=memory_pool/[>0]", "--no-remote", "-s", "build_type=MinSizeRel"]
    conan.must(*consume, "-o", "*:np_alloc=False", "--output-folder", str(work / "consumer"))
    if conan.run(*consume, "--output-folder", str(work / "consumer")).returncode == 0:
        fail("the package without np_alloc was accepted for a requirement with it")


def check_with_np_alloc(conan, version, *options):
    linked = conan.create("-s", "build_type=Debug", *options)  # fastest to build
    if linked != {"memory_pool", "drop_in", "np_alloc_drop_in", *NP_LIBRARIES}:
        fail(f"the package has the targets {linked}")
    listed = json.loads(conan.must("list", "memory_pool/*:*", "--format=json")[0])
    if list(listed["Local Cache"]) != [f"memory_pool/{version}"]:
        fail(f"the cache has {list(listed['Local Cache'])}, not version {version}")


def check_refusals(conan):
    conan.refuses("needs a 64-bit target; x86 is not one", "-s", "arch=x86")
    conan.refuses("needs a 64-bit target; armv8_32 is not one", "-s", "arch=armv8_32")
    too_old = "Current cppstd (14) is lower than the required C++ standard (17)"
    conan.refuses(too_old, "-s", "compiler.cppstd=14", *HEADERS_ONLY)
    msvc = {"os": "Windows", "compiler": "msvc", "compiler.version": "194", "compiler.runtime": "dynamic"}
    settings = [f"--settings={name}={value}" for name, value in {**msvc, "compiler.cppstd": "17"}.items()]
    remedy = "needs GCC or Clang (on Windows, MinGW-w64); for the rest: -o 'memory_pool/*:np_alloc=False'"
    conan.refuses(remedy, *settings, "-o", "&:np_alloc=True")


def main():
    if len(sys.argv) not in (4, 5) or sys.argv[4:] not in ([], ["--shared"]):
        sys.exit(__doc__)
    source, version, work = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3]).resolve()
    if not is_installed():
        print("conan_test: skipped; missing: Conan 2 (pip install conan)")
        sys.exit(SKIPPED)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    conan = Conan(source, work)

    if sys.argv[4:]:
        check_with_np_alloc(conan, version, "-o", "&:shared=True")
        return
    check_headers_alone(conan, work)
    check_with_np_alloc(conan, version)
    check_refusals(conan)


if __name__ == "__main__":
    main()
