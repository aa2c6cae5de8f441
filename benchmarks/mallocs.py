# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The mallocs that programs are run under: where the system has them."""
import os
import re
import subprocess
import sys

# Each malloc, and the library to load before the program.
LIBRARIES = {"glibc": None, "mimalloc": "libmimalloc.so.2", "jemalloc": "libjemalloc.so.2",
             "tcmalloc": "libtcmalloc_minimal.so.4", "tbb": "libtbbmalloc_proxy.so.2"}
PACKAGES = {"mimalloc": "libmimalloc2.0", "jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4",
            "tbb": "libtbbmalloc2"}


def path_of(library):
    """Returns where the system has the library, or None."""
    # ldconfig is where those who are not root do not look.
    path = os.environ.get("PATH", "") + os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    listed = subprocess.run(["ldconfig", "-p"], env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    found = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", listed, re.MULTILINE)
    return found and found.group(1)


def installed(names, known=tuple(LIBRARIES)):
    """Returns {name: path to load, or None}; says what is left out as it is not there."""
    found = {}
    for name in names:
        if name not in known:
            sys.exit(f"{os.path.basename(sys.argv[0])}: no such malloc: {name} (there are {', '.join(known)})")
        library = LIBRARIES[name]
        path = library and path_of(library)
        if library is None or path:
            found[name] = path
        else:
            print(f"{name} is left out: there is no {library} (Debian package: {PACKAGES[name]})", file=sys.stderr)
    return found
