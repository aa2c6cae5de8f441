#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Compares the binary interfaces of the shared libraries with their descriptions in abi/: docs/versioning.md.

    check_abi.py [--update compatible|incompatible] [--all] [--library FILE --architecture NAME] ROOT

Builds libnp_alloc.so and libmemory_pool.so with GCC 12 below build/abi, describes them (abidw), and compares the
descriptions (abidiff). Checks the architecture of this machine; with --all, all architectures, with cross compilers.
--library checks an existing file with the name of one of the libraries. "--update compatible" rewrites the
descriptions, unless a function was removed or a type has changed. Such changes need a new SONAME and "--update
incompatible".

Exits with 1 if an interface has changed, with 2 if the check could not be run, and with 77 if there is no description
for this machine.
"""
import argparse
import collections
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

# The target and build directory of a library, and whether each release has its own SONAME. Programs that use a library
# with its own SONAME contain code of the same release, so the description has only symbols. The symbols are the same on
# all architectures, and may change until the version is released.
Library = collections.namedtuple("Library", "target directory is_of_one_release")
LIBRARIES = {"libnp_alloc.so": Library("memory_pool_np_alloc", "src/np_alloc", False),
             "libmemory_pool.so": Library("memory_pool_compiled", "src/compiled", True)}

COMPILERS = {"x86_64": "x86_64-linux-gnu-g++-12", "aarch64": "aarch64-linux-gnu-g++-12"}

SKIPPED = 77

# Bits of the exit status of abidiff.
FAILED, CHANGED = 3, 4


class NotKnown(Exception):
    pass


def run(*command, **options):
    try:
        return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, **options)
    except FileNotFoundError as error:
        raise NotKnown(f"{command[0]}: not installed") from error


def run_or_fail(*command):
    done = run(*command)
    if done.returncode != 0:
        raise NotKnown(f"{' '.join(map(str, command))}: exits with {done.returncode}\n{done.stdout}")
    return done.stdout


def built_libraries(root, architecture):
    compiler = COMPILERS[architecture]
    version = run_or_fail(compiler, "-dumpversion").strip()
    if version.partition(".")[0] != "12":
        raise NotKnown(f"{compiler} has version {version}: descriptions are made with GCC 12")
    build = root / "build" / "abi" / architecture
    options = ["CMAKE_BUILD_TYPE=RelWithDebInfo", "BUILD_SHARED_LIBS=ON", f"CMAKE_CXX_COMPILER={compiler}",
               "CMAKE_SYSTEM_NAME=Linux", f"CMAKE_SYSTEM_PROCESSOR={architecture}",
               f"CMAKE_CXX_FLAGS=-ffile-prefix-map={root}/="]
    options += [f"MEMORY_POOL_ENABLE_{part}=OFF" for part in ("NP_MALLOC", "TESTING", "BENCHMARKING", "EXAMPLES")]
    run_or_fail("cmake", "-S", root, "-B", build, "-G", "Ninja", *(f"-D{option}" for option in options))
    run_or_fail("cmake", "--build", build, "--target", *(each.target for each in LIBRARIES.values()))
    return [build / each.directory / name for name, each in LIBRARIES.items()
            if architecture == "x86_64" or not each.is_of_one_release]


def describe(root, library, description):
    if LIBRARIES[library.name].is_of_one_release:
        stripped = description.with_name(library.name)
        run_or_fail("strip", "--strip-debug", "-o", stripped, library)
        library = stripped
    run_or_fail("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--exported-interfaces-only",
                "--suppressions", root / "abi" / f"{library.stem}.suppr", "--out-file", description, library)


def compare(root, architecture, library, update):
    """Returns whether the interface matches its description, or the description was updated."""
    if library.name not in LIBRARIES:
        raise NotKnown(f"{library}: no library with an interface description; there are {', '.join(LIBRARIES)}")
    stored = root / "abi" / f"{library.stem}.{architecture}.abi"
    with tempfile.TemporaryDirectory() as directory:
        now = Path(directory) / "now.abi"
        describe(root, library, now)
        if not stored.exists() and update:
            stored.write_bytes(now.read_bytes())
            return True
        if not stored.exists():
            raise NotKnown(f"{stored}: no such description; '--update compatible' writes it")
        done = run("abidiff", stored, now)
        if done.returncode & FAILED:
            raise NotKnown(f"abidiff exits with {done.returncode}\n{done.stdout}")
        is_incompatible = (not LIBRARIES[library.name].is_of_one_release
                           and run("abidiff", "--no-added-syms", stored, now).returncode & CHANGED)
        if update and (not is_incompatible or update == "incompatible"):
            stored.write_bytes(now.read_bytes())
            return True
        if done.returncode & CHANGED:
            print(f"{library.name} for {architecture} differs from {stored.name}:\n{done.stdout}")
            print("incompatible: it needs a new SONAME, see docs/versioning.md" if is_incompatible else
                  "compatible: ./dev check --update abi accepts it")
        return not done.returncode & CHANGED


def architectures(arguments):
    if arguments.architecture:
        return [arguments.architecture]
    if arguments.all:
        return list(COMPILERS)
    if platform.machine() not in COMPILERS:
        print(f"{platform.machine()}: no interface description for this architecture; skipped")
        return []
    return [platform.machine()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--update", choices=["compatible", "incompatible"])
    parser.add_argument("--all", action="store_true", help="for all architectures")
    parser.add_argument("--library", type=Path, help="check this library instead of building one")
    parser.add_argument("--architecture", choices=list(COMPILERS))
    arguments = parser.parse_args()
    root = Path(os.path.abspath(arguments.root))
    is_the_same = True
    try:
        checked = architectures(arguments)
        if not checked:
            return SKIPPED
        for architecture in checked:
            for library in [arguments.library] if arguments.library else built_libraries(root, architecture):
                is_the_same = compare(root, architecture, library, arguments.update) and is_the_same
    except NotKnown as error:
        print(error)
        return 2
    return 0 if is_the_same else 1


if __name__ == "__main__":
    sys.exit(main())
