# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""pprof, if it is installed: go install github.com/google/pprof@latest"""
import os
import re
import shutil
import subprocess
from pathlib import Path

# On the path, or where `go install` puts it.
PPROF = shutil.which("pprof") or shutil.which("pprof", path=str(Path.home() / "go" / "bin"))
UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def pprof(*arguments):
    """Returns the output of pprof."""
    return subprocess.run([PPROF, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100,
                          check=True, env={**os.environ, "PPROF_BINARY_PATH": "/"}).stdout.decode()


def bytes_of(function, listing):
    """Returns the cumulative bytes of a function in the output of `pprof -top`."""
    line = re.search(r"^.*?(-?[\d.]+)([kMG]?B|)\s+-?[\d.]+%\s+" + function + r"\b", listing, re.MULTILINE)
    return 0 if line is None or line[1] == "0" else float(line[1]) * UNITS[line[2] or "B"]
