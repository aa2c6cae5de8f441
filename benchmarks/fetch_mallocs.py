#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Fetches the mallocs for the race that Debian does not package, into build/mallocs.

    fetch_mallocs.py [NAME...]

snmalloc is built from the sources in the crate snmalloc-sys, with the defaults of its CMake files. mimalloc3 is
the library in the Python package cmeel-mimalloc. Libraries that exist are not fetched again.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

import mallocs

MANIFEST = f"""[package]
name = "fetch"
version = "0.0.0"
edition = "2018"

[dependencies]
snmalloc-sys = "={mallocs.SNMALLOC_VERSION}"
"""


class Failure(Exception):
    """The reason why a malloc cannot be fetched."""


def run(*command, directory):
    if shutil.which(command[0]) is None:
        raise Failure(f"there is no {command[0]} (Debian package: {command[0]})")
    result = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        last = "\n".join(result.stdout.splitlines()[-10:])
        raise Failure(f"`{' '.join(command)}` ended with status {result.returncode}:\n{last}")


def build_snmalloc(directory):
    """Returns the path of the library."""
    with open(os.path.join(directory, "Cargo.toml"), "w", encoding="utf-8") as manifest:
        manifest.write(MANIFEST)
    os.mkdir(os.path.join(directory, "src"))
    with open(os.path.join(directory, "src", "lib.rs"), "w", encoding="utf-8"):
        pass  # Cargo requires a target.
    run("cargo", "vendor", "vendor", directory=directory)
    run("cmake", "-S", "vendor/snmalloc-sys/upstream", "-B", "build", "-D", "CMAKE_BUILD_TYPE=Release", "-D",
        "SNMALLOC_BUILD_TESTING=OFF", directory=directory)
    run("cmake", "--build", "build", "--target", "snmallocshim", "-j", str(os.cpu_count()), directory=directory)
    return os.path.join(directory, "build", "libsnmallocshim.so")


def unpack_mimalloc(directory):
    """Returns the path of the library."""
    run(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
        f"cmeel-mimalloc=={mallocs.MIMALLOC_VERSION}", directory=directory)
    wheel, = glob.glob(os.path.join(glob.escape(directory), "*.whl"))
    with zipfile.ZipFile(wheel) as packed:
        # Other names of the library are links.
        name = max((name for name in packed.namelist() if "/libmimalloc.so" in name), key=len)
        return packed.extract(name, directory)


RECIPES = {"snmalloc": build_snmalloc, "mimalloc3": unpack_mimalloc}


def fetch(name):
    library = mallocs.LIBRARIES[name]
    if os.path.exists(library):
        return
    print(f"fetching {name} ...", file=sys.stderr, flush=True)
    os.makedirs(mallocs.FETCHED_TO, exist_ok=True)
    # Next to the library, so that a rename installs it atomically.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=mallocs.FETCHED_TO) as directory:
        os.replace(RECIPES[name](directory), library)


def a_malloc(text):
    if text not in RECIPES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(RECIPES)}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", type=a_malloc, metavar="NAME", help=f"of {', '.join(RECIPES)} "
                        "(default: all)")
    status = 0
    for name in parser.parse_args().names or RECIPES:
        try:
            fetch(name)
        except (Failure, OSError) as failure:
            print(f"fetch_mallocs.py: cannot fetch {name}: {failure}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
