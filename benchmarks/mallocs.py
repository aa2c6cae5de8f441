# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The mallocs that programs run under: installed ones, and those that fetch_mallocs.py fetches."""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FETCHED_TO = os.path.join(ROOT, "build", "mallocs")
SNMALLOC_VERSION = "0.7.6"
MIMALLOC_VERSION = "3.4.3"
# Each malloc, and the library to preload; a path if fetch_mallocs.py fetches it.
LIBRARIES = {"glibc": None, "mimalloc": "libmimalloc.so.2", "jemalloc": "libjemalloc.so.2",
             "tcmalloc": "libtcmalloc_minimal.so.4", "tbb": "libtbbmalloc_proxy.so.2",
             "mimalloc3": os.path.join(FETCHED_TO, f"libmimalloc-{MIMALLOC_VERSION}.so"),
             "snmalloc": os.path.join(FETCHED_TO, f"libsnmalloc-{SNMALLOC_VERSION}.so")}
# The malloc of this library, built by a preset.
OURS = "np_alloc"
PACKAGES = {"mimalloc": "libmimalloc2.0", "jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4",
            "tbb": "libtbbmalloc2"}


def path_of(library):
    """Returns the path of the library, or None."""
    if os.path.isabs(library):
        return library if os.path.exists(library) else None
    # ldconfig is in a directory that is not in the PATH of normal users.
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    listed = subprocess.run(["ldconfig", "-p"], env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    found = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", listed, re.MULTILINE)
    return found and found.group(1)


def names_among(known):
    """Returns an argparse type: a comma-separated list of names in `known`."""
    def names(text):
        for name in filter(None, text.split(",")):
            if name not in known:
                raise argparse.ArgumentTypeError(f"no such malloc: {name} (there are {', '.join(known)})")
        return list(filter(None, text.split(",")))
    return names


def all_names():
    return (*LIBRARIES, OURS)


def say(text):
    print(text, file=sys.stderr)


def installed(names, tell=say):
    """Returns {name: path to load, or None}. Reports mallocs that are left out because they are not installed."""
    found = {}
    for name in names:
        library = LIBRARIES[name]
        path = library and path_of(library)
        if library is None or path:
            found[name] = path
        else:
            remedy = (f"Debian package: {PACKAGES[name]}" if name in PACKAGES
                      else f"benchmarks/fetch_mallocs.py {name} gets it")
            tell(f"{name} is left out: there is no {library} ({remedy})")
    return found


def add_libraries(found, added, program):
    """Adds each NAME=LIBRARY of the option --add to {name: path}. Exits with a message if one is invalid."""
    for each in added:
        name, _, path = each.partition("=")
        if not name or not path:
            sys.exit(f"{program}: --add {each}: say NAME=LIBRARY, with the path of a library")
        if name in found:
            sys.exit(f"{program}: --add {each}: there is a malloc of the name {name} already; choose another")
        if not os.path.isfile(path):
            sys.exit(f"{program}: --add {each}: there is no library {path}")
        found[name] = os.path.abspath(path)


def entrants(names, build, tell=say):
    """Returns {name: path to load, or None} of the mallocs, including np_alloc from the build directory of a preset."""
    found = installed((name for name in names if name != OURS), tell)
    if OURS in names:
        ours = os.path.abspath(os.path.join(build, "src", "np_alloc", "libnp_malloc.so"))
        if os.path.isfile(ours):
            found[OURS] = ours
        else:
            tell(f"{OURS} is left out: there is no {ours}")
    return found
